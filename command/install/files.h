// Small questions about files that several commands ask. None throws, whatever is met at the path.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::command {

// Nothing where it cannot be read, as a folder cannot.
std::optional<std::string> contents(const std::filesystem::path &path);

// Those with this extension; what cannot be read is left out.
std::vector<std::filesystem::path> filesBelow(const std::filesystem::path &folder,
                                              const std::string &extension);

// FNV-1a over 8 bytes at a time: entries are checked at every start of a program.
class Hash {
public:
  void add(std::string_view data) {
    for (; data.size() >= 8; data.remove_prefix(8)) {
      std::uint64_t word;
      std::memcpy(&word, data.data(), 8);
      step(word);
    }
    for (unsigned char c : data)
      step(c);
    step(0x100);
  }
  std::string text() const; // 16 hexadecimal digits

private:
  void step(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x100000001b3;
    value_ ^= value_ >> 29;
  }
  std::uint64_t value_ = 0xcbf29ce484222325;
};

} // namespace devsan::command
