#include "metrics/distributed/gather_all_tensors.h"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "metrics/distributed/exchange.h"

namespace devsan::metrics {
namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

constexpr int64_t kMaxDims = 16;

// What a rank says about its tensor. A rank that cannot take part says so here, so that all ranks
// throw together.
enum class Status : int64_t { kReady, kUndefined, kNotStrided, kTooManyDims };

struct Shape {
  Status status = Status::kReady;
  int64_t device_type = 0;
  int64_t dtype = 0;
  int64_t requires_grad = 0;
  std::vector<int64_t> sizes;

  int64_t numel() const { return c10::multiply_integers(sizes); }

  std::vector<int64_t> header() const {
    std::vector<int64_t> header{static_cast<int64_t>(status), device_type, dtype, requires_grad,
                                static_cast<int64_t>(sizes.size())};
    header.insert(header.end(), sizes.begin(), sizes.end());
    header.resize(5 + kMaxDims);
    return header;
  }

  static Shape from_header(const std::vector<int64_t> &header) {
    return {static_cast<Status>(header[0]),
            header[1],
            header[2],
            header[3],
            {header.begin() + 5, header.begin() + 5 + header[4]}};
  }
};

Shape shape_of(const at::Tensor &own) {
  Shape shape;
  if (!own.defined()) {
    shape.status = Status::kUndefined;
    return shape;
  }
  shape.device_type = static_cast<int64_t>(own.device().type());
  shape.dtype = static_cast<int64_t>(own.scalar_type());
  shape.requires_grad = own.requires_grad() && at::GradMode::is_enabled();
  if (own.layout() != at::kStrided || own.is_quantized())
    shape.status = Status::kNotStrided;
  else if (own.dim() > kMaxDims)
    shape.status = Status::kTooManyDims;
  else
    shape.sizes = own.sizes().vec();
  return shape;
}

void check_ranks_agree(const std::vector<Shape> &shapes) {
  for (size_t rank = 0; rank < shapes.size(); ++rank) {
    const Shape &shape = shapes[rank];
    switch (shape.status) {
    case Status::kReady:
      break;
    case Status::kUndefined:
      TORCH_CHECK(false, "gather_all_tensors: rank ", rank,
                  " passes an undefined tensor; a rank without data passes one with a size of 0");
    case Status::kNotStrided:
      TORCH_CHECK(false, "gather_all_tensors: rank ", rank,
                  " passes a sparse or quantised tensor; pass a dense one");
    case Status::kTooManyDims:
      TORCH_CHECK(false, "gather_all_tensors: rank ", rank, " passes a tensor of more than ",
                  kMaxDims, " dimensions; flatten it first");
    }
    TORCH_CHECK(shape.dtype == shapes[0].dtype, "gather_all_tensors: rank ", rank, " passes ",
                static_cast<at::ScalarType>(shape.dtype), " but rank 0 ",
                static_cast<at::ScalarType>(shapes[0].dtype),
                "; convert to one dtype on all ranks");
    TORCH_CHECK(shape.device_type == shapes[0].device_type, "gather_all_tensors: rank ", rank,
                " passes a tensor on ", at::Device(static_cast<at::DeviceType>(shape.device_type)),
                " but rank 0 one on ",
                at::Device(static_cast<at::DeviceType>(shapes[0].device_type)),
                "; move them to one device type on all ranks");
  }
}

at::Tensor as_bytes(const at::Tensor &own) {
  at::Tensor flat = own.contiguous().view(-1);
  if (flat.is_conj() || flat.is_neg())
    flat = flat.resolve_conj().resolve_neg();
  return flat.view(at::kByte);
}

// The ranks' tensors without a graph; the own place is left undefined.
std::vector<at::Tensor> exchange_data(const at::Tensor &own, const std::vector<Shape> &shapes,
                                      const Group &group) {
  const at::NoGradGuard no_grad;
  const int own_rank = group->getRank();
  const int64_t element_size = own.element_size();
  std::vector<int64_t> bytes;
  for (const Shape &shape : shapes)
    bytes.push_back(shape.numel() * element_size);
  const int64_t longest = *std::max_element(bytes.begin(), bytes.end());
  const int64_t total = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  const bool padded = longest * static_cast<int64_t>(bytes.size()) <= 2 * total;

  std::vector<at::Tensor> slices(shapes.size());
  if (padded) {
    at::Tensor sent = as_bytes(own.detach());
    if (bytes[own_rank] < longest)
      sent = at::constant_pad_nd(sent, {0, longest - bytes[own_rank]});
    const at::Tensor received = all_gather_bytes(sent, group);
    for (size_t rank = 0; rank < shapes.size(); ++rank)
      slices[rank] = received[static_cast<int64_t>(rank)].narrow(0, 0, bytes[rank]);
  } else {
    for (size_t rank = 0; rank < shapes.size(); ++rank) {
      const bool is_own = static_cast<int>(rank) == own_rank;
      slices[rank] = is_own ? as_bytes(own.detach())
                            : at::empty({bytes[rank]}, own.options().dtype(at::kByte));
      if (bytes[rank] == 0)
        continue;
      c10d::BroadcastOptions options;
      options.rootRank = static_cast<int64_t>(rank);
      std::vector<at::Tensor> tensors{slices[rank]};
      group->broadcast(tensors, options)->wait();
      if (is_own)
        slices[rank].reset(); // may be a copy of the own tensor, which need not outlive its turn
    }
  }

  std::vector<at::Tensor> gathered;
  for (size_t rank = 0; rank < shapes.size(); ++rank) {
    if (static_cast<int>(rank) == own_rank)
      gathered.emplace_back();
    else if (bytes[rank] == 0)
      gathered.push_back(at::empty(shapes[rank].sizes, own.options()));
    else
      gathered.push_back(slices[rank].view(own.scalar_type()).view(shapes[rank].sizes));
  }
  return gathered;
}

class AdjointGather : public torch::autograd::Function<AdjointGather> {
public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext *context,
                                                const at::Tensor &own,
                                                const std::vector<Shape> &shapes,
                                                const Group &group) {
    std::vector<at::Tensor> gathered = exchange_data(own, shapes, group);
    gathered[group->getRank()] = own.view_as(own);
    context->set_materialize_grads(false);
    context->saved_data["group"] = c10::IValue::make_capsule(group);
    context->saved_data["dtype"] = own.scalar_type();
    context->saved_data["device"] = own.device();
    c10::List<c10::List<int64_t>> sizes;
    for (const Shape &shape : shapes)
      sizes.push_back(c10::List<int64_t>(shape.sizes));
    context->saved_data["sizes"] = sizes;
    return gathered;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *context,
                                                 torch::autograd::variable_list grads) {
    const auto group = c10::static_intrusive_pointer_cast<c10d::ProcessGroup>(
        context->saved_data["group"].toCapsule());
    const auto options = at::TensorOptions()
                             .dtype(context->saved_data["dtype"].toScalarType())
                             .device(context->saved_data["device"].toDevice());
    const auto sizes = context->saved_data["sizes"].toList();
    std::vector<at::Tensor> flat;
    int64_t offset = 0, own_offset = 0, own_numel = 0;
    std::vector<int64_t> own_sizes;
    for (size_t rank = 0; rank < grads.size(); ++rank) {
      const std::vector<int64_t> shape = sizes.get(rank).toIntVector();
      const int64_t numel = c10::multiply_integers(shape);
      flat.push_back(grads[rank].defined() ? grads[rank].reshape(-1) : at::zeros({numel}, options));
      if (static_cast<int>(rank) == group->getRank()) {
        own_offset = offset;
        own_numel = numel;
        own_sizes = shape;
      }
      offset += numel;
    }
    std::vector<at::Tensor> sum{at::cat(flat)};
    if (offset != 0)
      group->allreduce(sum)->wait();
    return {sum[0].narrow(0, own_offset, own_numel).view(own_sizes), at::Tensor(), at::Tensor()};
  }
};

} // namespace

std::vector<at::Tensor> gather_all_tensors(const at::Tensor &own, const Group &group,
                                           GatherGrad grad) {
  TORCH_CHECK(group, "gather_all_tensors: needs a process group");
  const auto headers = exchange_headers(
      shape_of(own).header(), own.defined() ? std::optional(own.device()) : std::nullopt, group);
  std::vector<Shape> shapes;
  for (const auto &header : headers)
    shapes.push_back(Shape::from_header(header));
  check_ranks_agree(shapes);

  switch (grad) {
  case GatherGrad::kOwnSlice: {
    std::vector<at::Tensor> gathered = exchange_data(own, shapes, group);
    gathered[group->getRank()] = own;
    return gathered;
  }
  case GatherGrad::kAdjoint: {
    // Backward communicates, so either every rank has a node in its graph or none has.
    const bool any_grad = std::any_of(shapes.begin(), shapes.end(),
                                      [](const Shape &shape) { return shape.requires_grad != 0; });
    const bool joins = any_grad && !own.requires_grad();
    return AdjointGather::apply(joins ? own.detach().requires_grad_() : own, shapes, group);
  }
  }
  TORCH_CHECK(false, "gather_all_tensors: unknown gradient mode ", static_cast<int>(grad));
}

} // namespace devsan::metrics
