// Which declarations are LibTorch's, told by canonical name and signature, never by what a project
// happens to call its own things. One list for the model and all checks.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>

namespace devsan::analyzer {

// Types, seen through references, pointers, cv and typedefs.
bool isTensor(clang::QualType type);
// That of the stable interface, whose device is no c10::Device.
bool isStableTensor(clang::QualType type);
bool isDevice(clang::QualType type);     // c10::Device
bool isDeviceType(clang::QualType type); // c10::DeviceType
bool isTensorOptions(clang::QualType type);
bool isScalarType(clang::QualType type); // c10::ScalarType
// A class derived from torch::nn::Module, a ModuleHolder of one, a smart pointer to one, or
// torch::jit::Module.
bool isModule(clang::QualType type);
// The module class behind a holder or smart pointer; null where `type` is no module.
const clang::CXXRecordDecl *moduleClass(clang::QualType type);
bool derivesFromModule(const clang::CXXRecordDecl *record);
// The modules that hold whatever is put in them: Sequential, ModuleList, ModuleDict, AnyModule …
bool isModuleContainer(const clang::CXXRecordDecl *record);
// A tensor, or anything made of tensors: vector, optional, tuple, TensorList, TensorIndex …
bool holdsTensor(clang::QualType type);
// What names a device when it is passed: Device, DeviceType, optional of either, TensorOptions.
bool namesDevice(clang::QualType type);
// Characters, which may name a device; bytes with a sign of their own are data.
bool isText(clang::QualType type);
// An argument that is a device, or options; of a call that could not be resolved also the list that
// would become them.
bool givesDevice(const clang::Expr *argument);
// A class derived from torch::autograd::Function.
bool isAutogradFunction(const clang::CXXRecordDecl *record);
// What a DataLoader gives for a batch, or for an element of one: made by the dataset, on the host.
bool isExample(const clang::CXXRecordDecl *record);
// What options are made of besides a device: a dtype, a layout, a memory format, or nothing.
bool namesNoDevice(clang::QualType type);
// An RAII guard that sets the current device.
bool isDeviceGuard(clang::QualType type);
// An RAII guard that turns autograd off: NoGradGuard, InferenceMode, AutoGradMode.
bool isNoGradGuard(clang::QualType type);
bool isProcessGroup(clang::QualType type);
// devsan::AllowSync, an alias of a scope class.
bool isAllowSync(clang::QualType type);

// What LibTorch's (or the standard library's) headers declare in its namespaces. A project may open
// the same namespaces for its own.
bool isLibraryDecl(const clang::Decl *decl);
bool isTorchDecl(const clang::Decl *decl);
// Whether it stands in a system header, or beside LibTorch's.
bool isInLibraryFile(const clang::Decl *decl);
// The class of a member function; null for a free one.
const clang::CXXRecordDecl *ownerOf(const clang::FunctionDecl *function);

// The expression without what changes neither its value nor its identity: parentheses, implicit
// casts and copies, temporaries, std::move, std::forward.
const clang::Expr *strip(const clang::Expr *expr);
// As the user wrote it, also where a member takes it by default.
const clang::Expr *asWritten(const clang::Expr *value);
const clang::FunctionDecl *calleeOf(const clang::Expr *call);
llvm::StringRef nameOf(const clang::FunctionDecl *function);
// The object of a member call, also of an operator written as a member; null for others.
const clang::Expr *receiverOf(const clang::Expr *call);
// The arguments without the receiver and without default arguments.
llvm::SmallVector<const clang::Expr *, 4> argumentsOf(const clang::Expr *call);

// Tensor methods and functions by what they do to data.
bool isFactory(
    const clang::FunctionDecl *function); // takes the device in its options and makes a tensor
bool isStepName(llvm::StringRef name);    // a function that names itself a training step
// The call makes the host wait for the device, whatever the data: cudaDeviceSynchronize(),
// stream.synchronize(), a cudaMemcpy to the host.
bool waitsForDevice(const clang::FunctionDecl *callee, const clang::CallExpr *call);

} // namespace devsan::analyzer
