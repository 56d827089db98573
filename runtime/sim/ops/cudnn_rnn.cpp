// cuDNN's recurrent layers: what nn.RNN, nn.LSTM and nn.GRU run on a GPU. The layers are computed
// one by one with the CPU's own recurrent operators; what cuDNN keeps in its reserve are here the
// dropout masks between layers. The backward pass runs the layers again under autograd on the CPU
// aliases. A program sees cuDNN's rules: weights in one buffer, contiguous hidden states, a
// backward pass in training alone.
#include <numeric>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <ATen/native/RNN.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/irange.h>
#include <torch/csrc/autograd/autograd.h>

#include "operands.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/dispatch/checked_kernel.h"
#include "runtime/sim/dispatch/tensor_alias.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::Tensor;
using at::TensorList;
using c10::SymInt;

enum Mode : int64_t { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };

// The sizes and switches that every entry point is called with.
struct Layers {
  int64_t mode;
  int64_t count;
  int64_t weights_each; // per layer and direction
  double dropout;
  bool train;
  bool bidirectional;

  int64_t directions() const { return bidirectional ? 2 : 1; }
  bool hasBiases() const { return weights_each >= 4; }
  bool drops() const { return train && dropout > 0 && count > 1; }
};

Tensor definedOrNone(const OptionalTensor &tensor) {
  return tensor ? *tensor : Tensor();
}

// cuDNN keeps all matrices before all biases.
std::vector<std::size_t> bufferOrder(std::size_t count, int64_t weights_each) {
  std::vector<std::size_t> order;
  auto add = [&](bool biases) {
    for (std::size_t i = 0; i < count; ++i) {
      auto place = static_cast<int64_t>(i) % weights_each;
      bool is_bias = weights_each >= 4 && (place == 2 || place == 3);
      if (is_bias == biases)
        order.push_back(i);
    }
  };
  add(false);
  add(true);
  return order;
}

Tensor makeBuffer(TensorList weights, int64_t weights_each) {
  std::vector<Tensor> parts;
  for (std::size_t i : bufferOrder(weights.size(), weights_each))
    parts.push_back(weights[i].detach().reshape({-1}));
  return at::cat(parts);
}

// The buffer that the weights are views of; undefined where they are not.
Tensor findBuffer(TensorList weights, int64_t weights_each) {
  const Tensor &first = weights[0];
  int64_t offset = 0;
  for (std::size_t i : bufferOrder(weights.size(), weights_each)) {
    const Tensor &weight = weights[i];
    if (!weight.is_alias_of(first) || weight.storage_offset() != offset || !weight.is_contiguous())
      return {};
    offset += weight.numel();
  }
  return at::empty({0}, first.options()).set_(first.storage(), 0, {offset}, {1});
}

Tensor flattenWeight(TensorList weights, int64_t weights_each, SymInt, int64_t, SymInt, SymInt,
                     int64_t, bool, bool) {
  TORCH_CHECK(!weights.empty(), "_cudnn_rnn_flatten_weight_: cannot flatten empty weight list");
  for (const Tensor &weight : weights)
    TORCH_CHECK(weight.scalar_type() == weights[0].scalar_type(),
                "_cudnn_rnn_flatten_weight_: expected all weights to have the same dtype");
  Tensor buffer = makeBuffer(weights, weights_each);
  int64_t offset = 0;
  for (std::size_t i : bufferOrder(weights.size(), weights_each)) {
    const Tensor &weight = weights[i];
    int64_t size = weight.numel();
    weight.set_(buffer.narrow(0, offset, size).view(weight.sizes()));
    offset += size;
  }
  return buffer;
}

struct Operands {
  Tensor input, batch_sizes, hx, cx; // batch_sizes: packed sequences alone
  std::vector<Tensor> weights;
};

struct Results {
  Tensor output, hy, cy;
};

// One layer, in both directions, of CPU tensors.
Results runLayer(const Layers &layers, const Operands &operands, const Tensor &input,
                 int64_t layer) {
  int64_t states = layers.directions();
  Tensor hx = operands.hx.narrow(0, layer * states, states);
  auto weights_of_layer = static_cast<std::size_t>(layers.weights_each * states);
  TensorList weights(operands.weights.data() + static_cast<std::size_t>(layer) * weights_of_layer,
                     weights_of_layer);
  const bool packed = operands.batch_sizes.defined(), biases = layers.hasBiases(),
             both = layers.bidirectional;
  const Tensor &sizes = operands.batch_sizes;
  auto one = [](std::tuple<Tensor, Tensor> results) {
    return Results{std::get<0>(results), std::get<1>(results), Tensor()};
  };
  switch (layers.mode) {
  case kLstm: {
    std::vector<Tensor> states_in{hx, operands.cx.narrow(0, layer * states, states)};
    auto [output, hy, cy] =
        packed ? at::lstm(input, sizes, states_in, weights, biases, 1, 0.0, false, both)
               : at::lstm(input, states_in, weights, biases, 1, 0.0, false, both, false);
    return {output, hy, cy};
  }
  case kGru:
    return one(packed ? at::gru(input, sizes, hx, weights, biases, 1, 0.0, false, both)
                      : at::gru(input, hx, weights, biases, 1, 0.0, false, both, false));
  case kTanh:
    return one(packed ? at::rnn_tanh(input, sizes, hx, weights, biases, 1, 0.0, false, both)
                      : at::rnn_tanh(input, hx, weights, biases, 1, 0.0, false, both, false));
  case kRelu:
    return one(packed ? at::rnn_relu(input, sizes, hx, weights, biases, 1, 0.0, false, both)
                      : at::rnn_relu(input, hx, weights, biases, 1, 0.0, false, both, false));
  default:
    TORCH_CHECK(false, "unrecognized cuDNN RNN mode ", layers.mode);
  }
}

Results runLayers(const Layers &layers, const Operands &operands, TensorList masks) {
  Results all;
  std::vector<Tensor> hy, cy;
  all.output = operands.input;
  for (const auto layer : c10::irange(layers.count)) {
    Results results = runLayer(layers, operands, all.output, layer);
    all.output = results.output;
    hy.push_back(results.hy);
    if (results.cy.defined())
      cy.push_back(results.cy);
    if (layers.drops() && layer + 1 < layers.count)
      all.output = all.output * masks[static_cast<std::size_t>(layer)];
  }
  all.hy = at::cat(hy);
  if (!cy.empty())
    all.cy = at::cat(cy);
  return all;
}

void checkStates(const Tensor &hx, const Tensor &cx, const Layers &layers, int64_t batch) {
  TORCH_CHECK(hx.is_contiguous(), "rnn: hx is not contiguous");
  TORCH_CHECK(!cx.defined() || cx.is_contiguous(), "rnn: cx is not contiguous");
  TORCH_CHECK(layers.mode == kLstm || !cx.defined(), "rnn: illegal defined cx for non-LSTM RNN");
  std::vector<int64_t> expected{layers.count * layers.directions(), batch, hx.size(-1)};
  TORCH_CHECK(hx.sizes() == expected, "Expected hidden size ", at::IntArrayRef(expected), ", got ",
              hx.sizes());
}

// batch_first concerns sequences that are not packed.
Tensor sequenceFirst(const Tensor &tensor, bool batch_first, bool packed) {
  return batch_first && !packed ? tensor.transpose(0, 1) : tensor;
}

std::vector<int64_t> concrete(c10::SymIntArrayRef sizes) {
  std::vector<int64_t> values;
  for (const SymInt &size : sizes)
    values.push_back(size.guard_int(__FILE__, __LINE__));
  return values;
}

// One mask per layer but the last, in the shape of a layer's output; 1/(1-p) or 0.
Tensor drawMasks(const Layers &layers, const Tensor &input, const Tensor &hx) {
  if (!layers.drops())
    return at::empty({0}, input.options());
  std::vector<int64_t> shape = input.sizes().vec();
  shape.back() = hx.size(-1) * layers.directions();
  shape.insert(shape.begin(), layers.count - 1);
  Tensor masks = at::empty(shape, input.options());
  const double kept = 1 - layers.dropout;
  masks.bernoulli_(kept);
  return kept > 0 ? masks.div_(kept) : masks;
}

Operands onCpu(Translation &translation, const Tensor &input, TensorList weights, const Tensor &hx,
               const Tensor &cx, const std::vector<int64_t> &batch_sizes) {
  Operands operands;
  operands.input = translation.toCpu(input);
  operands.hx = translation.toCpu(hx);
  operands.cx = translation.toCpu(cx);
  for (const Tensor &weight : weights)
    operands.weights.push_back(translation.toCpu(weight));
  if (!batch_sizes.empty())
    operands.batch_sizes = at::tensor(batch_sizes, at::kLong);
  return operands;
}

std::vector<Tensor> eachMask(const Layers &layers, const Tensor &masks) {
  return layers.drops() ? masks.unbind(0) : std::vector<Tensor>();
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>
rnn(const Tensor &input, TensorList weights, int64_t weights_each,
    const OptionalTensor &weight_buffer, const Tensor &hx, const OptionalTensor &optional_cx,
    int64_t mode, SymInt, SymInt, int64_t num_layers, bool batch_first, double dropout, bool train,
    bool bidirectional, c10::SymIntArrayRef sym_batch_sizes, const OptionalTensor &) {
  Layers layers{mode, num_layers, weights_each, dropout, train, bidirectional};
  Tensor cx = definedOrNone(optional_cx), buffer = definedOrNone(weight_buffer);
  std::vector<int64_t> batch_sizes = concrete(sym_batch_sizes);
  const bool packed = !batch_sizes.empty();
  at::native::check_attributes(input, weights, {hx, cx}, /*check_dtype=*/true);
  Tensor sequence = sequenceFirst(input, batch_first, packed).contiguous();
  checkStates(hx, cx, layers, packed ? batch_sizes[0] : sequence.size(1));
  if (!buffer.defined()) {
    buffer = makeBuffer(weights, weights_each);
    TORCH_WARN("RNN module weights are not part of single contiguous chunk of memory. This means "
               "they need to be compacted at every call, possibly greatly increasing memory usage. "
               "To compact weights again call flatten_parameters().");
  }
  Tensor masks = drawMasks(layers, sequence, hx);

  Translation translation(input.device());
  Operands operands = onCpu(translation, sequence, weights, hx, cx, batch_sizes);
  std::vector<Tensor> host_masks = eachMask(layers, translation.toCpu(masks));
  CurrentDeviceScope current(input.get_device());
  KernelScope kernel(input.get_device());
  Results results = runLayers(layers, operands, host_masks);
  auto toDevice = [&](Tensor tensor) { return translation.toDevice(std::move(tensor)); };
  Tensor output = toDevice(results.output.contiguous());
  results.output.reset();
  Tensor cy = results.cy.defined() ? toDevice(std::move(results.cy)) : at::empty({0}, hx.options());
  return {sequenceFirst(output, batch_first, packed), toDevice(std::move(results.hy)), cy,
          masks.reshape({-1}).view(at::kByte), buffer};
}

// Lets autograd record inside a kernel, and casts nothing there.
class RecordingScope {
public:
  RecordingScope() : keys_(recording()), grad_mode_(true) {}

private:
  static c10::impl::LocalDispatchKeySet recording() {
    auto keys = c10::impl::tls_local_dispatch_key_set();
    keys.included_ = c10::default_included_set;
    keys.excluded_ = c10::default_excluded_set | c10::autocast_dispatch_keyset;
    return keys;
  }
  c10::impl::ForceDispatchKeyGuard keys_;
  at::AutoGradMode grad_mode_;
};

Tensor orZeros(const OptionalTensor &grad, const Tensor &like) {
  return has(grad) ? grad->contiguous() : at::zeros(like.sizes(), like.options());
}

std::vector<Tensor> differentiate(const Layers &layers, Operands operands, TensorList masks,
                                  const std::vector<Tensor> &grads) {
  RecordingScope recording;
  std::vector<Tensor> leaves;
  auto leaf = [&](Tensor &tensor) {
    tensor = tensor.detach().requires_grad_();
    leaves.push_back(tensor);
  };
  leaf(operands.input);
  leaf(operands.hx);
  if (operands.cx.defined())
    leaf(operands.cx);
  for (Tensor &weight : operands.weights)
    leaf(weight);
  Results results = runLayers(layers, operands, masks);
  std::vector<Tensor> outputs{results.output, results.hy};
  if (results.cy.defined())
    outputs.push_back(results.cy);
  return torch::autograd::grad(outputs, leaves, grads);
}

std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>>
rnnBackward(const Tensor &input, TensorList weights, int64_t weights_each, const Tensor &,
            const Tensor &hx, const OptionalTensor &optional_cx, const Tensor &output,
            const OptionalTensor &grad_output, const OptionalTensor &grad_hy,
            const OptionalTensor &grad_cy, int64_t mode, SymInt, SymInt, int64_t num_layers,
            bool batch_first, double dropout, bool train, bool bidirectional,
            c10::SymIntArrayRef sym_batch_sizes, const OptionalTensor &, const Tensor &reserve,
            std::array<bool, 4> wanted) {
  if (!has(grad_output) && !has(grad_hy) && !has(grad_cy))
    return {Tensor(), Tensor(), Tensor(), std::vector<Tensor>(weights.size())};
  TORCH_CHECK(train, "cudnn RNN backward can only be called in training mode");
  Layers layers{mode, num_layers, weights_each, dropout, train, bidirectional};
  Tensor cx = definedOrNone(optional_cx);
  std::vector<int64_t> batch_sizes = concrete(sym_batch_sizes);
  const bool packed = !batch_sizes.empty();
  Tensor sequence = sequenceFirst(input, batch_first, packed).contiguous();
  std::vector<int64_t> mask_shape = sequenceFirst(output, batch_first, packed).sizes().vec();
  mask_shape.insert(mask_shape.begin(), num_layers - 1);
  Tensor masks = layers.drops() ? reserve.view(input.scalar_type()).view(mask_shape) : Tensor();

  Translation translation(input.device());
  Operands operands = onCpu(translation, sequence, weights, hx, cx, batch_sizes);
  std::vector<Tensor> host_masks = eachMask(layers, translation.toCpu(masks));
  std::vector<Tensor> grads{
      translation.toCpu(sequenceFirst(orZeros(grad_output, output), batch_first, packed)),
      translation.toCpu(orZeros(grad_hy, hx))};
  if (cx.defined())
    grads.push_back(translation.toCpu(orZeros(grad_cy, cx)));

  CurrentDeviceScope current(input.get_device());
  KernelScope kernel(input.get_device());
  std::vector<Tensor> found = differentiate(layers, std::move(operands), host_masks, grads);
  auto toDevice = [&](std::size_t i) {
    Tensor grad = found[i].detach().contiguous();
    found[i].reset();
    return translation.toDevice(std::move(grad));
  };
  const std::size_t first_weight = cx.defined() ? 3 : 2;
  std::vector<Tensor> grad_weights;
  if (wanted[3])
    for (const auto i : c10::irange(weights.size()))
      grad_weights.push_back(toDevice(first_weight + i));
  return {sequenceFirst(toDevice(0), batch_first, packed), toDevice(1),
          cx.defined() ? toDevice(2) : Tensor(), std::move(grad_weights)};
}

// The masks are drawn from the device's own generator, so the state is a name only.
Tensor initDropoutState(double, bool, int64_t, std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout> layout, std::optional<at::Device> device,
                        std::optional<bool> pin_memory) {
  return at::empty({0}, dtype, layout, device, pin_memory, std::nullopt);
}

// Everything is cast to the lower precision, and the cast weights get a buffer of their own.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>
rnnUnderAutocast(const Tensor &input, TensorList weights, int64_t weights_each,
                 const OptionalTensor &, const Tensor &hx, const OptionalTensor &cx, int64_t mode,
                 SymInt hidden_size, SymInt proj_size, int64_t num_layers, bool batch_first,
                 double dropout, bool train, bool bidirectional, c10::SymIntArrayRef batch_sizes,
                 const OptionalTensor &dropout_state) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCUDA);
  const auto dtype = at::autocast::get_autocast_dtype(c10::kCUDA);
  auto cast = [&](const Tensor &tensor) {
    return at::autocast::cached_cast(dtype, tensor, c10::kCUDA);
  };
  std::vector<Tensor> lower;
  for (const Tensor &weight : weights)
    lower.push_back(cast(weight));
  OptionalTensor lower_cx;
  if (has(cx))
    lower_cx = cast(*cx);
  return at::_cudnn_rnn_symint(cast(input), lower, weights_each, makeBuffer(lower, weights_each),
                               cast(hx), lower_cx, mode, hidden_size, proj_size, num_layers,
                               batch_first, dropout, train, bidirectional, batch_sizes,
                               dropout_state);
}

// What at::lstm and its kin call for a device tensor that cuDNN accepts.
std::tuple<Tensor, Tensor, Tensor> callRnn(Mode mode, const Tensor &input, const Tensor &hx,
                                           const Tensor &cx, TensorList params, bool has_biases,
                                           int64_t num_layers, double dropout, bool train,
                                           bool bidirectional, bool batch_first,
                                           const Tensor &batch_sizes) {
  SymInt hidden_size = hx.sym_size(2), proj_size = 0;
  int64_t weights_each = has_biases ? 4 : 2;
  if (cx.defined() && cx.sym_size(2) != hx.sym_size(2)) {
    hidden_size = cx.sym_size(2);
    proj_size = hx.sym_size(2);
    ++weights_each;
  }
  std::vector<SymInt> sizes;
  if (batch_sizes.defined()) {
    TORCH_CHECK(batch_sizes.dim() == 1, "batch_sizes tensor should be 1D");
    TORCH_CHECK(batch_sizes.is_cpu(), "batch_sizes tensor should be on CPU, but got ",
                batch_sizes.device());
    const auto *values = batch_sizes.data_ptr<int64_t>();
    sizes.assign(values, values + batch_sizes.size(0));
  }
  auto results = at::_cudnn_rnn_symint(
      input, params, weights_each, findBuffer(params, weights_each), hx,
      cx.defined() ? OptionalTensor(cx) : std::nullopt, mode, hidden_size, proj_size, num_layers,
      batch_first, dropout, train, bidirectional, sizes, std::nullopt);
  return {std::get<0>(results), std::get<1>(results), std::get<2>(results)};
}

void lstm(Tensor &output, Tensor &hy, Tensor &cy, const Tensor &input, TensorList hx,
          TensorList params, bool has_biases, int64_t num_layers, double dropout, bool train,
          bool bidirectional, bool batch_first) {
  std::tie(output, hy, cy) = callRnn(kLstm, input, hx[0], hx[1], params, has_biases, num_layers,
                                     dropout, train, bidirectional, batch_first, Tensor());
}

void lstmPacked(Tensor &output, Tensor &hy, Tensor &cy, const Tensor &data,
                const Tensor &batch_sizes, TensorList hx, TensorList params, bool has_biases,
                int64_t num_layers, double dropout, bool train, bool bidirectional) {
  std::tie(output, hy, cy) = callRnn(kLstm, data, hx[0], hx[1], params, has_biases, num_layers,
                                     dropout, train, bidirectional, false, batch_sizes);
}

template <Mode mode>
void plain(Tensor &output, Tensor &hy, const Tensor &input, const Tensor &hx, TensorList params,
           bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional,
           bool batch_first) {
  std::tie(output, hy, std::ignore) =
      callRnn(mode, input, hx, Tensor(), params, has_biases, num_layers, dropout, train,
              bidirectional, batch_first, Tensor());
}

template <Mode mode>
void packed(Tensor &output, Tensor &hy, const Tensor &data, const Tensor &batch_sizes,
            const Tensor &hx, TensorList params, bool has_biases, int64_t num_layers,
            double dropout, bool train, bool bidirectional) {
  std::tie(output, hy, std::ignore) =
      callRnn(mode, data, hx, Tensor(), params, has_biases, num_layers, dropout, train,
              bidirectional, false, batch_sizes);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("_cudnn_rnn_flatten_weight", TORCH_FN(flattenWeight));
  m.impl("_cudnn_rnn", TORCH_FN(rnn));
  m.impl("_cudnn_rnn_backward", TORCH_FN(rnnBackward));
  m.impl("_cudnn_init_dropout_state", TORCH_FN(initDropoutState));
}

DEVSAN_SIM_LIBRARY_IMPL(aten, AutocastCUDA, m) {
  m.impl("_cudnn_rnn", TORCH_FN(rnnUnderAutocast));
}

} // namespace devsan::sim

namespace at::native {
REGISTER_CUDA_DISPATCH(lstm_cudnn_stub, &devsan::sim::lstm)
REGISTER_CUDA_DISPATCH(lstm_packed_cudnn_stub, &devsan::sim::lstmPacked)
REGISTER_CUDA_DISPATCH(gru_cudnn_stub, &devsan::sim::plain<devsan::sim::kGru>)
REGISTER_CUDA_DISPATCH(gru_packed_cudnn_stub, &devsan::sim::packed<devsan::sim::kGru>)
REGISTER_CUDA_DISPATCH(rnn_tanh_cudnn_stub, &devsan::sim::plain<devsan::sim::kTanh>)
REGISTER_CUDA_DISPATCH(rnn_tanh_packed_cudnn_stub, &devsan::sim::packed<devsan::sim::kTanh>)
REGISTER_CUDA_DISPATCH(rnn_relu_cudnn_stub, &devsan::sim::plain<devsan::sim::kRelu>)
REGISTER_CUDA_DISPATCH(rnn_relu_packed_cudnn_stub, &devsan::sim::packed<devsan::sim::kRelu>)
} // namespace at::native
