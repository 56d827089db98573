// What sets the current device: calls that leave it set, and guards that restore it.
#pragma once

#include <clang/AST/ExprCXX.h>
#include <llvm/ADT/STLFunctionalExtras.h>

namespace devsan::analyzer {

// Sets the current device of the thread: cudaSetDevice, c10::cuda::set_device and kin.
bool setsDevice(const clang::CallExpr *call);

// What may set the current device for as long as it lives: a device guard of LibTorch's, a class of
// the project that has one as member or base, or that sets the device in its destructor, and an
// optional or smart pointer to any of these.
bool isGuard(clang::QualType type);
// A class of the project with a guard among its members or bases: its methods run under it.
bool holdsGuard(const clang::CXXRecordDecl *record);
// A guard that is live from its declaration on; an empty optional one is set later.
bool startsGuard(const clang::VarDecl *variable);
// `guard.set_index(i)`, `guard.reset_device(d)`, `guard.emplace(d)`: from here on it guards.
bool isGuardSetter(const clang::CallExpr *call);
// A call in the statement does either: it sets the device, or a guard.
bool setsDeviceWithin(const clang::Stmt *statement);
// What runs in the statement may choose a device, for good or under a guard, in what it calls too:
// a function whose body is not seen may, unless it is only told a status. What `is_known` holds for
// does not.
bool mayChooseDevice(const clang::Stmt *statement,
                     llvm::function_ref<bool(const clang::CallExpr *)> is_known);
// The same of a function's body, and of what a constructor initialises.
bool mayChooseDevice(const clang::FunctionDecl *definition,
                     llvm::function_ref<bool(const clang::CallExpr *)> is_known);
// `x.get_device() == current_device()`: from there on the current device is the right one.
bool comparesWithCurrentDevice(const clang::BinaryOperator *op);
// A thread of the standard library's, which starts with a current device of its own.
bool isThread(clang::QualType type);

} // namespace devsan::analyzer
