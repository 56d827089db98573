// A parameter, a member, or what a function returns: what tensors pass through on their way from
// one file of a program to another.
#pragma once

#include "analyzer/model/value.h"

#include <string>

namespace devsan::analyzer {

struct DataHolder {
  std::string usr;    // of the function or member: clang's name for a declaration across files
  int parameter = -1; // index of the function's parameter
  std::string name;   // of the function or member, without its scope
  std::string owner;  // the member's class, whose aggregates set it without its name

  auto operator<=>(const DataHolder &) const = default;
};

// None for what other files cannot name, and for a module's state, which goes where that goes.
std::optional<DataHolder> holderOf(const Path &path);
// What has the data that lie at `place`; none where that is known.
std::optional<DataHolder> holderOf(const Place &place);
std::vector<DataHolder> holdersOf(const Place &place); // that one

} // namespace devsan::analyzer
