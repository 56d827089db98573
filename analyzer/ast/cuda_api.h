// What is known of CUDA's and LibTorch's functions and types by which work gets on a device:
// streams, launches, guards, the current device. Told by canonical declaration. Facts about single
// calls only; what they mean for a function is cuda_work.h.
#pragma once

#include <clang/AST/ExprCXX.h>

#include <optional>

namespace devsan::analyzer {

// cudaStream_t, CUstream, hipStream_t.
bool isStreamHandle(clang::QualType type);
// A stream handle, LibTorch's wrapper of one, or a reference to either.
bool isStream(clang::QualType type);
// cublasHandle_t and kin: what a library of CUDA's works through, on the device that it was made
// on.
bool isLibraryHandle(clang::QualType type);
// By its name, a function of such a library that works on the host alone, whatever memory it is
// given.
bool isHostOnly(llvm::StringRef name);
// A structure with a stream among its members: launch parameters that are handed on as one.
bool holdsStream(clang::QualType type);

// The called function, also where the call is still a template's; null where it is not one
// function.
const clang::FunctionDecl *calledFunction(const clang::CallExpr *call);

// Where CUDA's own function takes the stream that orders its work, counted from 0.
std::optional<unsigned> streamParameter(const clang::FunctionDecl *function);
// The same for any function, from its declaration: a parameter that is a stream handle.
std::optional<unsigned> declaredStreamParameter(const clang::FunctionDecl *function);
// Of a copy that is told its direction: that parameter.
std::optional<unsigned> directionParameter(const clang::FunctionDecl *function);
// Copies memory while the host waits: cudaMemcpy, cudaMemcpy3D.
bool isWaitingCopy(const clang::FunctionDecl *function);
// By its name, which is all that is known of a function without a body.
bool namesAllocation(llvm::StringRef function);
// Whether it may do more with its stream parameter than order memory by it, as allocators do, or
// ignore it.
bool putsWorkOnStream(const clang::FunctionDecl *function, unsigned parameter);
// What a call passes for the parameter `index` of its callee, be it by default; null where it
// passes nothing.
const clang::Expr *passedFor(const clang::CallExpr *call, const clang::FunctionDecl *callee,
                             unsigned index);
// Launches a kernel that is one of its arguments.
bool isKernelLaunch(llvm::StringRef name);
// Puts its work on the legacy default stream and takes no other: cudaMemset.
bool usesDefaultStreamOnly(llvm::StringRef name);
// An algorithm of Thrust that runs on the legacy default stream, by its execution policy.
bool isThrustOnDefaultStream(const clang::CallExpr *call, const clang::FunctionDecl *callee);
// An algorithm of CUB for a whole device.
bool isCubAlgorithm(const clang::FunctionDecl *callee);
// A call of one that only asks how much temporary memory it needs.
bool isCubSizeQuery(const clang::CallExpr *call);

// ATen's own kernels: the dispatcher sets the device before it calls them.
bool isGuardedByDispatcher(const clang::FunctionDecl *function);
bool isCurrentStreamCall(const clang::FunctionDecl *callee);
// Answers for the current device: getCurrentDeviceProperties, current_device …
bool asksCurrentDevice(const clang::FunctionDecl *callee);
// Makes memory, an event, a handle, a tensor on the current device.
bool makesOnCurrentDevice(const clang::CallExpr *call);
// thrust::device_vector, whose elements lie there.
bool isDeviceContainer(clang::QualType type);
// Among what a function is given, streams aside, is something that tells it the device: a tensor, a
// device, an index that comes from one.
bool anyNamesDevice(llvm::ArrayRef<const clang::Expr *> arguments);
// Of an object whose maker is in sight and was given something of that kind, or of a member of one.
bool isOfToldObject(const clang::CallExpr *call);
// Of a function, or of an object of a type, that a missing header would have declared.
bool callsUndeclared(const clang::CallExpr *call);
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

// `getCurrentCUDAStream()` in `.stream()`, conversions and copies of it.
const clang::Expr *streamSource(const clang::Expr *expr);

} // namespace devsan::analyzer
