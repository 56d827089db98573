// cuDNN's CTC loss, where PyTorch would take it: it wants 32-bit labels and lengths, and blanks
// first. It computes the gradient together with the loss.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_ctc_loss_backward.h>
#include <ATen/ops/ones_like.h>
#include <c10/util/irange.h>

#include "runtime/sim/dispatch/checked_kernel.h"
#include "runtime/sim/operators/deterministic.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

constexpr int64_t kMaxLabels = 256; // cuDNN's limit per target

bool takesTypes(const Tensor &log_probs, const Tensor &targets, int64_t blank) {
  return at::globalContext().userEnabledCuDNN() && blank == 0 && targets.dim() == 1 &&
         log_probs.dim() == 3 && log_probs.scalar_type() == at::kFloat &&
         targets.scalar_type() == at::kInt && log_probs.is_cuda() && targets.is_contiguous();
}

bool takesLengths(IntArrayRef input_lengths, IntArrayRef target_lengths) {
  for (const auto i : c10::irange(target_lengths.size()))
    if (i >= input_lengths.size() || target_lengths[i] >= kMaxLabels ||
        target_lengths[i] > input_lengths[i])
      return false;
  return true;
}

Tensor onHost(const Tensor &lengths) {
  // NOLINTNEXTLINE(device-host-sync): as in ATen, the lengths decide
  return lengths.to(c10::Device(c10::kCPU), at::kLong).contiguous();
}

IntArrayRef values(const Tensor &host) {
  return {host.data_ptr<int64_t>(), static_cast<std::size_t>(host.numel())};
}

bool use(const Tensor &log_probs, const Tensor &targets, IntArrayRef input_lengths,
         IntArrayRef target_lengths, int64_t blank) {
  if (!takesTypes(log_probs, targets, blank) || !targets.is_cpu())
    return false;
  for (int64_t length : input_lengths)
    if (length != log_probs.size(0))
      return false;
  return takesLengths(input_lengths, target_lengths);
}

bool useTensor(const Tensor &log_probs, const Tensor &targets, const Tensor &input_lengths,
               const Tensor &target_lengths, int64_t blank) {
  if (!takesTypes(log_probs, targets, blank) || input_lengths.scalar_type() != at::kInt ||
      target_lengths.scalar_type() != at::kInt)
    return false;
  Tensor inputs = onHost(input_lengths), labels = onHost(target_lengths);
  return takesLengths(values(inputs), values(labels));
}

bool useMiopen(const Tensor &, const Tensor &, IntArrayRef, IntArrayRef, int64_t) {
  return false;
}

bool useMiopenTensor(const Tensor &, const Tensor &, const Tensor &, const Tensor &, int64_t) {
  return false;
}

std::tuple<Tensor, Tensor> loss(const Tensor &log_probs, const Tensor &targets,
                                IntArrayRef input_lengths, IntArrayRef target_lengths,
                                int64_t blank, bool, bool) {
  TORCH_CHECK(blank == 0, "blank must be label 0 for cudnn_ctc_loss");
  TORCH_CHECK(static_cast<int64_t>(input_lengths.size()) == log_probs.size(1),
              "input_lengths needs to have size to match batch_size");
  TORCH_CHECK(static_cast<int64_t>(target_lengths.size()) == log_probs.size(1),
              "target_lengths needs to have size to match batch_size");
  Tensor labels = targets.to(log_probs.device());
  OneKernelScope deterministic; // ATen's own gradient is not
  auto [costs, log_alpha] =
      at::_ctc_loss(log_probs, labels, input_lengths, target_lengths, blank, false);
  Tensor grad = at::_ctc_loss_backward(at::ones_like(costs), log_probs, labels, input_lengths,
                                       target_lengths, costs, log_alpha, blank, false);
  return {costs, grad};
}

std::tuple<Tensor, Tensor> lossTensor(const Tensor &log_probs, const Tensor &targets,
                                      const Tensor &input_lengths, const Tensor &target_lengths,
                                      int64_t blank, bool deterministic, bool zero_infinity) {
  Tensor inputs = onHost(input_lengths), labels = onHost(target_lengths);
  return loss(log_probs, targets, values(inputs), values(labels), blank, deterministic,
              zero_infinity);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("_use_cudnn_ctc_loss", TORCH_FN(use));
  m.impl("_use_cudnn_ctc_loss.Tensor", TORCH_FN(useTensor));
  m.impl("_use_miopen_ctc_loss", TORCH_FN(useMiopen));
  m.impl("_use_miopen_ctc_loss.Tensor", TORCH_FN(useMiopenTensor));
  m.impl("_cudnn_ctc_loss", TORCH_FN(loss));
  m.impl("_cudnn_ctc_loss.Tensor", TORCH_FN(lossTensor));
}

} // namespace devsan::sim
