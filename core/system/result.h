// How core, analyzer and the offline half of the runtime return errors: no exceptions, one sentence
// that names the input and the remedy.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace devsan::core {

struct Error {
  std::string message;
};

template <typename T> using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> failure(std::string message) {
  return tl::unexpected<Error>(Error{std::move(message)});
}

} // namespace devsan::core
