// Names for code addresses. The work is done by libexec/devsan-symbolize in a process of its own,
// so that nothing here knows LLVM.
#pragma once

#include "core/system/result.h"

#include <compare>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
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
// table. Where it fails, the table has what it told before.
core::Result<void> symbolize(const std::filesystem::path &symbolizer,
                             const std::set<CodeAddress> &addresses, SymbolTable &table);

// The lines that a symbolizer writes. One that is silent for long is given up.
class AnswerReader {
public:
  explicit AnswerReader(int descriptor = -1) : descriptor_(descriptor) {}
  AnswerReader(AnswerReader &&other) noexcept;
  AnswerReader &operator=(AnswerReader &&other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(text_, other.text_);
    return *this;
  }
  ~AnswerReader();

  enum class End { kNone, kEnd, kSilence };
  End read(std::string &line);

private:
  int descriptor_; // -1: none
  std::string text_;
};

// The same for who asks again and again: one symbolizer that stays, because it spends its time on
// opening LibTorch, and what was asked once is known.
class SymbolCache {
public:
  explicit SymbolCache(std::filesystem::path symbolizer) : symbolizer_(std::move(symbolizer)) {}
  SymbolCache(const SymbolCache &) = delete;
  SymbolCache &operator=(const SymbolCache &) = delete;
  ~SymbolCache();

  // Names for all that were asked so far. A symbolizer that cannot be started, or dies, is an
  // error, once.
  core::Result<void> lookUp(const std::set<CodeAddress> &addresses);
  const SymbolTable &table() const { return table_; }

private:
  core::Result<void> begin();

  std::filesystem::path symbolizer_;
  SymbolTable table_;
  std::set<CodeAddress> asked_;
  std::FILE *questions_ = nullptr;
  AnswerReader answers_;
  int child_ = 0;
  bool failed_ = false;
};

} // namespace devsan::runtime
