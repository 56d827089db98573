#include "analyzer/run/torch_header.h"

#include "analyzer/system/cache_folder.h"
#include "core/system/whole_file.h"

#include <clang/Basic/Version.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/SHA256.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/file.h>
#include <unistd.h>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{2} << 30;
constexpr StringRef kHeaderFolder = "torch-headers";
constexpr StringRef kFormat = "2"; // of what is written for one key

// Any of these brings nearly all of LibTorch; where one follows a smaller header, it is the one
// worth precompiling.
constexpr std::array<StringRef, 7> kUmbrellas = {
    "torch/extension.h", "torch/torch.h", "torch/all.h",     "torch/script.h",
    "torch/types.h",     "ATen/ATen.h",   "ATen/Functions.h"};

// Reads the directives at the head of a file, and of the project headers it includes there, line by
// line. What it does not understand ends the reading: then the file has no header to precompile.
class Head {
public:
  explicit Head(const CompileCommand &command) : command_(command) {}

  bool read(StringRef file) {
    if (!seen_.insert(file.str()).second || seen_.size() > 64)
      return true;
    const std::string text = textOf(file.str());
    unsigned conditions = 0;
    bool guarded = false;
    bool in_comment = false;
    StringRef rest = text;
    while (!rest.empty() && !done_) {
      StringRef line;
      std::tie(line, rest) = rest.split('\n');
      line = stripComments(line, in_comment);
      if (line.empty())
        continue;
      if (!line.consume_front("#"))
        return false; // code
      line = line.ltrim();
      if (line.consume_front("include")) {
        if (!include(line.trim(), file, conditions))
          return false;
      } else if (line.consume_front("if")) {
        // `#ifndef NAME`, `#define NAME` at the very start is the guard of the header, not a
        // condition.
        if (!guarded && conditions == 0 && line.consume_front("ndef") &&
            rest.ltrim().starts_with(("#define " + line.trim()).str())) {
          guarded = true;
          rest = rest.split('\n').second;
        } else if (conditions != 0 || line != "def __cplusplus") {
          ++conditions;
        }
      } else if (line.starts_with("endif")) {
        conditions -= conditions ? 1 : 0;
      } else if (line.consume_front("define") && conditions == 0) {
        if (line.ends_with("\\"))
          return false;
        defines_ += ("#define" + line + "\n").str();
      }
    }
    return true;
  }

  std::string text() const {
    return first_.empty() ? std::string() : defines_ + "#include <" + first_ + ">\n";
  }

private:
  static StringRef stripComments(StringRef line, bool &in_comment) {
    line = line.trim();
    while (true) {
      if (in_comment) {
        const size_t end = line.find("*/");
        if (end == StringRef::npos)
          return {};
        line = line.drop_front(end + 2).ltrim();
        in_comment = false;
      }
      if (line.starts_with("//"))
        return {};
      if (!line.consume_front("/*"))
        return line;
      in_comment = true;
    }
  }

  bool include(StringRef spelling, StringRef from, unsigned conditions) {
    const bool angled = spelling.consume_front("<");
    if (!angled && !spelling.consume_front("\""))
      return conditions != 0; // a macro names it
    const StringRef name = spelling.take_until([&](char c) { return c == (angled ? '>' : '"'); });
    // Under a condition it may not be active; an unconditional one may follow.
    if (conditions)
      return true;
    if (isTorchInclude(name)) {
      if (llvm::is_contained(kUmbrellas, name)) {
        first_ = name.str();
        done_ = true;
      } else if (first_.empty()) {
        first_ = name.str();
      }
      return true;
    }
    // Code in a project's header ends the reading of that header only: LibTorch's do not depend on
    // it.
    if (const std::string found = first_.empty() ? resolve(name, from, angled) : std::string();
        !found.empty())
      read(found);
    return true;
  }

  std::string resolve(StringRef name, StringRef from, bool angled) const {
    llvm::SmallString<256> candidate;
    if (!angled) {
      candidate = llvm::sys::path::parent_path(from);
      llvm::sys::path::append(candidate, name);
      if (llvm::sys::fs::exists(candidate))
        return std::string(candidate);
    }
    for (size_t i = 0; i + 1 < command_.local.size(); i += 2) {
      if (command_.local[i] != "-I" && (angled || command_.local[i] != "-iquote"))
        continue;
      candidate = command_.local[i + 1];
      llvm::sys::path::append(candidate, name);
      if (llvm::sys::fs::exists(candidate))
        return std::string(candidate);
    }
    return {};
  }

  const CompileCommand &command_;
  std::set<std::string> seen_;
  std::string defines_;
  std::string first_;
  bool done_ = false;
};

std::string sumFile(const std::string &header) {
  return header + ".sum";
}

std::string lockFile(const std::string &header) {
  return header + ".lock";
}

void awaitStore(const std::string &header) {
  const int file = open(lockFile(header).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return;
  while (flock(file, LOCK_SH) != 0 && errno == EINTR)
    ;
  close(file);
}

} // namespace

bool isTorchInclude(StringRef name) {
  return name.starts_with("torch/") || name.starts_with("ATen/") || name.starts_with("c10/");
}

std::optional<TorchHeader> torchHeaderOf(const CompileCommand &command,
                                         const std::string &torch_version) {
  Head head(command);
  // Forced includes are read before the file.
  for (size_t i = 0; i + 1 < command.local.size(); i += 2) {
    if (command.local[i] == "-imacros")
      return std::nullopt;
    if (command.local[i] == "-include" && !head.read(command.local[i + 1]))
      return std::nullopt;
  }
  head.read(command.file);
  TorchHeader header;
  header.text = head.text();
  if (header.text.empty())
    return std::nullopt;
  llvm::SHA256 hash;
  for (const std::string &argument : command.common) {
    hash.update(argument);
    hash.update(StringRef("\0", 1));
    hash.update(llvm::is_contained(command.own_folders, argument) ? "own" : "");
  }
  hash.update(header.text);
  hash.update(torch_version);
  hash.update(clang::getClangFullVersion());
  hash.update(kFormat);
  header.key = llvm::toHex(llvm::ArrayRef(hash.final()).take_front(12), /*LowerCase=*/true);
  if (const std::string folder = cacheFolder(kHeaderFolder); !folder.empty())
    header.path = folder + "/" + header.key + ".pch";
  return header;
}

std::optional<int> lockForStoring(const TorchHeader &header) {
  if (header.path.empty() || !makeFolderOf(header.path))
    return std::nullopt;
  const int file =
      open(lockFile(header.path).c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0)
    return std::nullopt;
  // Those who wait for it have it for an instant, too.
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0)
      return file;
    usleep(1000);
  }
  close(file);
  return std::nullopt;
}

bool canStoreTorchHeaders() {
  return canStoreIn(kHeaderFolder);
}

bool isStored(const TorchHeader &header) {
  if (header.path.empty())
    return false;
  awaitStore(header.path);
  const std::unique_ptr<llvm::MemoryBuffer> sum = readCached(sumFile(header.path));
  const std::unique_ptr<llvm::MemoryBuffer> content = readCached(header.path);
  if (!sum || !content || sum->getBuffer() != checksum(content->getBuffer()))
    return false;
  noteUse(header.path);
  noteUse(sumFile(header.path));
  return true;
}

void store(const TorchHeader &header, StringRef content) {
  // A run that reads between the two finds a checksum that does not fit, and makes its own.
  if (storeFile(header.path, {content}))
    storeFile(sumFile(header.path), {checksum(content)});
}

void removeStored(const TorchHeader &header) {
  llvm::sys::fs::remove(header.path);
  llvm::sys::fs::remove(sumFile(header.path));
}

void trimTorchHeaders() {
  if (const std::string folder = cacheFolder(kHeaderFolder); !folder.empty())
    trimFolder(folder, kMaxHeaderBytes);
}

} // namespace devsan::analyzer
