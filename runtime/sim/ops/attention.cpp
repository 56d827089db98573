// The fused attention kernels of GPUs: flash, memory-efficient and cuDNN. Without dropout they are
// the CPU's flash attention; else scores, softmax and product one after the other, in float for
// half precision. Outputs, strides and saved tensors are each kernel's own. The random state that
// is saved for the backward pass is a seed, from which the dropout mask is drawn again.
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/Utils.h>
#include <c10/util/irange.h>

#include "operands.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/devices/generators.h"
#include "runtime/sim/dispatch/checked_kernel.h"
#include "runtime/sim/dispatch/tensor_alias.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::Tensor;
using c10::SymInt;

// Which keys a query sees. Without a window the bounds are those of the sequence.
struct Masking {
  enum Causal { kNone, kFromTopLeft, kFromBottomRight } causal = kNone;
  int64_t left = -1, right = -1; // window around the diagonal, -1: unbounded
  Tensor bias;                   // added to the scores

  bool windowed() const { return left >= 0 || right >= 0; }
};

struct Settings {
  Masking masking;
  double dropout = 0;
  double scale = 1;
  std::uint64_t seed = 0;
};

double scaleOr(std::optional<double> scale, const Tensor &query) {
  return scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
}

// Advances the device's generator, as CUDA's kernels advance it before they start.
std::uint64_t drawSeed(c10::Device device, double dropout) {
  if (dropout <= 0)
    return 0;
  at::Generator generator = cpuGenerator(defaultGenerator(device.index()), device);
  auto *engine = at::check_generator<at::CPUGeneratorImpl>(generator);
  std::lock_guard lock(engine->mutex_);
  return engine->random64() >> 1; // fits the signed seeds that some kernels save
}

// Queries, keys and values are CPU tensors [batch, heads, length, size] from here on; the number of
// heads of the queries is a multiple of that of the keys.
Tensor repeatHeads(const Tensor &tensor, int64_t heads) {
  return tensor.size(1) == heads ? tensor : tensor.repeat_interleave(heads / tensor.size(1), 1);
}

Tensor sumRepeatedHeads(const Tensor &grad, int64_t heads) {
  return grad.size(1) == heads ? grad : grad.unflatten(1, {heads, -1}).sum(2);
}

Tensor hiddenKeys(const Masking &masking, int64_t queries, int64_t keys) {
  const bool from_end = masking.causal == Masking::kFromBottomRight || masking.windowed();
  Tensor distance =
      at::arange(keys) - (at::arange(queries).unsqueeze(1) + (from_end ? keys - queries : 0));
  Tensor hidden = at::zeros({queries, keys}, at::kBool);
  if (masking.causal != Masking::kNone)
    hidden = hidden.logical_or(distance.gt(0));
  if (masking.right >= 0)
    hidden = hidden.logical_or(distance.gt(masking.right));
  if (masking.left >= 0)
    hidden = hidden.logical_or(distance.lt(-masking.left));
  return hidden;
}

Tensor dropoutFactors(const Tensor &like, const Settings &settings) {
  auto generator = at::detail::createCPUGenerator(settings.seed);
  Tensor kept = at::empty_like(like).bernoulli_(1 - settings.dropout, generator);
  return kept.div_(1 - settings.dropout);
}

struct Softmax {
  Tensor probabilities, logsumexp;
};

at::ScalarType computeType(const Tensor &query) {
  return query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

Softmax softmax(const Tensor &query, const Tensor &key, const Settings &settings) {
  Tensor scores = at::matmul(query * settings.scale, key.transpose(-2, -1));
  const Masking &masking = settings.masking;
  if (masking.bias.defined())
    scores = scores + (masking.bias.scalar_type() == at::kBool
                           ? at::zeros_like(masking.bias, scores.options())
                                 .masked_fill_(masking.bias.logical_not(),
                                               -std::numeric_limits<double>::infinity())
                           : masking.bias);
  if (masking.causal != Masking::kNone || masking.windowed())
    // NOLINTNEXTLINE(device-missing-device): all are CPU tensors here
    scores.masked_fill_(hiddenKeys(masking, query.size(2), key.size(2)),
                        -std::numeric_limits<double>::infinity());
  Tensor logsumexp = at::logsumexp(scores, {-1}, true);
  // A query that sees no key has no weights rather than NaN.
  Tensor probabilities = (scores - logsumexp).exp_().masked_fill_(logsumexp.isinf(), 0);
  return {probabilities, logsumexp.squeeze(-1)};
}

bool fitsFlashKernel(const Tensor &query, const Tensor &key, const Tensor &value,
                     const Settings &settings) {
  const Masking &masking = settings.masking;
  return settings.dropout == 0 && !masking.windowed() && query.numel() > 0 && key.numel() > 0 &&
         query.size(-1) == value.size(-1) &&
         (masking.causal != Masking::kFromBottomRight || query.size(2) == key.size(2)) &&
         (!masking.bias.defined() || masking.bias.scalar_type() == query.scalar_type());
}

bool isCausal(const Settings &settings) {
  return settings.masking.causal != Masking::kNone;
}

OptionalTensor biasOf(const Settings &settings) {
  return settings.masking.bias.defined() ? OptionalTensor(settings.masking.bias) : std::nullopt;
}

// In memory [batch, length, heads, size].
Tensor byPosition(const Tensor &heads) {
  return heads.transpose(1, 2).contiguous().transpose(1, 2);
}

struct Attention {
  Tensor output;    // in memory as the query, or by position
  Tensor logsumexp; // [batch, heads, length], float
};

Attention attend(const Tensor &query, const Tensor &few_keys, const Tensor &few_values,
                 const Settings &settings) {
  Tensor key = repeatHeads(few_keys, query.size(1)), value = repeatHeads(few_values, query.size(1));
  if (fitsFlashKernel(query, key, value, settings)) {
    auto [output, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, isCausal(settings), biasOf(settings), settings.scale);
    return {output, logsumexp.contiguous()};
  }
  const auto type = computeType(query);
  auto [probabilities, logsumexp] = softmax(query.to(type), key.to(type), settings);
  if (settings.dropout > 0)
    probabilities = probabilities * dropoutFactors(probabilities, settings);
  Tensor output = at::matmul(probabilities, value.to(type)).to(query.scalar_type());
  return {byPosition(output), logsumexp.to(at::kFloat)};
}

struct Gradients {
  Tensor query, key, value, bias;
};

Gradients attendBackward(const Tensor &grad_out, const Tensor &query, const Tensor &few_keys,
                         const Tensor &few_values, const Tensor &output, const Tensor &logsumexp,
                         const Settings &settings, bool wants_bias) {
  Tensor key = repeatHeads(few_keys, query.size(1)), value = repeatHeads(few_values, query.size(1));
  Gradients grads;
  if (!wants_bias && logsumexp.defined() && fitsFlashKernel(query, key, value, settings)) {
    Tensor by_row = logsumexp.transpose(1, 2).contiguous().transpose(1, 2);
    std::tie(grads.query, grads.key, grads.value) =
        at::_scaled_dot_product_flash_attention_for_cpu_backward(
            grad_out, query, key, value, output, by_row, 0.0, isCausal(settings), biasOf(settings),
            settings.scale);
  } else {
    const auto type = computeType(query);
    Tensor q = query.to(type), k = key.to(type), v = value.to(type), grad = grad_out.to(type);
    Tensor probabilities = softmax(q, k, settings).probabilities;
    Tensor weights = probabilities, grad_weights = at::matmul(grad, v.transpose(-2, -1));
    if (settings.dropout > 0) {
      Tensor factors = dropoutFactors(probabilities, settings);
      weights = probabilities * factors;
      grad_weights = grad_weights * factors;
    }
    grads.value = at::matmul(weights.transpose(-2, -1), grad);
    Tensor grad_scores =
        probabilities * (grad_weights - (grad_weights * probabilities).sum(-1, true));
    grads.query = at::matmul(grad_scores, k) * settings.scale;
    grads.key = at::matmul(grad_scores.transpose(-2, -1), q) * settings.scale;
    if (wants_bias)
      grads.bias = grad_scores.to(settings.masking.bias.scalar_type());
  }
  auto finish = [&](const Tensor &gradient, const Tensor &like) {
    return byPosition(sumRepeatedHeads(gradient, like.size(1)).to(like.scalar_type()));
  };
  grads.query = finish(grads.query, query);
  grads.key = finish(grads.key, few_keys);
  grads.value = finish(grads.value, few_values);
  return grads;
}

// Device tensors to CPU aliases and back, around one of the two functions above.
class OnDevice {
public:
  explicit OnDevice(const Tensor &query)
      : translation_(query.device()), current_(query.get_device()), kernel_(query.get_device()) {}
  Tensor toCpu(const Tensor &tensor) { return translation_.toCpu(tensor); }
  Tensor toCpu(const OptionalTensor &tensor) { return has(tensor) ? toCpu(*tensor) : Tensor(); }
  Tensor toDevice(Tensor &tensor) { return translation_.toDevice(std::exchange(tensor, Tensor())); }

private:
  Translation translation_;
  CurrentDeviceScope current_;
  KernelScope kernel_;
};

Attention attendOnDevice(const Tensor &query, const Tensor &key, const Tensor &value,
                         Settings settings) {
  OnDevice device(query);
  settings.masking.bias = device.toCpu(settings.masking.bias);
  Attention result = attend(device.toCpu(query), device.toCpu(key), device.toCpu(value), settings);
  return {device.toDevice(result.output), device.toDevice(result.logsumexp)};
}

Gradients attendBackwardOnDevice(const Tensor &grad_out, const Tensor &query, const Tensor &key,
                                 const Tensor &value, const Tensor &output, const Tensor &logsumexp,
                                 Settings settings, bool wants_bias) {
  OnDevice device(query);
  settings.masking.bias = device.toCpu(settings.masking.bias);
  Gradients grads = attendBackward(device.toCpu(grad_out), device.toCpu(query), device.toCpu(key),
                                   device.toCpu(value), device.toCpu(output),
                                   device.toCpu(logsumexp), settings, wants_bias);
  return {device.toDevice(grads.query), device.toDevice(grads.key), device.toDevice(grads.value),
          wants_bias ? device.toDevice(grads.bias) : Tensor()};
}

std::uint64_t readSeed(const Tensor &saved) {
  if (!saved.defined() || saved.numel() == 0)
    return 0;
  Tensor host = saved.is_cuda() ? cpuAlias(saved) : saved;
  return static_cast<std::uint64_t>(*static_cast<const std::int64_t *>(host.const_data_ptr()));
}

Tensor deviceSeed(const Tensor &query, std::uint64_t seed, at::IntArrayRef shape) {
  return at::full(shape, static_cast<int64_t>(seed), query.options().dtype(at::kLong));
}

// Flash ---------------------------------------------------------------------------------------

Tensor flashRandomState(const Tensor &query, std::uint64_t seed) {
  return deviceSeed(query, seed, {2}).view(at::kUInt64);
}

Tensor unusedState(const Tensor &query) {
  return at::empty({}, query.options().dtype(at::kUInt64));
}

Settings causalSettings(bool is_causal, double dropout, double scale, std::uint64_t seed) {
  Settings settings;
  settings.masking.causal = is_causal ? Masking::kFromTopLeft : Masking::kNone;
  settings.dropout = dropout;
  settings.scale = scale;
  settings.seed = seed;
  return settings;
}

using FlashResult =
    std::tuple<Tensor, Tensor, Tensor, Tensor, SymInt, SymInt, Tensor, Tensor, Tensor>;

FlashResult flash(const Tensor &query, const Tensor &key, const Tensor &value, double dropout,
                  bool is_causal, bool, std::optional<double> scale) {
  std::uint64_t seed = drawSeed(query.device(), dropout);
  Attention result = attendOnDevice(
      query, key, value, causalSettings(is_causal, dropout, scaleOr(scale, query), seed));
  return {result.output,
          result.logsumexp,
          Tensor(),
          Tensor(),
          query.size(2),
          key.size(2),
          flashRandomState(query, seed),
          unusedState(query),
          at::empty({0}, query.options())};
}

std::tuple<Tensor, Tensor, Tensor> flashBackward(const Tensor &grad_out, const Tensor &query,
                                                 const Tensor &key, const Tensor &value,
                                                 const Tensor &out, const Tensor &logsumexp,
                                                 const Tensor &, const Tensor &, SymInt, SymInt,
                                                 double dropout, bool is_causal, const Tensor &seed,
                                                 const Tensor &, std::optional<double> scale) {
  if (!grad_out.defined())
    return {};
  Gradients grads = attendBackwardOnDevice(
      grad_out, query, key, value, out, logsumexp,
      causalSettings(is_causal, dropout, scaleOr(scale, query), readSeed(seed)), false);
  return {grads.query, grads.key, grads.value};
}

// Memory-efficient ----------------------------------------------------------------------------

constexpr int64_t kRowAlignment = 32; // of the saved sums, per head

Tensor paddedSums(const Tensor &logsumexp) {
  int64_t length = logsumexp.size(-1);
  int64_t aligned = (length + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  return at::constant_pad_nd(logsumexp, {0, aligned - length},
                             std::numeric_limits<double>::infinity());
}

// In eager mode they are on the CPU.
Tensor hostSeed(std::uint64_t seed) {
  return at::full({}, static_cast<int64_t>(seed), at::TensorOptions().dtype(at::kLong));
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
efficient(const Tensor &query, const Tensor &key, const Tensor &value, const OptionalTensor &bias,
          bool compute_logsumexp, double dropout, bool is_causal, std::optional<double> scale) {
  std::uint64_t seed = drawSeed(query.device(), dropout);
  Settings settings = causalSettings(is_causal, dropout, scaleOr(scale, query), seed);
  if (has(bias))
    settings.masking.bias = *bias;
  Attention result = attendOnDevice(query, key, value, settings);
  Tensor sums = compute_logsumexp
                    ? paddedSums(result.logsumexp)
                    : at::empty({query.size(0), query.size(1), 0}, result.logsumexp.options());
  return {byPosition(result.output), sums, hostSeed(seed), hostSeed(0)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
efficientBackward(const Tensor &grad_out, const Tensor &query, const Tensor &key,
                  const Tensor &value, const Tensor &bias, const Tensor &out,
                  const Tensor &logsumexp, const Tensor &seed, const Tensor &, double dropout,
                  std::array<bool, 4> wanted, bool is_causal, std::optional<double> scale) {
  if (!grad_out.defined())
    return {};
  Settings settings = causalSettings(is_causal, dropout, scaleOr(scale, query), readSeed(seed));
  settings.masking.bias = bias;
  // A forward pass that only a bias needs a gradient of saves no sums.
  const bool has_sums = logsumexp.size(-1) >= query.size(2);
  Gradients grads =
      attendBackwardOnDevice(grad_out, query, key, value, out,
                             has_sums ? logsumexp.narrow(-1, 0, query.size(2)) : Tensor(), settings,
                             wanted[3] && bias.defined());
  return {grads.query, grads.key, grads.value, grads.bias};
}

// cuDNN ---------------------------------------------------------------------------------------

FlashResult cudnn(const Tensor &query, const Tensor &key, const Tensor &value,
                  const OptionalTensor &bias, bool compute_logsumexp, double dropout,
                  bool is_causal, bool, std::optional<double> scale) {
  std::uint64_t seed = drawSeed(query.device(), dropout);
  Settings settings = causalSettings(is_causal, dropout, scaleOr(scale, query), seed);
  if (has(bias))
    settings.masking.bias = *bias;
  Attention result = attendOnDevice(query, key, value, settings);
  return {result.output,
          compute_logsumexp ? result.logsumexp.unsqueeze(-1) : Tensor(),
          Tensor(),
          Tensor(),
          query.size(2),
          key.size(2),
          deviceSeed(query, seed, {}),
          deviceSeed(query, 0, {}),
          Tensor()};
}

std::tuple<Tensor, Tensor, Tensor>
cudnnBackward(const Tensor &grad_out, const Tensor &query, const Tensor &key, const Tensor &value,
              const Tensor &out, const Tensor &logsumexp, const Tensor &seed, const Tensor &,
              const Tensor &bias, const Tensor &, const Tensor &, SymInt, SymInt, double dropout,
              bool is_causal, std::optional<double> scale) {
  if (!grad_out.defined())
    return {};
  Settings settings = causalSettings(is_causal, dropout, scaleOr(scale, query), readSeed(seed));
  settings.masking.bias = bias;
  Gradients grads = attendBackwardOnDevice(grad_out, query, key, value, out, logsumexp.squeeze(-1),
                                           settings, false);
  return {grads.query, grads.key, grads.value};
}

// The kernels below take [batch, length, heads, size], or sequences of several lengths one after
// the other with their bounds.

std::vector<int64_t> boundsOf(const Tensor &cumulative) {
  Tensor host = cpuAlias(cumulative).to(at::kLong);
  const auto *values = host.data_ptr<int64_t>();
  return {values, values + host.numel()};
}

struct Sequences {
  std::vector<int64_t> queries, keys; // bounds

  std::size_t count() const { return queries.size() - 1; }
  static Tensor slice(const Tensor &packed, const std::vector<int64_t> &bounds, std::size_t i) {
    return packed.narrow(-3, bounds[i], bounds[i + 1] - bounds[i]);
  }
};

Tensor asBatch(const Tensor &sequence) { // to [batch, heads, length, size]
  return (sequence.dim() == 3 ? sequence.unsqueeze(0) : sequence).transpose(1, 2);
}

Settings ofSequence(Settings settings, std::size_t i) {
  settings.seed += i;
  return settings;
}

std::vector<Attention> attendEach(const Tensor &query, const Tensor &key, const Tensor &value,
                                  const Sequences &sequences, const Settings &settings) {
  std::vector<Attention> results;
  for (const auto i : c10::irange(sequences.count()))
    results.push_back(attendOnDevice(asBatch(Sequences::slice(query, sequences.queries, i)),
                                     asBatch(Sequences::slice(key, sequences.keys, i)),
                                     asBatch(Sequences::slice(value, sequences.keys, i)),
                                     ofSequence(settings, i)));
  return results;
}

Tensor joinOutputs(const std::vector<Attention> &results, const Tensor &query) {
  std::vector<Tensor> outputs;
  for (const Attention &result : results)
    outputs.push_back(result.output.transpose(1, 2));
  Tensor joined = at::cat(outputs, 1);
  return query.dim() == 3 ? joined.squeeze(0) : joined;
}

struct SplitGradients {
  Tensor query, key, value;
};

SplitGradients attendEachBackward(const Tensor &grad_out, const Tensor &query, const Tensor &key,
                                  const Tensor &value, const Tensor &out,
                                  const Sequences &sequences, const Settings &settings) {
  SplitGradients joined{at::empty_like(query), at::empty_like(key), at::empty_like(value)};
  for (const auto i : c10::irange(sequences.count())) {
    auto query_part = [&](const Tensor &tensor) {
      return Sequences::slice(tensor, sequences.queries, i);
    };
    auto key_part = [&](const Tensor &tensor) {
      return Sequences::slice(tensor, sequences.keys, i);
    };
    Gradients grads =
        attendBackwardOnDevice(asBatch(query_part(grad_out)), asBatch(query_part(query)),
                               asBatch(key_part(key)), asBatch(key_part(value)),
                               asBatch(query_part(out)), Tensor(), ofSequence(settings, i), false);
    auto store = [](const Tensor &to, const Tensor &grad) {
      Tensor sequence = grad.transpose(1, 2);
      to.copy_(to.dim() == 3 ? sequence.squeeze(0) : sequence);
    };
    store(query_part(joined.query), grads.query);
    store(key_part(joined.key), grads.key);
    store(key_part(joined.value), grads.value);
  }
  return joined;
}

int64_t orUnbounded(const std::optional<SymInt> &window) {
  return window ? window->guard_int(__FILE__, __LINE__) : -1;
}

Settings flashSettings(bool is_causal, double dropout, double scale, std::uint64_t seed,
                       const std::optional<SymInt> &left, const std::optional<SymInt> &right) {
  Settings settings = causalSettings(is_causal, dropout, scale, seed);
  if (is_causal)
    settings.masking.causal = Masking::kFromBottomRight;
  settings.masking.left = orUnbounded(left);
  settings.masking.right = orUnbounded(right);
  return settings;
}

using FlashForward = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

// NOLINTBEGIN(performance-unnecessary-value-param): the schema passes the window's sides so
FlashForward flashForward(const Tensor &query, const Tensor &key, const Tensor &value,
                          const OptionalTensor &query_bounds, const OptionalTensor &key_bounds,
                          SymInt, SymInt, double dropout, bool is_causal, bool,
                          std::optional<double> scale, std::optional<SymInt> left,
                          std::optional<SymInt> right, const OptionalTensor &used_keys,
                          const OptionalTensor &alibi, const OptionalTensor &block_table,
                          std::optional<int64_t>) {
  TORCH_CHECK_NOT_IMPLEMENTED(!has(used_keys) && !has(alibi) && !has(block_table),
                              "not simulated: aten::_flash_attention_forward with seqused_k, "
                              "alibi_slopes or block_table; run it on a real GPU");
  std::uint64_t seed = drawSeed(query.device(), dropout);
  Settings settings = flashSettings(is_causal, dropout, scaleOr(scale, query), seed, left, right);
  Tensor output, sums;
  if (has(query_bounds)) {
    std::vector<Attention> results =
        attendEach(query, key, value, {boundsOf(*query_bounds), boundsOf(*key_bounds)}, settings);
    std::vector<Tensor> rows;
    for (const Attention &result : results)
      rows.push_back(result.logsumexp.squeeze(0));
    output = joinOutputs(results, query);
    sums = at::cat(rows, 1);
  } else {
    Attention result = attendOnDevice(asBatch(query), asBatch(key), asBatch(value), settings);
    output = result.output.transpose(1, 2);
    sums = result.logsumexp;
  }
  return {output, sums, flashRandomState(query, seed), unusedState(query),
          at::empty({0}, query.options())};
}

std::tuple<Tensor, Tensor, Tensor>
flashBackwardOfForward(const Tensor &grad_out, const Tensor &query, const Tensor &key,
                       const Tensor &value, const Tensor &out, const Tensor &logsumexp,
                       const Tensor &query_bounds, const Tensor &key_bounds, SymInt, SymInt,
                       double dropout, bool is_causal, const Tensor &seed, const Tensor &,
                       std::optional<double> scale, std::optional<SymInt> left,
                       std::optional<SymInt> right) {
  if (!grad_out.defined())
    return {};
  Settings settings =
      flashSettings(is_causal, dropout, scaleOr(scale, query), readSeed(seed), left, right);
  if (query_bounds.defined()) {
    SplitGradients grads = attendEachBackward(
        grad_out, query, key, value, out, {boundsOf(query_bounds), boundsOf(key_bounds)}, settings);
    return {grads.query, grads.key, grads.value};
  }
  Gradients grads =
      attendBackwardOnDevice(asBatch(grad_out), asBatch(query), asBatch(key), asBatch(value),
                             asBatch(out), logsumexp, settings, false);
  return {grads.query.transpose(1, 2), grads.key.transpose(1, 2), grads.value.transpose(1, 2)};
}
// NOLINTEND(performance-unnecessary-value-param)

Settings efficientSettings(int64_t mask_type, const OptionalTensor &bias, double dropout,
                           double scale, std::uint64_t seed, std::optional<int64_t> window) {
  Settings settings = causalSettings(false, dropout, scale, seed);
  settings.masking.causal = static_cast<Masking::Causal>(mask_type);
  if (has(bias))
    settings.masking.bias = *bias;
  if (window.value_or(0) > 0)
    settings.masking.left = *window - 1;
  return settings;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, SymInt, SymInt>
efficientForward(const Tensor &query, const Tensor &key, const Tensor &value,
                 const OptionalTensor &bias, const OptionalTensor &query_bounds,
                 const OptionalTensor &key_bounds, std::optional<SymInt> max_queries,
                 std::optional<SymInt> max_keys, double dropout, int64_t mask_type,
                 bool compute_logsumexp, std::optional<double> scale,
                 const OptionalTensor &used_keys, std::optional<int64_t> window) {
  TORCH_CHECK_NOT_IMPLEMENTED(!has(used_keys),
                              "not simulated: aten::_efficient_attention_forward with seqlen_k; "
                              "run it on a real GPU");
  std::uint64_t seed = drawSeed(query.device(), dropout);
  Settings settings =
      efficientSettings(mask_type, bias, dropout, scaleOr(scale, query), seed, window);
  Tensor output, sums;
  if (has(query_bounds)) {
    std::vector<Attention> results =
        attendEach(query, key, value, {boundsOf(*query_bounds), boundsOf(*key_bounds)}, settings);
    output = joinOutputs(results, query);
    std::vector<Tensor> rows;
    int64_t longest = max_queries ? max_queries->guard_int(__FILE__, __LINE__) : query.size(1);
    for (const Attention &result : results)
      rows.push_back(
          paddedSums(at::constant_pad_nd(result.logsumexp, {0, longest - result.logsumexp.size(-1)},
                                         std::numeric_limits<double>::infinity())));
    sums = at::cat(rows, 0);
  } else {
    Attention result = attendOnDevice(asBatch(query), asBatch(key), asBatch(value), settings);
    output = result.output.transpose(1, 2).contiguous();
    sums = paddedSums(result.logsumexp);
  }
  if (!compute_logsumexp)
    sums = sums.narrow(-1, 0, 0).contiguous();
  return {output,
          sums,
          hostSeed(seed),
          hostSeed(0),
          max_queries.value_or(query.size(1)),
          std::move(max_keys).value_or(key.size(1))};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficientBackwardOfForward(
    const Tensor &grad_out, const Tensor &query, const Tensor &key, const Tensor &value,
    const OptionalTensor &bias, const Tensor &out, const OptionalTensor &query_bounds,
    const OptionalTensor &key_bounds, SymInt, SymInt, const Tensor &, double dropout,
    const Tensor &seed, const Tensor &, int64_t mask_type, bool bias_requires_grad,
    std::optional<double> scale, std::optional<int64_t>, std::optional<int64_t> window, bool) {
  if (!grad_out.defined())
    return {};
  Settings settings =
      efficientSettings(mask_type, bias, dropout, scaleOr(scale, query), readSeed(seed), window);
  if (has(query_bounds)) {
    SplitGradients grads =
        attendEachBackward(grad_out, query, key, value, out,
                           {boundsOf(*query_bounds), boundsOf(*key_bounds)}, settings);
    return {grads.query, grads.key, grads.value, Tensor()};
  }
  Gradients grads =
      attendBackwardOnDevice(asBatch(grad_out), asBatch(query), asBatch(key), asBatch(value),
                             asBatch(out), Tensor(), settings, bias_requires_grad && has(bias));
  return {grads.query.transpose(1, 2), grads.key.transpose(1, 2), grads.value.transpose(1, 2),
          grads.bias};
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("_scaled_dot_product_flash_attention", checked<&flash>());
  m.impl("_scaled_dot_product_flash_attention_backward", checked<&flashBackward>());
  m.impl("_scaled_dot_product_efficient_attention", checked<&efficient>());
  m.impl("_scaled_dot_product_efficient_attention_backward", TORCH_FN(efficientBackward));
  m.impl("_scaled_dot_product_cudnn_attention", checked<&cudnn>());
  m.impl("_scaled_dot_product_cudnn_attention_backward", checked<&cudnnBackward>());
  m.impl("_flash_attention_forward", checked<&flashForward>());
  m.impl("_flash_attention_backward", checked<&flashBackwardOfForward>());
  m.impl("_efficient_attention_forward", checked<&efficientForward>());
  m.impl("_efficient_attention_backward", TORCH_FN(efficientBackwardOfForward));
}

} // namespace devsan::sim
