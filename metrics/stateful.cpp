#include "metrics/stateful.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <numeric>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "metrics/detail/capture.h"
#include "metrics/distributed/exchange.h"
#include "metrics/distributed/packing.h"
#include "metrics/metric.h"

namespace devsan::metrics {
namespace {

// The header of sync(), of one length whatever is synchronised, because ranks that differ must
// still be able to tell each other. The shapes of the lists follow, of the first few, and the
// states themselves where there are no lists, they lie on the host and are small: most metrics'
// are, and need no second collective.
constexpr size_t kListsInHeader = 4;
enum HeaderField : size_t {
  kDescription,
  kTakesPart,
  kDeviceType,
  kLists,
  kStates = kLists + kListsInHeader * PackedShape::kNumbers
};
constexpr int64_t kStateBytesInHeader = 2048;
constexpr size_t kHeaderNumbers = kStates + kStateBytesInHeader / sizeof(int64_t);
constexpr int64_t kNoDevice = -1;

int64_t hash_of(const std::string &text) {
  return static_cast<int64_t>(std::hash<std::string>()(text));
}

int64_t packed_bytes(const std::vector<PackedShape> &shapes) {
  return std::accumulate(
      shapes.begin(), shapes.end(), int64_t{0},
      [](int64_t sum, const PackedShape &shape) { return sum + shape.packed_bytes(); });
}

// NaN, which equals nothing, is the same as itself.
bool same_bits(const at::Tensor &a, const at::Tensor &b) {
  const auto bits = [](const at::Tensor &x) { return x.reshape(-1).view(at::kByte); };
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         (a.is_meta() || bits(a).equal(bits(b)));
}

} // namespace

Stateful::~Stateful() = default;

Stateful::Holders Stateful::holders() const {
  Holders all;
  collect("", all);
  return all;
}

Stateful::Holders Stateful::distinct_holders() const {
  Holders distinct;
  for (const Holder &holder : holders())
    if (std::none_of(distinct.begin(), distinct.end(), [&](const Holder &other) {
          return other.metric->store_ == holder.metric->store_;
        }))
      distinct.push_back(holder);
  return distinct;
}

void Stateful::check_not_synced(const char *call) const {
  for (const Holder &holder : holders())
    TORCH_CHECK(!holder.metric->store_->synced, name(), ": ", call,
                " after sync() would count other ranks' samples twice; call unsync() first");
}

void Stateful::reset() {
  for (const Holder &holder : distinct_holders()) {
    Metric::Store &store = *holder.metric->store_;
    if (store.captured) {
      const Metric::StateScope scope;
      if (store.synced)
        holder.metric->replace_states(std::move(store.own_states));
      store.synced = false;
      holder.metric->replace_states({});
    } else {
      store.by_device.clear();
    }
    store.own_states.clear();
    store.synced = false;
  }
}

std::optional<at::Device> Stateful::device() const {
  for (const Holder &holder : holders())
    if (const auto device = holder.metric->own_device())
      return device;
  return std::nullopt;
}

void Stateful::to(at::Device device) {
  check_not_synced("to()");
  const Metric::StateScope scope;
  // With its index: "cuda" means the current one, now.
  const at::Device target = at::empty({0}, at::TensorOptions().device(device)).device();
  const Holders all = distinct_holders();
  std::vector<std::vector<at::Tensor>> moved;
  for (const Holder &holder : all) {
    holder.metric->check_format(target);
    TORCH_CHECK(!holder.metric->store_->captured || holder.metric->own_device() == target, name(),
                ": its states on ", *holder.metric->own_device(),
                " belong to a CUDA graph; move a clone() to ", target);
    moved.emplace_back();
    for (const at::Tensor &state : holder.metric->states())
      moved.back().push_back(state.to(target));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].metric->replace_states(std::move(moved[i]));
    all[i].metric->store_->pinned = target;
  }
}

void Stateful::device_policy(DevicePolicy policy) {
  for (const Holder &holder : distinct_holders()) {
    TORCH_CHECK(policy == DevicePolicy::kFollow || !holder.metric->store_->captured, name(),
                ": its states belong to a CUDA graph, on one device; set the device policy of a "
                "clone() that is not captured");
  }
  for (const Holder &holder : distinct_holders()) {
    holder.metric->gather_states();
    holder.metric->store_->policy = policy;
  }
}

DevicePolicy Stateful::device_policy() const {
  const Holders all = holders();
  return all.empty() ? DevicePolicy::kFollow : all.front().metric->store_->policy;
}

torch::OrderedDict<std::string, at::Tensor> Stateful::state_dict() const {
  torch::OrderedDict<std::string, at::Tensor> named("State");
  for (const auto &[prefix, metric] : holders()) {
    const std::vector<at::Tensor> states = metric->states_to_hold();
    for (size_t i = 0; i < states.size(); ++i)
      named.insert(prefix + metric->specs_[i].name, states[i]);
  }
  return named;
}

void Stateful::load_state_dict(const torch::OrderedDict<std::string, at::Tensor> &states) {
  check_not_synced("load_state_dict()");
  const Metric::StateScope scope;
  const Holders all = holders();
  size_t known = 0, found = 0;
  for (const Holder &holder : all)
    known += holder.metric->specs_.size();
  TORCH_CHECK(states.is_empty() || all.size() > 1 || states.size() == known, name(),
              ": the dictionary holds ", states.size(), " states, not ", known,
              "; pass the state_dict() of the same class");
  std::vector<std::vector<at::Tensor>> loaded;
  for (size_t i = 0; i < all.size(); ++i) {
    loaded.push_back(all[i].metric->loaded(all[i].prefix, states));
    found += loaded.back().size();
    for (size_t j = 0; j < i; ++j) {
      if (all[j].metric->store_ != all[i].metric->store_)
        continue;
      // Reading a checkpoint waits for devices anyway.
      const bool same = std::equal(loaded[j].begin(), loaded[j].end(), loaded[i].begin(),
                                   loaded[i].end(), same_bits);
      TORCH_CHECK(same, name(), ": the states of `", all[j].prefix, "` and `", all[i].prefix,
                  "` differ in the dictionary, but are one here; load it into a collection with "
                  "compute_groups(false)");
      break;
    }
  }
  TORCH_CHECK(found == states.size(), name(), ": the dictionary holds ", states.size(),
              " states, of which ", found, " belong here; pass the state_dict() of the same class");
  for (size_t i = 0; i < all.size(); ++i)
    all[i].metric->replace_states(std::move(loaded[i]));
}

void Stateful::merge_states(const Stateful &other) {
  check_not_synced("merge()");
  other.check_not_synced("merge() of a synced metric");
  TORCH_CHECK(description() == other.description(), name(), ": cannot merge ", other.description(),
              " into ", description(), "; both need the same class and options");
  add(other);
}

void Stateful::add(const Stateful &other) {
  const Metric::StateScope scope;
  const Holders own = distinct_holders(), mine = holders(), others = other.holders();
  std::vector<std::vector<at::Tensor>> merged;
  for (size_t i = 0, next = 0; i < mine.size() && next < own.size(); ++i)
    if (mine[i].metric == own[next].metric) {
      merged.push_back(mine[i].metric->merged_with(*others[i].metric));
      ++next;
    }
  for (size_t i = 0; i < own.size(); ++i)
    own[i].metric->replace_states(std::move(merged[i]));
}

void Stateful::sync(const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
  check_not_synced("sync()");
  TORCH_CHECK(group, name(), ": sync() needs a process group");
  const Metric::StateScope scope;
  const Holders all = distinct_holders();
  const auto states_on = [](at::Device device, const Metric &metric) {
    return metric.states().empty() ? metric.fresh_states(device)
                                   : Metric::on(device, metric.states());
  };

  // Everything that can fail on this rank alone is done before the header and told in it, so that
  // no other rank waits for what will not come.
  std::vector<int64_t> header(kHeaderNumbers);
  std::vector<int64_t> list_shapes;
  std::optional<at::Device> own_device;
  bool states_in_header = false;
  std::exception_ptr failure;
  // Which states are shared, too: they travel once.
  std::string described = description();
  for (const Holder &holder : all)
    described += "|" + holder.prefix;
  header[kDescription] = hash_of(described);
  header[kTakesPart] = 1;
  try {
    for (const auto &[prefix, metric] : all) {
      const std::optional<at::Device> device = metric->own_device();
      TORCH_CHECK(!device || own_device.value_or(*device) == *device ||
                      device_policy() != DevicePolicy::kFollow,
                  name(), ": its states lie on ", *device, " and ", own_device.value_or(*device),
                  "; move them to one device with to() first");
      if (!own_device)
        own_device = device;
      const std::vector<at::Tensor> &states = metric->states();
      for (size_t i = 0; i < metric->specs_.size(); ++i)
        if (metric->is_list(i)) {
          list_shapes.resize(list_shapes.size() + PackedShape::kNumbers);
          if (!states.empty())
            PackedShape::of(states[i]).write(list_shapes.data() + list_shapes.size() -
                                             PackedShape::kNumbers);
        }
    }
    if (list_shapes.empty() && own_device.value_or(at::kCPU).is_cpu()) {
      std::vector<at::Tensor> small;
      std::vector<PackedShape> shapes;
      for (const Holder &holder : all)
        for (at::Tensor &state : states_on(at::kCPU, *holder.metric)) {
          shapes.push_back(PackedShape::of(state));
          small.push_back(std::move(state));
        }
      states_in_header = !small.empty() && packed_bytes(shapes) <= kStateBytesInHeader;
      if (states_in_header)
        pack_on_host(small, &header[kStates]);
    }
  } catch (...) {
    failure = std::current_exception();
    header[kTakesPart] = 0;
  }
  // Device types, not devices: every rank has its own index.
  header[kDeviceType] = own_device ? static_cast<int64_t>(own_device->type()) : kNoDevice;
  const bool fits = list_shapes.size() <= kListsInHeader * PackedShape::kNumbers;
  if (fits)
    std::copy(list_shapes.begin(), list_shapes.end(), header.begin() + kLists);
  const auto headers = exchange_headers(header, own_device, group);
  if (failure)
    std::rethrow_exception(failure);

  int64_t device_type = kNoDevice;
  for (size_t rank = 0; rank < headers.size(); ++rank) {
    TORCH_CHECK(headers[rank][kDescription] == header[kDescription], name(), ": rank ", rank,
                " syncs another metric or other options than ", description(), " on rank ",
                group->getRank(), "; every rank must sync the same metric");
    TORCH_CHECK(headers[rank][kTakesPart], name(), ": rank ", rank,
                " could not take part in sync(); see its own error");
    if (headers[rank][kDeviceType] == kNoDevice)
      continue;
    TORCH_CHECK(device_type == kNoDevice || device_type == headers[rank][kDeviceType], name(),
                ": the ranks' states lie on different device types (",
                at::Device(static_cast<at::DeviceType>(device_type)), " and ",
                at::Device(static_cast<at::DeviceType>(headers[rank][kDeviceType])), " of rank ",
                rank, "); move them to one type with to() first");
    device_type = headers[rank][kDeviceType];
  }
  TORCH_CHECK(device_type != kNoDevice, name(),
              ": sync() before any rank's first update(); nothing was seen yet");
  std::vector<std::vector<int64_t>> shapes_of_lists;
  if (!fits)
    shapes_of_lists = exchange_headers(list_shapes, own_device, group);
  else
    for (const std::vector<int64_t> &of_rank : headers)
      shapes_of_lists.emplace_back(of_rank.begin() + kLists, of_rank.begin() + kStates);
  // A rank that has seen nothing does not know before that the others' states are not on the host.
  states_in_header &= device_type == static_cast<int64_t>(at::kCPU);

  // All states of this rank, and their shapes on each.
  const at::Device device =
      own_device.value_or(at::Device(static_cast<at::DeviceType>(device_type)));
  std::vector<at::Tensor> own;
  std::vector<std::vector<PackedShape>> shapes(headers.size());
  size_t next = 0;
  for (const auto &[prefix, metric] : all) {
    const std::vector<at::Tensor> states = states_on(device, *metric);
    for (size_t i = 0; i < states.size(); ++i) {
      own.push_back(states[i]);
      std::vector<PackedShape> of_ranks;
      for (const std::vector<int64_t> &numbers : shapes_of_lists)
        of_ranks.push_back(metric->is_list(i) ? PackedShape::read(&numbers[next])
                                              : PackedShape::of(states[i]));
      if (metric->is_list(i)) {
        std::vector<PackedShape *> pointers;
        for (PackedShape &shape : of_ranks)
          pointers.push_back(&shape);
        agree_on_rows(pointers, name() + ": `" + prefix + metric->specs_[i].name + "`");
        own.back() = own.back().to(of_ranks[group->getRank()].dtype);
        next += PackedShape::kNumbers;
      }
      for (size_t rank = 0; rank < shapes.size(); ++rank)
        shapes[rank].push_back(std::move(of_ranks[rank]));
    }
  }
  std::vector<std::vector<at::Tensor>> of_ranks;
  if (states_in_header) {
    for (size_t rank = 0; rank < headers.size(); ++rank)
      of_ranks.push_back(unpack_on_host(&headers[rank][kStates], shapes[rank]));
  } else {
    int64_t longest = 0;
    for (const std::vector<PackedShape> &of_rank : shapes)
      longest = std::max(longest, packed_bytes(of_rank));
    const at::Tensor gathered = all_gather_bytes(pack(own, longest), group);
    for (int64_t rank = 0; rank < gathered.size(0); ++rank)
      of_ranks.push_back(unpack(gathered[rank], shapes[rank]));
  }

  std::vector<std::vector<at::Tensor>> totals;
  size_t first = 0;
  for (const Holder &holder : all) {
    const size_t count = holder.metric->specs_.size();
    std::vector<std::vector<at::Tensor>> states;
    for (std::vector<at::Tensor> &of_rank : of_ranks)
      states.emplace_back(std::make_move_iterator(of_rank.begin() + first),
                          std::make_move_iterator(of_rank.begin() + first + count));
    totals.push_back(holder.metric->merged_all(std::move(states)));
    first += count;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    Metric::Store &store = *all[i].metric->store_;
    if (!store.by_device.empty())
      store.own_states = std::move(store.by_device.front().states);
    all[i].metric->replace_states(std::move(totals[i]));
    store.synced = true;
  }
}

void Stateful::unsync() {
  for (const Holder &holder : distinct_holders()) {
    Metric::Store &store = *holder.metric->store_;
    TORCH_CHECK(store.synced, name(), ": unsync() without a sync() before it");
    holder.metric->replace_states(std::exchange(store.own_states, {}));
    store.synced = false;
  }
}

void Stateful::swap_states(Stateful &a, Stateful &b) {
  const Holders of_a = a.holders(), of_b = b.holders();
  for (size_t i = 0; i < of_a.size(); ++i)
    std::swap(of_a[i].metric->store_, of_b[i].metric->store_);
}

struct Stateful::Snapshot::Saved {
  struct List {
    bool is_list;
    size_t pieces;
    int64_t rows; // with those concatenated
  };
  struct Part {
    std::vector<at::Tensor> states;
    std::vector<List> lists;
  };
  std::shared_ptr<Metric::Store> store;
  std::vector<Part> parts;
  bool copied = false; // since they are written to where they are
};

struct Stateful::Snapshot::Place {
  const Metric *metric;
  std::shared_ptr<Metric::Store> store;
};

Stateful::Snapshot::Snapshot(const Stateful &all, const Stateful &last) {
  const Holders excepted = last.holders();
  for (const Holder &holder : all.holders())
    places_.push_back({holder.metric, holder.metric->store_});
  for (const Holder &holder : all.distinct_holders()) {
    if (std::any_of(excepted.begin(), excepted.end(), [&](const Holder &other) {
          return other.metric->store_ == holder.metric->store_;
        }))
      continue;
    const Metric::Store &store = *holder.metric->store_;
    // In a capture nothing is written.
    const bool copied = store.captured && !detail::is_capturing(store.by_device.front().device());
    saved_.push_back({holder.metric->store_, {}, copied});
    for (const Metric::DeviceStates &part : store.by_device) {
      Saved::Part &saved = saved_.back().parts.emplace_back();
      saved.states = copied ? Metric::copies_of(part.states) : part.states;
      for (size_t i = 0; i < part.states.size(); ++i) {
        const std::vector<Metric::Piece> &pieces = part.pieces[i];
        const int64_t concatenated = part.states[i].dim() == 0 ? 0 : part.states[i].size(0);
        saved.lists.push_back({holder.metric->is_list(i), pieces.size(),
                               concatenated + (pieces.empty() ? 0 : pieces.back().rows_so_far)});
      }
    }
  }
}

Stateful::Snapshot::~Snapshot() = default;

void Stateful::Snapshot::restore() const {
  for (const Place &place : places_)
    place.metric->store_ = place.store;
  for (const Saved &saved : saved_) {
    std::vector<Metric::DeviceStates> &parts = saved.store->by_device;
    parts.erase(parts.begin() + static_cast<int64_t>(saved.parts.size()), parts.end());
    for (size_t p = 0; saved.copied && p < parts.size(); ++p)
      Metric::overwrite(parts[p].states, saved.parts[p].states);
    for (size_t p = 0; !saved.copied && p < parts.size(); ++p)
      for (size_t i = 0; i < parts[p].states.size(); ++i) {
        std::vector<Metric::Piece> &pieces = parts[p].pieces[i];
        const Saved::List &list = saved.parts[p].lists[i];
        if (list.is_list && pieces.size() < list.pieces) { // concatenated meanwhile
          parts[p].states[i] = parts[p].states[i].narrow(0, 0, list.rows);
          pieces.clear();
        } else {
          parts[p].states[i] = saved.parts[p].states[i];
          pieces.erase(pieces.begin() + static_cast<int64_t>(list.pieces), pieces.end());
        }
      }
  }
}

} // namespace devsan::metrics
