// The hash by which strings, stacks and events are told apart: 64 bits, of which tables keep what
// they have room for. Any thread. No LibTorch in here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace devsan::runtime {

inline constexpr std::uint64_t kHashOdd1 = 0x9e3779b97f4a7c15, kHashOdd2 = 0xd1b54a32d192ed03;

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return std::uint64_t(product) ^ std::uint64_t(product >> 64);
}

inline std::uint64_t hashBytes(const void *data, std::size_t size, std::uint64_t seed = 0) {
  const char *bytes = static_cast<const char *>(data);
  std::uint64_t hash = seed ^ (size * kHashOdd1);
  for (; size >= 8; size -= 8, bytes += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    hash = mix(hash ^ word, kHashOdd1);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes, size);
  return mix(hash ^ rest ^ kHashOdd2, kHashOdd2);
}

// The words are independent of each other until they are put together, so that the processor does
// not wait for one multiplication after the other.
inline std::uint64_t hashWords(std::span<const std::uint64_t> words, std::uint64_t seed) {
  std::uint64_t hash = seed;
  std::size_t i = 0;
  for (; i + 4 <= words.size(); i += 4)
    hash = mix(hash ^ kHashOdd2, kHashOdd1) ^ mix(words[i] ^ kHashOdd1, words[i + 1] ^ kHashOdd2) ^
           mix(words[i + 2] ^ (kHashOdd1 << 1 | 1), words[i + 3] ^ (kHashOdd2 << 1 | 1));
  for (; i < words.size(); ++i)
    hash = mix(hash ^ words[i], kHashOdd1);
  return mix(hash ^ words.size(), kHashOdd2);
}

} // namespace devsan::runtime
