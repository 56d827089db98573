#include "command/install/torch_library.h"

#include "command/install/files.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace devsan::command {

namespace fs = std::filesystem;

std::string torchId(const fs::path &library) {
  struct stat status;
  const int file = open(library.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return {};
  auto read = [file](std::uint64_t offset, void *to, std::size_t size) {
    return pread(file, to, size, off_t(offset)) == ssize_t(size);
  };
  std::string id;
  Elf64_Ehdr header;
  const bool is_elf = fstat(file, &status) == 0 && read(0, &header, sizeof header) &&
                      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  for (unsigned i = 0; is_elf && id.empty() && i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read(header.e_phoff + i * sizeof segment, &segment, sizeof segment) ||
        segment.p_type != PT_NOTE || segment.p_filesz > 1 << 20)
      continue;
    std::string notes(segment.p_filesz, 0);
    if (!read(segment.p_offset, notes.data(), notes.size()))
      continue;
    const std::size_t padding = segment.p_align == 8 ? 7 : 3;
    for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
      Elf64_Nhdr note;
      std::memcpy(&note, notes.data() + at, sizeof note);
      const std::size_t name = at + sizeof note;
      const std::size_t text = name + ((note.n_namesz + padding) & ~padding);
      at = text + ((note.n_descsz + padding) & ~padding);
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || at > notes.size() ||
          notes.compare(name, 3, "GNU") != 0)
        continue;
      for (std::size_t k = 0; k < note.n_descsz; ++k)
        id += fmt::format("{:02x}", static_cast<unsigned char>(notes[text + k]));
      break;
    }
  }
  close(file);
  if (is_elf && id.empty())
    id = fmt::format("file-{:x}-{:x}", std::uint64_t(status.st_size),
                     std::uint64_t(status.st_mtime));
  return id;
}

std::string torchVersion(const fs::path &include) {
  for (const char *header :
       {"torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"}) {
    const std::string text = contents(include / header).value_or("");
    const std::size_t define = text.find("#define TORCH_VERSION ");
    const std::size_t quote = define == std::string::npos ? define : text.find('"', define);
    if (quote != std::string::npos)
      return text.substr(quote + 1, text.find('"', quote + 1) - quote - 1);
  }
  return "of unknown version";
}

const char *stringAbi(const fs::path &libraries) {
  const std::string symbols = contents(libraries / "libc10.so").value_or("");
  return symbols.find("NSt7__cxx1112basic_string") != std::string::npos ? "1" : "0";
}

} // namespace devsan::command
