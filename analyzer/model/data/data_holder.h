// A parameter, a member, or what a function returns: what tensors pass through on their way from
// one file of a program to another.
#pragma once

#include "analyzer/model/value.h"

#include <optional>
#include <string>
#include <tuple>

namespace devsan::analyzer {

struct DataHolder {
  std::string usr;    // of the function or member: clang's name for a declaration across files
  int parameter = -1; // index of the function's parameter
  std::string name;   // of the function or member, without its scope
  std::string owner;  // the member's class, whose aggregates set it without its name
  std::string place;  // "file:line" of the function's body or of the member, where it is known

  // Whatever file tells of it.
  auto key() const { return std::tie(usr, parameter); }
};

// None for what other files cannot name, for parameters of constructors, which the standard library
// calls, for what points to tensors of others, and for a module's state, which goes where that
// goes.
std::optional<DataHolder> holderOf(const Path &path);
// What has the data that lie at `place`; none where that is known.
std::optional<DataHolder> holderOf(const Place &place);

} // namespace devsan::analyzer
