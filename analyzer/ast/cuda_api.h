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

// The parameter of the function around it that a call calls: `f()`, `std::forward<F>(f)()`.
const clang::ParmVarDecl *calledParameter(const clang::CallExpr *call);
// CUDA's C interfaces, not a project's own functions with C linkage.
bool isCudaApi(const clang::FunctionDecl *callee);
// Among what a function passes on is memory of its caller's, which may be a tensor's.
bool givesMemory(llvm::ArrayRef<const clang::Expr *> parts);

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
// `getCurrentCUDAStream()` in `.stream()`, conversions and copies of it.
const clang::Expr *streamSource(const clang::Expr *expr);

} // namespace devsan::analyzer
