// Whether a call, or the object that it is made of, says on which device it works, and whether
// anybody in sight has declared what it calls.
#pragma once

#include <clang/AST/ExprCXX.h>

namespace devsan::analyzer {

// Among what a function is given, streams aside, is something that tells it the device: a tensor, a
// device, an index that comes from one.
bool anyNamesDevice(llvm::ArrayRef<const clang::Expr *> arguments);
// Of an object whose maker is in sight and was given something of that kind, or of a member of one.
bool isOfToldObject(const clang::CallExpr *call);
// Of a function, or of an object of a type, that a missing header would have declared.
bool callsUndeclared(const clang::CallExpr *call);

} // namespace devsan::analyzer
