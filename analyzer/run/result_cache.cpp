#include "analyzer/run/result_cache.h"

#include "analyzer/system/cache_folder.h"
#include "core/system/whole_file.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <elf.h>
#include <link.h>
#include <set>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

constexpr std::uint64_t kMaxResultBytes = 128u << 20;
constexpr StringRef kResultFolder = "results";
constexpr StringRef kResultHead = "devsan-result/1 "; // then a checksum of what follows its line

// An entry is lines: `file CHECKSUM PATH`, `absent PATH`, then `result` and the result's text.
struct Entry {
  std::vector<std::pair<std::string, std::string>> files; // path and checksum
  std::vector<std::string> absent;
  StringRef result;
};

std::optional<Entry> parseEntry(StringRef text) {
  if (!text.consume_front(kResultHead))
    return std::nullopt;
  auto [sum, body] = text.split('\n');
  if (sum != checksum(body))
    return std::nullopt;
  Entry entry;
  while (!body.empty()) {
    StringRef line;
    std::tie(line, body) = body.split('\n');
    if (line == "result") {
      entry.result = body;
      return entry;
    }
    if (line.consume_front("absent ")) {
      entry.absent.push_back(line.str());
    } else if (line.consume_front("file ")) {
      const auto [content, path] = line.split(' ');
      entry.files.emplace_back(path.str(), content.str());
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Where a missing header would be found.
std::vector<std::string> candidates(const CompileCommand &command, const FileResult &result) {
  std::set<std::string> folders;
  for (const std::vector<std::string> *list : {&command.local, &command.common})
    for (std::size_t i = 0; i + 1 < list->size(); ++i)
      if (StringRef option = (*list)[i];
          option == "-I" || option == "-iquote" || option == "-idirafter" || option == "-isystem")
        folders.insert((*list)[++i]);
  for (const auto &[file, sum] : result.files_read)
    folders.insert(llvm::sys::path::parent_path(file).str());
  std::vector<std::string> paths;
  for (const std::string &folder : folders)
    for (const std::string &name : result.missing_headers) {
      llvm::SmallString<256> path(folder);
      llvm::sys::path::append(path, name);
      paths.push_back(std::string(path));
    }
  return paths;
}

} // namespace

ResultCache::ResultCache(bool enabled, std::string configuration)
    : configuration_(std::move(configuration)), started_(std::chrono::system_clock::now()) {
  if (enabled)
    folder_ = cacheFolder(kResultFolder);
}

const std::string &ResultCache::sumOf(const std::string &file) {
  auto [entry, is_new] = sums_.try_emplace(file);
  if (is_new)
    if (const core::Result<std::string> text = core::readFile(file, core::kMaxSource))
      entry->second = checksum(*text);
  return entry->second;
}

std::string ResultCache::entryFile(const CompileCommand &command) {
  std::string key = configuration_;
  for (const std::vector<std::string> *list :
       {&command.common, &command.local, &command.own_folders}) {
    key += '\0';
    for (const std::string &argument : *list)
      (key += argument) += '\0';
  }
  ((key += command.folder) += '\0') += command.file;
  (key += '\0') += sumOf(command.file);
  return folder_ + "/" + checksum(key);
}

std::optional<FileResult> ResultCache::find(const CompileCommand &command) {
  if (folder_.empty())
    return std::nullopt;
  const std::string file = entryFile(command);
  const std::unique_ptr<llvm::MemoryBuffer> buffer = readCached(file);
  if (!buffer)
    return std::nullopt;
  const std::optional<Entry> entry = parseEntry(buffer->getBuffer());
  if (!entry || !llvm::all_of(entry->files, [&](const auto &known) {
        return sumOf(known.first) == known.second;
      }))
    return std::nullopt;
  if (llvm::any_of(entry->absent, [](const std::string &p) { return llvm::sys::fs::exists(p); }))
    return std::nullopt;
  core::Result<FileResult> result = parseFileResult(entry->result.str());
  if (!result)
    return std::nullopt;
  noteUse(file);
  return std::move(*result);
}

void ResultCache::store(const CompileCommand &command, const FileResult &result) {
  if (folder_.empty())
    return;
  std::string body;
  const auto unfit = [](const std::string &path) { return path.find('\n') != std::string::npos; };
  for (const auto &[path, sum] : result.files_read) {
    // What changed or went while it was analysed is analysed again next time.
    llvm::sys::fs::file_status status;
    if (unfit(path) || sumOf(path).empty() || llvm::sys::fs::status(path, status) ||
        status.getLastModificationTime() >= started_)
      return;
    body += "file " + sumOf(path) + " " + path + "\n";
  }
  for (const std::string &path : candidates(command, result)) {
    if (unfit(path))
      return;
    body += "absent " + path + "\n";
  }
  body += "result\n" + serialize(result);
  storeFile(entryFile(command), {kResultHead, checksum(body), "\n", body});
  stored_ = true;
}

void ResultCache::trim() {
  if (stored_)
    trimFolder(folder_, kMaxResultBytes);
}

static std::string buildId() {
  std::string id;
  const auto visit = [](dl_phdr_info *object, size_t, void *data) {
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr) &segment = object->dlpi_phdr[i];
      if (segment.p_type != PT_NOTE)
        continue;
      const char *at = reinterpret_cast<const char *>(object->dlpi_addr + segment.p_vaddr);
      const char *end = at + segment.p_memsz;
      while (at + sizeof(ElfW(Nhdr)) <= end) {
        const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
        const char *name = at + sizeof *note;
        const char *content = name + llvm::alignTo(note->n_namesz, 4);
        if (note->n_type == NT_GNU_BUILD_ID && StringRef(name, 3) == "GNU")
          *static_cast<std::string *>(data) = llvm::toHex(StringRef(content, note->n_descsz));
        at = content + llvm::alignTo(note->n_descsz, 4);
      }
    }
    return 1; // the first object is the program
  };
  dl_iterate_phdr(visit, &id);
  return id;
}

std::string programVersion() {
  const std::string id = buildId();
  return "devsan " DEVSAN_VERSION + (id.empty() ? id : " of build " + id);
}

std::string programIdentity() {
  std::string identity = buildId();
  // Linked without a build id; and beside it, so that a copy with another library is another.
  const std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(self, status))
    identity += " " + std::to_string(status.getSize()) + " " +
                std::to_string(status.getLastModificationTime().time_since_epoch().count());
  return identity;
}

} // namespace devsan::analyzer
