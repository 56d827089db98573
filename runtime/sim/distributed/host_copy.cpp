#include "host_copy.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <cstring>

#include "runtime/sim/dispatch/tensor_alias.h"

namespace devsan::sim {
namespace {

// Arithmetic on host copies is the transport's own: neither autograd, nor a Python mode, nor a
// profiler sees it.
struct OwnArithmetic {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  c10::impl::ExcludeDispatchKeyGuard no_python{
      c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot})};
  at::DisableRecordFunctionGuard no_records;
};

void *dataOf(const at::Tensor &tensor) {
  return tensor.numel() == 0 ? nullptr : cpuAlias(tensor).data_ptr();
}

at::Tensor hostValues(std::int64_t numel, at::ScalarType type) {
  return at::Tensor(at::detail::empty_cpu({numel}, type));
}

double factorOf(const c10d::ReduceOp &op) {
  const auto *premultiplied =
      static_cast<const c10d::NCCLPreMulSumSupplement *>(op.supplement_.get());
  if (!premultiplied->tensor_factor.defined())
    return premultiplied->double_factor;
  const at::Tensor &factor = premultiplied->tensor_factor;
  return (factor.is_cuda() ? cpuAlias(factor) : factor).item().toDouble();
}

void checkOperator(const at::Tensor &tensor, const c10d::ReduceOp &op) {
  switch (op.op_) {
  case c10d::ReduceOp::BAND:
    C10_THROW_ERROR(ValueError, "Cannot use ReduceOp.BAND with NCCL");
  case c10d::ReduceOp::BOR:
    C10_THROW_ERROR(ValueError, "Cannot use ReduceOp.BOR with NCCL");
  case c10d::ReduceOp::BXOR:
    C10_THROW_ERROR(ValueError, "Cannot use ReduceOp.BXOR with NCCL");
  case c10d::ReduceOp::UNUSED:
    C10_THROW_ERROR(ValueError, "Unhandled ReduceOp");
  case c10d::ReduceOp::AVG:
    if (tensor.scalar_type() == at::kBool)
      C10_THROW_ERROR(TypeError, "Cannot use ReduceOp.AVG with boolean inputs");
    break;
  case c10d::ReduceOp::PREMUL_SUM:
    if (!at::isFloatingType(tensor.scalar_type()))
      C10_THROW_ERROR(TypeError, "PreMulSum Data type must be half, float, bfloat16 or double");
    break;
  case c10d::ReduceOp::SUM:
  case c10d::ReduceOp::PRODUCT:
  case c10d::ReduceOp::MIN:
  case c10d::ReduceOp::MAX:
    break;
  }
}

} // namespace

void checkOneTensor(const std::vector<at::Tensor> &tensors) {
  TORCH_CHECK(tensors.size() == 1, "Expecting one tensor only but got multiple");
}

void checkRoot(std::int64_t root, int size) {
  TORCH_CHECK_WITH(ValueError, root >= 0 && root < size, "invalid root rank: ", root);
}

void checkSingle(const at::Tensor &tensor, bool point_to_point) {
  if (!tensor.is_cuda() || tensor.is_sparse())
    C10_THROW_ERROR(ValueError, "Tensors must be CUDA and dense");
  if (!tensor.is_contiguous(tensor.suggest_memory_format()) && !point_to_point)
    C10_THROW_ERROR(ValueError, "Tensors must be contiguous");
  if (point_to_point && !tensor.is_non_overlapping_and_dense())
    C10_THROW_ERROR(ValueError, "Tensors must be contiguous");
}

void checkSameDevice(const std::vector<at::Tensor> &tensors) {
  if (tensors.empty())
    C10_THROW_ERROR(ValueError, "Tensor list must be nonempty");
  for (const at::Tensor &tensor : tensors) {
    if (!tensor.is_cuda() || tensor.is_sparse())
      C10_THROW_ERROR(ValueError, "Tensors must be CUDA and dense");
    if (tensor.scalar_type() != tensors.front().scalar_type())
      C10_THROW_ERROR(TypeError, "Tensors must have identical type");
    if (!tensor.is_non_overlapping_and_dense())
      C10_THROW_ERROR(ValueError, "Tensors must be non-overlapping and dense");
    TORCH_CHECK_WITH(ValueError, tensor.device() == tensors.front().device(),
                     "Expected list of tensors on the same device");
  }
}

void checkType(const at::Tensor &tensor) {
  switch (tensor.scalar_type()) {
  case at::kChar:
  case at::kByte:
  case at::kFloat:
  case at::kDouble:
  case at::kInt:
  case at::kLong:
  case at::kHalf:
  case at::kBool:
  case at::kBFloat16:
  case at::kFloat8_e5m2:
  case at::kFloat8_e4m3fn:
  case at::kFloat8_e4m3fnuz:
  case at::kFloat8_e5m2fnuz:
    return;
  default:
    C10_THROW_ERROR(TypeError,
                    c10::str("Input tensor data type is not supported for NCCL process group: ",
                             tensor.scalar_type()));
  }
}

std::int64_t numelOf(const std::vector<at::Tensor> &tensors) {
  std::int64_t total = 0;
  for (const at::Tensor &tensor : tensors)
    total += tensor.numel();
  return total;
}

at::Tensor hostBytes(std::size_t bytes) {
  return hostValues(static_cast<std::int64_t>(bytes), at::kByte);
}

at::Tensor bytesOf(const at::Tensor &tensor) {
  if (!tensor.defined())
    return hostBytes(0);
  at::Tensor bytes = hostBytes(tensor.nbytes());
  if (tensor.numel() > 0)
    std::memcpy(bytes.mutable_data_ptr(), dataOf(tensor), tensor.nbytes());
  return bytes;
}

at::Tensor bytesOf(const std::vector<at::Tensor> &tensors) {
  std::size_t total = 0;
  for (const at::Tensor &tensor : tensors)
    total += tensor.defined() ? tensor.nbytes() : 0;
  at::Tensor bytes = hostBytes(total);
  auto *next = static_cast<std::byte *>(bytes.mutable_data_ptr());
  for (const at::Tensor &tensor : tensors)
    if (tensor.defined() && tensor.numel() > 0) {
      std::memcpy(next, dataOf(tensor), tensor.nbytes());
      next += tensor.nbytes();
    }
  return bytes;
}

std::size_t deliverBytes(const at::Tensor &tensor, const at::Tensor &bytes, std::size_t offset) {
  if (!tensor.defined() || tensor.numel() == 0)
    return offset;
  TORCH_CHECK(offset + tensor.nbytes() <= bytes.nbytes(), "a collective delivered ",
              bytes.nbytes() - offset, " bytes for a tensor of ", tensor.nbytes());
  std::memcpy(dataOf(tensor), static_cast<const std::byte *>(bytes.const_data_ptr()) + offset,
              tensor.nbytes());
  return offset + tensor.nbytes();
}

HostReduction prepareReduction(const at::Tensor &tensor, const c10d::ReduceOp &op, int size) {
  checkType(tensor);
  checkOperator(tensor, op);
  OwnArithmetic own;
  at::ScalarType type = tensor.scalar_type();
  HostReduction reduction;
  reduction.op = op;
  reduction.values = hostValues(tensor.numel(), type == at::kBool ? at::kByte : type);
  if (tensor.numel() > 0)
    std::memcpy(reduction.values.mutable_data_ptr(), dataOf(tensor), tensor.nbytes());
  if (type == at::kBool && op.op_ == c10d::ReduceOp::SUM)
    reduction.op = c10d::ReduceOp::MAX;
  if (op.op_ == c10d::ReduceOp::PREMUL_SUM) {
    reduction.op = c10d::ReduceOp::SUM;
    reduction.values.mul_(factorOf(op));
  }
  if (op.op_ == c10d::ReduceOp::AVG) {
    reduction.op = c10d::ReduceOp::SUM;
    // As NCCL: floating-point values are scaled before the sum, integers divided after it.
    if (at::isFloatingType(type))
      reduction.values.div_(size);
    else
      reduction.divide_after = size;
  }
  return reduction;
}

void HostReduction::complete() {
  if (divide_after == 1)
    return;
  OwnArithmetic own;
  values.div_(divide_after, "trunc");
}

} // namespace devsan::sim
