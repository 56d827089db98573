// What a path is to the other files of the program.
#pragma once

#include "analyzer/facts/finding.h"
#include "analyzer/facts/value.h"

#include <clang/AST/Decl.h>

namespace devsan::analyzer {

// Of tensors, and of devices that are handed on. None for what other files cannot name, for
// parameters of modules' constructors, which LibTorch calls, for what points to tensors of others,
// and for a module's state, which goes where that goes.
std::optional<DataHolder> holderOf(const Path &path);
// What has the data that lie at `place`; none where that is known. A call that is given data has
// its own: what it returns may be these.
std::optional<DataHolder> holderOf(const Place &place);
// Whether what a call gives for it decides where the result may lie. Of a structure or a module
// only the caller knows what it has.
bool holdsData(const clang::ParmVarDecl *parameter);
// What a function returns that is none of its parameters.
DataHolder withoutParameters(DataHolder result);

// The device of that variable or member. It is a named one where that is a device, or of a module,
// which goes where programs move it; that of a tensor from elsewhere is none. What the analysis
// does not follow, globals and what lambdas are given, counts as one.
Place placeOf(const Path &path);

} // namespace devsan::analyzer
