#include "analyzer/flags/torch_macros.h"

#include "analyzer/files/source_files.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <optional>
#include <set>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

constexpr std::size_t kMaxHeadersRead = 500;
constexpr std::size_t kMaxIncludeDepth = 40; // of includes

bool isIdentifier(StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

// Reads the directives of a file and of the project's headers that it includes, line by line.
class HeaderReader {
public:
  explicit HeaderReader(const CompileCommand &command) : command_(command) {}

  std::vector<std::string> run() {
    read(command_.file, {}, 0);
    if (always_)
      return {};
    std::vector<std::string> macros;
    for (const std::string &macro : wanted_)
      if (!decided_.contains(macro) && !isGiven(macro))
        macros.push_back(macro);
    return macros;
  }

private:
  // What is known of one `#if` around a line: the macro that has to be defined; empty where that is
  // not what is asked, as of a header's guard; nothing where the answer is not known.
  using Condition = std::optional<std::string>;

  static Condition conditionOf(StringRef directive, StringRef rest) {
    rest = rest.split("//").first.split("/*").first.trim();
    if (directive == "ifdef")
      return isIdentifier(rest) ? Condition(rest.str()) : std::nullopt;
    if (directive == "ifndef")
      return std::string();
    if (!rest.consume_front("defined"))
      return std::nullopt;
    rest = rest.trim();
    if (rest.consume_front("(") && !rest.consume_back(")"))
      return std::nullopt;
    rest = rest.trim();
    return isIdentifier(rest) ? Condition(rest.str()) : std::nullopt;
  }

  void read(const std::string &file, const std::vector<std::string> &outer, std::size_t depth) {
    if (depth > kMaxIncludeDepth || seen_.size() > kMaxHeadersRead || !seen_.insert(file).second)
      return;
    std::vector<Condition> conditions;
    const std::string content = textOf(file);
    StringRef text = content;
    while (!text.empty() && !always_) {
      StringRef line;
      std::tie(line, text) = text.split('\n');
      line = line.trim();
      if (!line.consume_front("#"))
        continue;
      line = line.ltrim();
      const StringRef directive = line.take_while(llvm::isAlpha);
      const StringRef rest = line.drop_front(directive.size()).trim();
      if (directive.starts_with("if")) {
        conditions.push_back(conditionOf(directive, rest));
      } else if (directive == "elif" || directive == "else") {
        if (!conditions.empty())
          conditions.back() = directive == "elif" ? conditionOf(directive, rest) : std::nullopt;
      } else if (directive == "endif") {
        if (!conditions.empty())
          conditions.pop_back();
      } else if (directive == "define" || directive == "undef") {
        decided_.insert(rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; }).str());
      } else if (directive == "include") {
        if (llvm::any_of(conditions, [](const Condition &known) { return !known; }))
          continue;
        std::vector<std::string> macros = outer;
        for (const Condition &condition : conditions)
          if (!condition->empty())
            macros.push_back(*condition);
        include(rest, file, macros, depth);
      }
    }
  }

  void include(StringRef spelling, const std::string &from, const std::vector<std::string> &macros,
               std::size_t depth) {
    const bool angled = spelling.consume_front("<");
    if (!angled && !spelling.consume_front("\""))
      return;
    const StringRef name = spelling.take_until([&](char c) { return c == (angled ? '>' : '"'); });
    if (name.starts_with("torch/") || name.starts_with("ATen/") || name.starts_with("c10/")) {
      // The compiler's and the platform's own macros are no choice of a framework.
      if (llvm::any_of(macros, [](StringRef macro) { return macro.starts_with("_"); }))
        return;
      always_ |= macros.empty();
      wanted_.insert(macros.begin(), macros.end());
    } else if (const std::string found = resolve(name, from, angled); !found.empty()) {
      read(found, macros, depth + 1);
    }
  }

  std::string resolve(StringRef name, StringRef from, bool angled) const {
    const auto in = [&](StringRef folder) {
      llvm::SmallString<256> path(folder);
      llvm::sys::path::append(path, name);
      llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
      return llvm::sys::fs::is_regular_file(path) ? std::string(path) : std::string();
    };
    if (std::string found = angled ? std::string() : in(llvm::sys::path::parent_path(from));
        !found.empty())
      return found;
    for (std::size_t i = 0; i + 1 < command_.local.size(); i += 2)
      if (command_.local[i] == "-I" || command_.local[i] == "-iquote" ||
          command_.local[i] == "-idirafter")
        if (std::string found = in(command_.local[i + 1]); !found.empty())
          return found;
    return {};
  }

  // By -D or -U.
  bool isGiven(StringRef macro) const {
    for (std::size_t i = 0; i + 1 < command_.common.size(); ++i)
      if ((command_.common[i] == "-D" || command_.common[i] == "-U") &&
          StringRef(command_.common[i + 1]).split('=').first == macro)
        return true;
    return false;
  }

  const CompileCommand &command_;
  std::set<std::string> seen_;
  std::set<std::string> wanted_;
  std::set<std::string> decided_; // by the code itself
  bool always_ = false;
};

} // namespace

std::vector<std::string> macrosForTorch(const CompileCommand &command) {
  return HeaderReader(command).run();
}

} // namespace devsan::analyzer
