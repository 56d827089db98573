#include "runtime/hooks/redirect.h"

#include "runtime/hooks/fork_gate.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <torch/csrc/autograd/engine.h>
#include <unistd.h>
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

  void write(std::uintptr_t slot, void *value) const {
    const bool read_only = slot >= read_only_begin && slot < read_only_end;
    auto *page = reinterpret_cast<void *>(pageOf(slot));
    if (read_only && mprotect(page, pageSize(), PROT_READ | PROT_WRITE) != 0)
      return;
    std::atomic_ref(*reinterpret_cast<void **>(slot)).store(value, std::memory_order_release);
    if (read_only)
      mprotect(page, pageSize(), PROT_READ);
  }

  void redirect(std::span<const Redirection> redirections) const {
    if (!symbols || !names)
      return;
    for (const Table &table : tables)
      for (std::size_t i = 0; table.begin && i < table.count; ++i) {
        const ElfW(Rela) &entry = table.begin[i];
        if (!ELF64_R_SYM(entry.r_info) || !isAddressRelocation(entry))
          continue;
        const char *name = names + symbols[ELF64_R_SYM(entry.r_info)].st_name;
        for (const Redirection &one : redirections)
          if (std::strcmp(name, one.symbol) == 0)
            write(base + entry.r_offset, one.replacement);
      }
  }
};

// What was asked for so far, and where it is done. Under the loader's own lock, which
// dl_iterate_phdr holds; never destroyed.
struct State {
  std::vector<Redirection> redirections;
  std::vector<std::uintptr_t> done; // load addresses
  unsigned long long unloads = 0;
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

// The preload shim calls this after each dlopen. Modules keep their load addresses until something
// is unloaded: then all are looked at again.
extern "C" __attribute__((visibility("default"))) void devsan_modules_changed() {
  InsideForkGate gate; // a fork meanwhile would leave the child the loader's lock
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *) {
        State &all = state();
        if (all.unloads != info->dlpi_subs)
          all.done.clear();
        all.unloads = info->dlpi_subs;
        if (all.redirections.empty() ||
            std::ranges::find(all.done, info->dlpi_addr) != all.done.end())
          return 0;
        all.done.push_back(info->dlpi_addr);
        if (!holds(*info, reinterpret_cast<std::uintptr_t>(&state)))
          Image(*info).redirect(all.redirections);
        return 0;
      },
      nullptr);
}
