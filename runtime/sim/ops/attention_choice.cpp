// Which attention kernel scaled_dot_product_attention takes for device tensors: CUDA's rules for a
// device of compute capability 8.0, including what it says when no enabled kernel fits. Also asked
// from Python (devsan/sim/libraries.py) through the operator devsan_sim::can_use_attention.
#include <array>

#include <ATen/Context.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <torch/library.h>

namespace devsan::sim {
namespace {

using sdp::sdp_params;
using sdp::SDPBackend;
using Check = bool (*)(const sdp_params &, bool);

bool passes(std::initializer_list<Check> checks, const sdp_params &params, bool debug) {
  for (Check check : checks)
    if (!check(params, debug))
      return false;
  return true;
}

bool onDevice(const sdp_params &params, bool debug) {
  if (params.query.is_cuda())
    return true;
  if (debug)
    TORCH_WARN(
        "All tensors need to be on cuda device. Got query on device: ", params.query.device(),
        ", key on device: ", params.key.device(), ", value on device: ", params.value.device());
  return false;
}

bool halfPrecision(const sdp_params &params, bool debug) {
  return sdp::check_tensor_dtype(params, std::array{at::kHalf, at::kBFloat16}, debug);
}

bool flashHeadSize(const sdp_params &params, bool debug) {
  auto query = params.query.sym_size(-1), key = params.key.sym_size(-1),
       value = params.value.sym_size(-1);
  if (query == key && query == value && query <= 256)
    return true;
  if (debug)
    TORCH_WARN("Flash attention requires q,k,v to have the same last dimension and to be less than "
               "or equal to 256. Got Query.size(-1): ",
               query, ", Key.size(-1): ", key, ", Value.size(-1): ", value, " instead.");
  return false;
}

bool flashCausalSquare(const sdp_params &params, bool debug) {
  if (!params.is_causal || params.query.is_nested() || params.key.is_nested())
    return true;
  auto query = params.query.sym_size(-2), key = params.key.sym_size(-2);
  if (query == key)
    return true;
  if (debug)
    TORCH_WARN("Flash attention does not support the is_causal flag when seqlen_q != seqlen_k. Got "
               "seqlen_q: ",
               query, " seqlen_k: ", key,
               ". If you would like to use causal attention with non-square masks, please see "
               "CausalAttnMask.");
  return false;
}

bool efficientHeadSize(const sdp_params &params, bool debug) {
  const int64_t alignment = params.query.scalar_type() == at::kFloat ? 4 : 8;
  auto query = params.query.sym_size(-1), key = params.key.sym_size(-1),
       value = params.value.sym_size(-1);
  if (query == key && query > 0 && value > 0 && query % alignment == 0 && value % alignment == 0)
    return true;
  if (debug)
    TORCH_WARN("Mem efficient attention requires last dimension of inputs to be divisible by ",
               alignment, ". Got Query.size(-1): ", query, ", Key.size(-1): ", key,
               ", Value.size(-1): ", value, " instead.");
  return false;
}

bool cudnnEnabled(const sdp_params &, bool debug) {
  if (at::globalContext().userEnabledCuDNNSDP())
    return true;
  if (debug)
    TORCH_WARN("cuDNN attention has been runtime disabled.");
  return false;
}

bool cudnnNotNested(const sdp_params &params, bool debug) {
  if (!params.query.is_nested())
    return true;
  if (debug)
    TORCH_WARN("Experimental cuDNN SDPA nested tensor support is not enabled.");
  return false;
}

bool cudnnDeterministic(const sdp_params &, bool debug) {
  const auto &context = at::globalContext();
  if (!context.deterministicAlgorithms() || context.deterministicAlgorithmsWarnOnly())
    return true;
  if (debug)
    TORCH_WARN("cuDNN SDPA is not deterministic.");
  return false;
}

bool cudnnDropout(const sdp_params &params, bool debug) {
  double sixteenths = params.dropout * 16;
  if (sixteenths == static_cast<double>(static_cast<int64_t>(sixteenths)))
    return true;
  if (debug)
    TORCH_WARN("cuDNN dropout probability resolution is limited to 1/16.Use a dropout probability "
               "that is a multiple of 1/16 to select the cuDNN backend");
  return false;
}

bool cudnnShapes(const sdp_params &params, bool debug) {
  auto query = params.query.sym_size(-1), value = params.value.sym_size(-1);
  const char *reason = nullptr;
  if (query > 128 || value > 128)
    reason = "head_dim should be no more than 128";
  else if (query % 8 != 0 || value % 8 != 0)
    reason = "head_dim should be a multiple of 8";
  else if (params.key.sym_size(2) == 1)
    reason = "cudnn SDPA does not support key/value sequence length 1.";
  else if (params.dropout != 0.0 && params.query.sym_size(2) == 1)
    reason = "cudnn SDPA does not support query sequence length 1 with dropout.";
  if (reason && debug)
    TORCH_WARN(reason);
  return reason == nullptr;
}

bool canUseFlash(const sdp_params &params, bool debug) {
  if (!passes({sdp::check_runtime_disabled_flash, onDevice, sdp::check_tensor_shapes,
               sdp::check_for_attn_mask, flashHeadSize, flashCausalSquare, halfPrecision},
              params, debug))
    return false;
  return !sdp::has_only_dense_inputs(params) ||
         passes({sdp::check_batch_size_and_num_heads_dense<true>,
                 sdp::check_nonzero_sequence_lengths_dense,
                 sdp::check_last_dim_stride_equals_1_dense<true>},
                params, debug);
}

// Releases whose memory-efficient kernel takes fewer heads of keys than of queries tell the check
// of a single one, too.
template <bool groups>
concept EfficientTakesGroups =
    requires { &sdp::check_batch_size_and_num_heads_dense<groups, true, true>; };

bool canUseEfficient(const sdp_params &params, bool debug) {
  if (!passes({sdp::check_runtime_disabled_mem_efficient, onDevice, sdp::check_tensor_shapes,
               efficientHeadSize},
              params, debug))
    return false;
  if (sdp::has_only_dense_inputs(params) &&
      !passes({sdp::check_nonzero_sequence_lengths_dense,
               sdp::check_last_dim_stride_equals_1_dense<false>,
               sdp::check_batch_size_and_num_heads_dense<EfficientTakesGroups<true>>},
              params, debug))
    return false;
  return sdp::check_tensor_dtype(params, std::array{at::kHalf, at::kFloat, at::kBFloat16}, debug);
}

bool canUseCudnn(const sdp_params &params, bool debug) {
  if (!passes({cudnnEnabled, cudnnNotNested, onDevice, sdp::check_tensor_shapes, cudnnDeterministic,
               halfPrecision, sdp::check_attn_mask_shape, cudnnDropout},
              params, debug))
    return false;
  return !sdp::has_only_dense_inputs(params) ||
         passes({sdp::check_nonzero_sequence_lengths_dense,
                 sdp::check_last_dim_stride_equals_1_dense<true>,
                 sdp::check_batch_size_and_num_heads_dense<true, false>, cudnnShapes},
                params, debug);
}

bool canUse(SDPBackend backend, const sdp_params &params, bool debug) {
  switch (backend) {
  case SDPBackend::flash_attention:
    return canUseFlash(params, debug);
  case SDPBackend::efficient_attention:
    return canUseEfficient(params, debug);
  case SDPBackend::cudnn_attention:
    return canUseCudnn(params, debug);
  case SDPBackend::math:
    return at::globalContext().userEnabledMathSDP();
  default:
    return false;
  }
}

// Nested tensors of strided layout take the math kernel, which gives the same result: the fused
// ones are not simulated for them.
SDPBackend choose(const sdp_params &params) {
  if (sdp::has_for_nested_inputs(params) && at::globalContext().userEnabledMathSDP())
    return SDPBackend::math;
  for (SDPBackend backend : at::globalContext().sDPPriorityOrder())
    if (canUse(backend, params, false))
      return backend;
  TORCH_WARN("Memory efficient kernel not used because:");
  canUseEfficient(params, true);
  TORCH_WARN("Flash attention kernel not used because:");
  canUseFlash(params, true);
  TORCH_WARN("cuDNN attention kernel not used because:");
  canUseCudnn(params, true);
  TORCH_CHECK(false, "No available kernel. Aborting execution.");
}

int64_t chooseForDevice(const at::Tensor &query, const at::Tensor &key, const at::Tensor &value,
                        const std::optional<at::Tensor> &mask, double dropout, bool is_causal,
                        std::optional<double>, bool enable_gqa) {
  return static_cast<int64_t>(choose({query, key, value, mask, dropout, is_causal, enable_gqa}));
}

bool canUseAttention(const at::Tensor &query, const at::Tensor &key, const at::Tensor &value,
                     const std::optional<at::Tensor> &mask, double dropout, bool is_causal,
                     bool enable_gqa, int64_t backend, bool debug) {
  return canUse(static_cast<SDPBackend>(backend),
                {query, key, value, mask, dropout, is_causal, enable_gqa}, debug);
}

const bool operators_defined = [] {
  auto *library =
      new torch::Library(torch::Library::DEF, "devsan_sim", std::nullopt, __FILE__, __LINE__);
  library->def("can_use_attention(Tensor query, Tensor key, Tensor value, Tensor? mask, float "
               "dropout, bool is_causal, bool enable_gqa, int backend, bool debug) -> bool",
               &canUseAttention);
  auto *choice =
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  choice->impl("_fused_sdp_choice", &chooseForDevice);
  return true;
}();

} // namespace
} // namespace devsan::sim

namespace at::native {
REGISTER_CUDA_DISPATCH(_fused_sdp_choice_stub, &devsan::sim::chooseForDevice)
} // namespace at::native
