#include "analyzer/flags/foreign_arguments.h"

#include "analyzer/files/source_files.h"
#include "core/system/whole_file.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/StringSaver.h>

#include <optional>
#include <utility>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

// Of response files, which may name themselves.
constexpr unsigned kMaxNesting = 8;
constexpr unsigned kMaxArgumentFiles = 1000;
constexpr std::size_t kMaxRead = core::kMaxSettings;

// nvcc's spellings of options that clang has. Their value follows, or comes after `=`.
constexpr std::pair<StringRef, StringRef> kRenamed[] = {
    {"--define-macro", "-D"},         {"--undefine-macro", "-U"},    {"--include-path", "-I"},
    {"--system-include", "-isystem"}, {"--pre-include", "-include"}, {"--std", "-std"},
};

// Options whose next argument is theirs, whatever it looks like.
constexpr StringRef kWithValue[] = {
    "-Xptxas",
    "--ptxas-options",
    "-Xcudafe",
    "--cudafe",
    "-Xlinker",
    "--linker-options",
    "-Xfatbin",
    "--fatbin-options",
    "-Xnvlink",
    "--nvlink-options",
    "-Xarchive",
    "--archive-options",
    "-Xassembler",
    "-Xarch_device",
    "-Xarch_host",
    "-gencode",
    "--generate-code",
    "-ccbin",
    "--compiler-bindir",
    "-arch",
    "--gpu-architecture",
    "-code",
    "--gpu-code",
    "-o",
    "--output-file",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-dumpbase",
    "-dumpdir",
    "-z",
    "-target",
    "--param",
    "-isysroot",
    "-aux-info",
    "-wrapper",
    "-T",
    "-u",
    "-mllvm",
};

class Translator {
public:
  explicit Translator(const std::string &folder) : folder_(folder) {}

  void add(llvm::ArrayRef<std::string> arguments, unsigned nesting) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      StringRef argument = arguments[i];
      // The value of `option`, joined by `=` or in the next argument.
      const auto value = [&](StringRef option) -> std::optional<std::string> {
        StringRef rest = argument;
        if (!rest.consume_front(option))
          return std::nullopt;
        if (rest.consume_front("="))
          return rest.str();
        if (rest.empty() && i + 1 < arguments.size())
          return arguments[++i];
        return std::nullopt;
      };
      if (argument.consume_front("@") && !argument.empty()) {
        addFile(argument.str(), nesting);
        continue;
      }
      if (std::optional<std::string> files = value("--options-file");
          files || (files = value("-optf"))) {
        for (const std::string &file : atCommas(*files))
          addFile(file, nesting);
        continue;
      }
      if (std::optional<std::string> host = value("-Xcompiler");
          host || (host = value("--compiler-options"))) {
        add(atCommas(*host), nesting);
        continue;
      }
      if (llvm::is_contained(kWithValue, argument)) {
        ++i;
        continue;
      }
      bool renamed = false;
      for (const auto &[from, to] : kRenamed)
        if (std::optional<std::string> content = value(from)) {
          if (to == "-std")
            result_.push_back("-std=" + *content);
          else
            result_.insert(result_.end(), {to.str(), *content});
          renamed = true;
          break;
        }
      if (!renamed)
        result_.push_back(argument.str());
    }
  }

  core::Result<std::vector<std::string>> take() {
    if (error_)
      return tl::unexpected(*error_);
    return std::move(result_);
  }

private:
  // nvcc's lists; quotes keep a comma from ending an item.
  static std::vector<std::string> atCommas(StringRef text) {
    std::vector<std::string> items(1);
    char quote = 0;
    for (const char c : text) {
      if (quote ? c == quote : (c == '"' || c == '\''))
        quote = quote ? 0 : c;
      else if (c == ',' && !quote)
        items.emplace_back();
      else
        items.back() += c;
    }
    std::erase(items, std::string());
    return items;
  }

  void addFile(const std::string &name, unsigned nesting) {
    llvm::SmallString<256> path(name);
    llvm::sys::path::make_absolute(folder_, path);
    if (nesting == kMaxNesting || ++files_ > kMaxArgumentFiles)
      return;
    const std::string text = scriptText(std::string(path), error_);
    read_ += text.size();
    if (read_ > kMaxRead && !error_)
      error_ =
          core::Error{std::string(path) + ": the response files of one command hold more than " +
                      std::to_string(kMaxRead >> 20) + " MB"};
    if (error_)
      return;
    llvm::BumpPtrAllocator memory;
    llvm::StringSaver saver(memory);
    llvm::SmallVector<const char *> words;
    llvm::cl::TokenizeGNUCommandLine(text, saver, words);
    add(std::vector<std::string>(words.begin(), words.end()), nesting + 1);
  }

  const std::string &folder_;
  unsigned files_ = 0;
  std::size_t read_ = 0;
  std::optional<core::Error> error_;
  std::vector<std::string> result_;
};

} // namespace

core::Result<std::vector<std::string>> plainArguments(const std::vector<std::string> &arguments,
                                                      const std::string &folder) {
  Translator translator(folder);
  translator.add(arguments, 0);
  return translator.take();
}

} // namespace devsan::analyzer
