#include "runtime/record/redirect.h"

#include "runtime/log/fork_gate.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <link.h>
#include <string_view>
#include <sys/mman.h>
#include <torch/csrc/autograd/engine.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace devsan::runtime {
namespace {

// The relocations that put a symbol's address into a word.
bool isAddressRelocation(const ElfW(Rela) & entry) {
  const auto type = ELF64_R_TYPE(entry.r_info);
#if defined(__x86_64__)
  return (type == R_X86_64_64 && entry.r_addend == 0) || type == R_X86_64_GLOB_DAT ||
         type == R_X86_64_JUMP_SLOT;
#elif defined(__aarch64__)
  return (type == R_AARCH64_ABS64 && entry.r_addend == 0) || type == R_AARCH64_GLOB_DAT ||
         type == R_AARCH64_JUMP_SLOT;
#else
  (void)type;
  return false;
#endif
}

// The relocation by which a program gets an object of a library's, such as a table of virtual
// functions, as its own: the loader copies it, and all modules use the copy.
bool isCopy(const ElfW(Rela) & entry) {
#if defined(__x86_64__)
  return ELF64_R_TYPE(entry.r_info) == R_X86_64_COPY;
#elif defined(__aarch64__)
  return ELF64_R_TYPE(entry.r_info) == R_AARCH64_COPY;
#else
  (void)entry;
  return false;
#endif
}

std::uintptr_t pageSize() {
  static const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::uintptr_t pageOf(std::uintptr_t address) {
  return address & ~(pageSize() - 1);
}

struct Table {
  const ElfW(Rela) *begin = nullptr;
  std::size_t count = 0;
};

// A word that was changed, and to what; none where a module has none.
struct Change {
  void **slot = nullptr;
  void *value = nullptr;
};

struct Image {
  std::uintptr_t base = 0;
  const ElfW(Sym) *symbols = nullptr;
  const char *names = nullptr;
  Table tables[2]; // of data and of calls
  std::uintptr_t read_only_begin = 0, read_only_end = 0;

  explicit Image(const dl_phdr_info &info) : base(info.dlpi_addr) {
    const ElfW(Dyn) *dynamic = nullptr;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr) &header = info.dlpi_phdr[i];
      if (header.p_type == PT_DYNAMIC)
        dynamic = reinterpret_cast<const ElfW(Dyn) *>(base + header.p_vaddr);
      if (header.p_type == PT_GNU_RELRO) {
        // As the loader protects it: of the last page only what is whole.
        read_only_begin = pageOf(base + header.p_vaddr);
        read_only_end = pageOf(base + header.p_vaddr + header.p_memsz);
      }
    }
    for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic)
      read(*dynamic);
  }

  void read(const ElfW(Dyn) & entry) {
    // The loader has made these absolute, except in the kernel's own module.
    const std::uintptr_t address =
        entry.d_un.d_ptr < base ? base + entry.d_un.d_ptr : entry.d_un.d_ptr;
    switch (entry.d_tag) {
    case DT_SYMTAB:
      symbols = reinterpret_cast<const ElfW(Sym) *>(address);
      break;
    case DT_STRTAB:
      names = reinterpret_cast<const char *>(address);
      break;
    case DT_RELA:
      tables[0].begin = reinterpret_cast<const ElfW(Rela) *>(address);
      break;
    case DT_RELASZ:
      tables[0].count = entry.d_un.d_val / sizeof(ElfW(Rela));
      break;
    case DT_JMPREL:
      tables[1].begin = reinterpret_cast<const ElfW(Rela) *>(address);
      break;
    case DT_PLTRELSZ:
      tables[1].count = entry.d_un.d_val / sizeof(ElfW(Rela));
      break;
    default: // what else a module says about itself
      break;
    }
  }

  bool write(std::uintptr_t slot, void *value) const {
    const bool read_only = slot >= read_only_begin && slot < read_only_end;
    auto *page = reinterpret_cast<void *>(pageOf(slot));
    if (read_only && mprotect(page, pageSize(), PROT_READ | PROT_WRITE) != 0)
      return false;
    std::atomic_ref(*reinterpret_cast<void **>(slot)).store(value, std::memory_order_release);
    if (read_only)
      mprotect(page, pageSize(), PROT_READ);
    return true;
  }

  // One of the changes.
  Change redirect(std::span<const Redirection> redirections) const {
    Change change;
    if (!symbols || !names)
      return change;
    for (const Table &table : tables)
      for (std::size_t i = 0; table.begin && i < table.count; ++i) {
        const ElfW(Rela) &entry = table.begin[i];
        if (!ELF64_R_SYM(entry.r_info))
          continue;
        const ElfW(Sym) &symbol = symbols[ELF64_R_SYM(entry.r_info)];
        const std::uintptr_t slot = base + entry.r_offset;
        if (isCopy(entry)) {
          redirectCopy(slot, symbol.st_size, redirections);
        } else if (isAddressRelocation(entry)) {
          const char *name = names + symbol.st_name;
          for (const Redirection &one : redirections)
            if (std::strcmp(name, one.symbol) == 0 && write(slot, one.replacement))
              change = {reinterpret_cast<void **>(slot), one.replacement};
        }
      }
    return change;
  }

  // A copy holds addresses without their names. Only a program has copies, and it is never
  // unloaded.
  void redirectCopy(std::uintptr_t begin, std::size_t size,
                    std::span<const Redirection> redirections) const {
    if (begin % alignof(void *) != 0)
      return;
    for (std::uintptr_t slot = begin; slot + sizeof(void *) <= begin + size; slot += sizeof(void *))
      for (const Redirection &one : redirections)
        if (void *value = *reinterpret_cast<void **>(slot);
            value && (value == one.function || value == one.canonical))
          write(slot, one.replacement);
  }
};

// A module that was looked at. The same file at the same address is the same module, or the same
// one loaded anew: then its words are no longer what they were changed to.
struct PatchedModule {
  std::size_t name = 0; // a hash
  Change change;
  std::uint64_t pass = 0; // the last in which it was met

  bool isStill(std::size_t other_name) const {
    return name == other_name &&
           (!change.slot ||
            std::atomic_ref(*change.slot).load(std::memory_order_relaxed) == change.value);
  }
};

// What was asked for so far, and where it is done. Under the loader's own lock, which
// dl_iterate_phdr holds; never destroyed.
struct State {
  std::vector<Redirection> redirections;
  std::unordered_map<std::uintptr_t, PatchedModule> done; // by load address
  std::uint64_t passes = 0;

  // Forgets what was not met in the last pass.
  void beginPass() {
    std::erase_if(done, [this](const auto &entry) { return entry.second.pass != passes; });
    ++passes;
  }
};

State &state() {
  static State *instance = new State;
  return *instance;
}

bool holds(const dl_phdr_info &info, std::uintptr_t address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && address >= begin && address < begin + header.p_memsz)
      return true;
  }
  return false;
}

} // namespace

void *torchFunction(const char *symbol) {
  Dl_info torch;
  if (!dladdr(reinterpret_cast<void *>(&torch::autograd::Engine::get_default_engine), &torch))
    return nullptr;
  void *library = dlopen(torch.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void *function = library ? dlsym(library, symbol) : nullptr;
  if (library)
    dlclose(library); // it stays: we are linked with it
  return function;
}

Redirection::Redirection(const char *symbol, void *replacement)
    : symbol(symbol), replacement(replacement), function(torchFunction(symbol)),
      canonical(dlsym(RTLD_DEFAULT, symbol)) {}

void redirectCalls(std::span<const Redirection> redirections) {
  InsideForkGate gate;
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *data) {
        const auto &added = *static_cast<std::span<const Redirection> *>(data);
        if (!holds(*info, reinterpret_cast<std::uintptr_t>(&state)))
          Image(*info).redirect(added);
        return 0;
      },
      &redirections);
  State &all = state();
  all.redirections.insert(all.redirections.end(), redirections.begin(), redirections.end());
}

} // namespace devsan::runtime

using namespace devsan::runtime;

// The preload shim calls this after each dlopen. To look into all modules takes as long as to load
// them, so those that were there before are left out.
extern "C" __attribute__((visibility("default"))) void devsan_modules_changed() {
  InsideForkGate gate; // a fork meanwhile would leave the child the loader's lock
  bool is_first = true;
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *data) {
        State &all = state();
        if (all.redirections.empty())
          return 1;
        if (std::exchange(*static_cast<bool *>(data), false))
          all.beginPass();
        PatchedModule &done = all.done[info->dlpi_addr];
        const std::size_t name = std::hash<std::string_view>()(info->dlpi_name);
        const bool is_new = done.pass == 0 || !done.isStill(name);
        done.name = name;
        done.pass = all.passes;
        if (is_new && !holds(*info, reinterpret_cast<std::uintptr_t>(&state)))
          done.change = Image(*info).redirect(all.redirections);
        return 0;
      },
      &is_first);
}
