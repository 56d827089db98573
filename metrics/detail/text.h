// Numbers in signatures: the shortest text that gives the same number again, so that options that
// differ have texts that differ.
#pragma once

#include <charconv>
#include <string>

namespace devsan::metrics::detail {

template <typename T> std::string exact_text(T number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), number).ptr);
}

} // namespace devsan::metrics::detail
