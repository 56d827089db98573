// The functions that LibTorch's CUDA library has for several devices in one process, and a CPU
// build lacks: torch::cuda::scatter and kin, and the autograd functions Scatter and Gather that
// torch::nn::parallel::data_parallel is made of. Linked by programs (DevSan::cuda_api), not
// preloaded: an executable cannot be linked with these symbols missing.
//
// Device-independent: copies go through ATen. Requirements and errors are those of LibTorch.
#include <torch/csrc/autograd/functions/comm.h>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/functions/utils.h>

namespace torch::cuda {

using tensor_list2d = std::vector<std::vector<at::Tensor>>;

namespace {

using Streams = std::optional<std::vector<std::optional<at::cuda::CUDAStream>>>;

at::Device cudaDevice(int64_t index) {
  return {at::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

// Makes the caller's stream for the i-th device current, if there is one.
void enterStream(std::optional<c10::cuda::CUDAStreamGuard> &guard, const Streams &streams,
                 std::size_t i, int64_t device) {
  if (!streams || i >= streams->size() || !(*streams)[i])
    return;
  const at::cuda::CUDAStream &stream = *(*streams)[i];
  TORCH_CHECK(stream.device_index() == device,
              "Expected the device associated with the stream at index ", i, " (was ",
              static_cast<int>(stream.device_index()),
              ") to match the device supplied at that index (expected ", device, ")");
  guard.emplace(stream.unwrap());
}

void checkOutputOnCuda(const at::Tensor &tensor, std::size_t index) {
  TORCH_CHECK(tensor.is_cuda(),
              "Expected all output tensors to be CUDA tensors, but output tensor at index ", index,
              " has device '", tensor.device(), "'");
}

at::Tensor copyTo(const at::Tensor &tensor, int64_t device) {
  TORCH_CHECK(device >= 0, "Expected non-negative device index, but got ", device);
  return tensor.to(cudaDevice(device), tensor.scalar_type(), /*non_blocking=*/true, /*copy=*/false,
                   at::MemoryFormat::Preserve);
}

std::vector<int64_t> gatheredSizes(at::TensorList tensors, int64_t &dim) {
  TORCH_CHECK(!tensors.empty(), "Expected at least one tensor to gather from");
  dim = c10::maybe_wrap_dim(dim, tensors.front().dim());
  std::vector<int64_t> sizes = tensors.front().sizes().vec();
  int64_t total = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor &tensor = tensors[i];
    TORCH_CHECK(tensor.is_cuda(),
                "Expected all input tensors to be CUDA tensors, but tensor at index ", i,
                " has device '", tensor.device(), "'");
    TORCH_CHECK(tensor.dim() == static_cast<int64_t>(sizes.size()),
                "Expected all input tensors to have the same number of dimensions, but tensor at "
                "index ",
                i, "has ", tensor.dim(), " dimensions, (expected ", sizes.size(), ")");
    sizes[dim] = tensor.size(dim);
    TORCH_CHECK(tensor.sizes() == at::IntArrayRef(sizes), "Input tensor at index ", i,
                " has invalid shape ", tensor.sizes(), ", but expected ", at::IntArrayRef(sizes));
    total += tensor.size(dim);
  }
  sizes[dim] = total;
  return sizes;
}

void copyParts(at::TensorList tensors, at::Tensor &whole, int64_t dim) {
  int64_t offset = 0;
  for (const at::Tensor &tensor : tensors) {
    whole.narrow(dim, offset, tensor.size(dim)).copy_(tensor, /*non_blocking=*/whole.is_cuda());
    offset += tensor.size(dim);
  }
}

} // namespace

std::vector<at::Tensor> &broadcast_out(const at::Tensor &tensor, std::vector<at::Tensor> &outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    checkOutputOnCuda(outputs[i], i);
    TORCH_CHECK(outputs[i].sizes() == tensor.sizes(),
                "Expected all output tensors to have same shape as the source tensor ",
                tensor.sizes(), ", but output tensor at index ", i, " has shape ",
                outputs[i].sizes());
  }
  for (at::Tensor &output : outputs)
    output.copy_(tensor, /*non_blocking=*/true);
  return outputs;
}

std::vector<at::Tensor> broadcast(const at::Tensor &tensor, at::IntArrayRef devices) {
  std::vector<at::Tensor> copies;
  for (int64_t device : devices)
    copies.push_back(copyTo(tensor, device));
  return copies;
}

tensor_list2d broadcast_coalesced(at::TensorList tensors, at::IntArrayRef devices, size_t) {
  for (const at::Tensor &tensor : tensors)
    TORCH_CHECK(tensor.get_device() == devices[0],
                "All tensors must be on devices[0]: ", devices[0]);
  tensor_list2d copies{tensors.vec()};
  for (int64_t device : devices.slice(1)) {
    copies.emplace_back();
    for (const at::Tensor &tensor : tensors)
      copies.back().push_back(copyTo(tensor.detach(), device));
  }
  return copies;
}

std::vector<at::Tensor> scatter(const at::Tensor &tensor, at::IntArrayRef devices,
                                const std::optional<std::vector<int64_t>> &chunk_sizes, int64_t dim,
                                const Streams &streams) {
  TORCH_CHECK(!devices.empty(), "Expected at least one device to scatter to");
  TORCH_CHECK(!chunk_sizes || chunk_sizes->size() == devices.size(),
              "Expected devices and chunk_sizes to be of same length, but got len(devices) = ",
              devices.size(), " and len(chunk_sizes) = ", chunk_sizes ? chunk_sizes->size() : 0);
  dim = c10::maybe_wrap_dim(dim, tensor.dim());
  std::vector<at::Tensor> parts = chunk_sizes
                                      ? tensor.split_with_sizes(*chunk_sizes, dim)
                                      : tensor.chunk(static_cast<int64_t>(devices.size()), dim);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (devices[i] == tensor.get_device())
      continue;
    std::optional<c10::cuda::CUDAStreamGuard> on_stream;
    enterStream(on_stream, streams, i, devices[i]);
    parts[i] = copyTo(parts[i], devices[i]);
  }
  return parts;
}

std::vector<at::Tensor> &scatter_out(const at::Tensor &tensor, std::vector<at::Tensor> &outputs,
                                     int64_t dim, const Streams &streams) {
  TORCH_CHECK(!outputs.empty(), "Expected at least one output tensor to scatter to");
  dim = c10::maybe_wrap_dim(dim, tensor.dim());
  std::vector<int64_t> part_sizes;
  int64_t total = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    checkOutputOnCuda(outputs[i], i);
    std::vector<int64_t> sizes = outputs[i].sizes().vec();
    bool same = outputs[i].dim() == tensor.dim();
    if (same) {
      part_sizes.push_back(sizes[dim]);
      total += sizes[dim];
      sizes[dim] = tensor.size(dim);
      same = tensor.sizes() == at::IntArrayRef(sizes);
    }
    TORCH_CHECK(same, "Output tensor at index ", i, " has incorrect shape: ", outputs[i].sizes(),
                ". Expected same shape except for scatter dim ", dim,
                " as the source tensor: ", tensor.sizes());
  }
  TORCH_CHECK(total == tensor.size(dim), "Total size for output tensors along scatter dim ", dim,
              " does not match the source tensor size at dim ", dim, ". Expected ",
              tensor.size(dim), ", but got total size ", total);
  auto parts = tensor.split_with_sizes(part_sizes, dim);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::optional<c10::cuda::CUDAStreamGuard> on_stream;
    enterStream(on_stream, streams, i, outputs[i].get_device());
    outputs[i].copy_(parts[i], /*non_blocking=*/true);
  }
  return outputs;
}

at::Tensor &gather_out(at::TensorList tensors, at::Tensor &output, int64_t dim) {
  std::vector<int64_t> sizes = gatheredSizes(tensors, dim);
  TORCH_CHECK(output.sizes() == at::IntArrayRef(sizes), "Expected out tensor to have shape ",
              at::IntArrayRef(sizes), ", but got ", output.sizes());
  copyParts(tensors, output, dim);
  return output;
}

at::Tensor gather(at::TensorList tensors, int64_t dim, std::optional<int32_t> destination) {
  std::vector<int64_t> sizes = gatheredSizes(tensors, dim);
  at::Device device(at::kCPU);
  if (!destination || *destination != -1)
    device = cudaDevice(destination ? *destination : c10::cuda::current_device());
  at::MemoryFormat format = tensors.front().suggest_memory_format();
  for (const at::Tensor &tensor : tensors)
    if (tensor.suggest_memory_format() != format)
      format = at::MemoryFormat::Contiguous;
  at::Tensor whole = at::empty(sizes, tensors.front().options().device(device), format);
  copyParts(tensors, whole, dim);
  return whole;
}

} // namespace torch::cuda

namespace torch::autograd {

Scatter::Scatter(std::vector<at::Device> devices, std::optional<std::vector<int64_t>> chunk_sizes,
                 int64_t dim,
                 std::optional<std::vector<std::optional<at::cuda::CUDAStream>>> streams,
                 bool unsqueeze_scalars)
    : devices_(std::move(devices)), chunk_sizes_(std::move(chunk_sizes)), dim_(dim),
      streams_(std::move(streams)), unsqueeze_scalars_(unsqueeze_scalars) {}
Scatter::~Scatter() = default;

variable_list Scatter::apply(variable_list &&inputs) {
  TORCH_INTERNAL_ASSERT(inputs.size() == 1);
  const Variable &input = inputs.front();
  c10::intrusive_ptr<Node> backward;
  if (compute_requires_grad(input)) {
    backward = c10::make_intrusive<Gather>(input.device(), dim_);
    backward->set_next_edges(collect_next_edges(input));
  }
  std::vector<int64_t> indices;
  for (const at::Device &device : devices_)
    indices.push_back(device.index());
  variable_list outputs;
  {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    for (at::Tensor &part : torch::cuda::scatter(input, indices, chunk_sizes_, dim_, streams_))
      outputs.push_back(unsqueeze_scalars_ ? part.select(0, 0) : std::move(part));
  }
  if (backward)
    set_history(outputs, backward);
  return outputs;
}

Gather::Gather(const at::Device &destination_device, int64_t dim)
    : destination_device_(destination_device), dim_(dim) {}
Gather::~Gather() = default;

variable_list Gather::apply(variable_list &&inputs) {
  bool scalars = true;
  for (const Variable &input : inputs) {
    TORCH_CHECK(input.is_cuda(), "All inputs to Gather must be CUDA tensors, got ",
                input.toString());
    scalars &= input.dim() == 0;
  }
  const bool unsqueeze = scalars && dim_ == 0;
  if (unsqueeze)
    TORCH_WARN("Was asked to gather along dimension 0, but all input tensors were scalars; will "
               "instead unsqueeze and return a vector.");
  c10::intrusive_ptr<Node> backward;
  if (compute_requires_grad(inputs)) {
    std::vector<at::Device> sources;
    std::vector<int64_t> sizes;
    for (const Variable &input : inputs) {
      sources.push_back(input.device());
      sizes.push_back(unsqueeze ? 1 : input.size(dim_));
    }
    backward = c10::make_intrusive<Scatter>(std::move(sources), std::move(sizes), dim_,
                                            std::nullopt, unsqueeze);
    backward->set_next_edges(collect_next_edges(inputs));
  }
  Variable whole;
  {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    std::vector<at::Tensor> parts;
    for (const Variable &input : inputs)
      parts.push_back(unsqueeze ? input.view({1}) : input);
    whole = torch::cuda::gather(parts, dim_,
                                destination_device_.is_cpu() ? -1 : destination_device_.index());
  }
  if (backward)
    set_history(whole, backward);
  return {whole};
}

} // namespace torch::autograd
