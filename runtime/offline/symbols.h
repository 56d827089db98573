// Names for code addresses. The work is done by libexec/devsan-symbolize in a process of its own,
// so that nothing here knows LLVM.
#pragma once

#include "core/result.h"

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace devsan::runtime {

struct CodeAddress {
  std::string module;
  std::uint64_t offset = 0; // the address inside the file
  auto operator<=>(const CodeAddress &) const = default;
};

// `file` is empty and `line` 0 where there is no debug information.
struct SymbolFrame {
  std::string function;
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
};

// The functions at an address, innermost first: more than one where calls were inlined.
using SymbolTable = std::map<CodeAddress, std::vector<SymbolFrame>>;

// One run of the symbolizer for all of them. An address that it does not know is missing from the
// table.
core::Result<SymbolTable> symbolize(const std::filesystem::path &symbolizer,
                                    const std::set<CodeAddress> &addresses);

} // namespace devsan::runtime
