// What the fallback must know about an operator, read once from its schema and from
// native_functions.yaml. operatorFacts() is called on every simulated operator: a lookup by
// pointer, no lock, no string work for ATen's own operators.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/SmallVector.h>

#include "deterministic.h"
#include "runtime/operators/effects.h"

namespace devsan::sim {

enum class DeviceCheck : std::uint8_t {
  kExactSame,      // the CUDA wrapper compares the devices of all tensor arguments
  kTensorIterator, // TensorIterator compares them, and takes CPU scalars
  kNone,           // the kernel takes tensors from different devices
};

// Tensors of each kind have dispatch keys of their own.
enum class TensorKind : std::uint8_t { kDense, kSparse, kSparseCsr, kQuantized, kNested };
inline constexpr c10::DispatchKey kCpuKeys[] = {
    c10::DispatchKey::CPU, c10::DispatchKey::SparseCPU, c10::DispatchKey::SparseCsrCPU,
    c10::DispatchKey::QuantizedCPU, c10::DispatchKey::NestedTensorCPU};
inline constexpr c10::DispatchKey kCudaKeys[] = {
    c10::DispatchKey::CUDA, c10::DispatchKey::SparseCUDA, c10::DispatchKey::SparseCsrCUDA,
    c10::DispatchKey::QuantizedCUDA, c10::DispatchKey::NestedTensorCUDA};
constexpr std::uint8_t bitOf(TensorKind kind) {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(kind));
}

// One entry of native_functions.yaml, by its name without "aten::"; sorted by name.
struct CudaOperator {
  std::string_view name;
  DeviceCheck check;
  bool structured;
  std::uint8_t cuda_kernels;   // bit per TensorKind: CUDA has a kernel
  std::uint8_t over_composite; // bit per TensorKind: it has, and a composite kernel would come
                               // before the fallback
  std::string_view alerts;     // see deterministic.h
};
c10::ArrayRef<CudaOperator> cudaOperators();

enum class ArgumentKind : std::uint8_t {
  kTensor,
  kTensorList,
  kOptionalTensorList,
  kStorage,
  kGenerator,
  kDevice
};

struct ArgumentFact {
  ArgumentKind kind;
  std::uint16_t position;
  bool may_stay_on_cpu; // CPU indices, lengths and the like, whatever the operator's check is
  bool is_written;      // out= or in place
  bool is_changed;      // is_written, or changed although the schema does not say so
};

// Whether an operator changes what it is given there: the schema says so, or it is a running
// statistic of a batch norm, of which most schemas do not.
bool isChanged(const c10::Argument &argument);

struct DtypeRule;

struct OperatorFacts {
  const c10::OperatorName *key;
  c10::OperatorName name;
  c10::SmallVector<ArgumentFact, 8> arguments; // those that need translation, in schema order
  c10::SmallVector<std::uint16_t, 8>
      check_order; // indices into `arguments`; out= arguments come first, as in ATen
  std::uint16_t argument_count;
  std::uint16_t return_count;
  DeviceCheck check;
  bool known_to_aten;    // has an entry in native_functions.yaml
  bool mutates;          // an argument is written to, so it may have been resized
  bool has_generator;    // a Generator argument is there
  bool draws_implicitly; // random, but without a Generator argument: uses the default generator
  bool structured;       // TensorIterator can be asked (see device_check.h)
  std::uint8_t cuda_kernels;
  const DtypeRule *dtype_rule; // null for most: CUDA has a kernel for every dtype that the CPU has
  std::string wrapper_name;    // "wrapper_CUDA_addmm", part of ATen's error text
  // Bit i: the operator takes a CPU scalar as argument i beside device tensors. Learnt from ATen,
  // one by one.
  mutable std::atomic<std::uint64_t> accepted_scalars;
  // Bit per TensorKind: the CPU was seen to have a kernel.
  mutable std::atomic<std::uint8_t> cpu_kernels;
  std::vector<Alert> alerts;                   // none for most
  std::array<std::uint64_t, 5> wider_dtypes{}; // by TensorKind: see dtypesComputedWider()
  // By TensorKind: where the operator copies or waits, the function that says when; else null.
  std::array<runtime::EffectFunction, 5> effects{};
};

const OperatorFacts &operatorFacts(const c10::OperatorHandle &op);

} // namespace devsan::sim
