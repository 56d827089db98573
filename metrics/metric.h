// The base of every metric: named states, and how they are declared, made and combined. A concrete
// metric declares its states, folds batches into them in update() and reads them in compute(); it
// lies with its test in one stem of its domain's folder. What can be done with any metric (reset,
// move, merge, synchronise over ranks), and the device rule: metrics/stateful.h. Why states are as
// they are: docs/design/metrics-states.md.
//
// update() and compute() enqueue work and never wait for the device; where the size of a result
// depends on values, so that compute() must, the metric says so. States never carry an autograd
// graph, are never inference tensors and keep their dtype under autocast. Use one metric per thread
// and merge() them.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/ordered_dict.h>

#include "metrics/stateful.h"
#include "metrics/validate.h"

namespace devsan::metrics {

// The number format that moments are accumulated in. kFloatPair holds a value as the unevaluated
// sum of two float32, about 46 significant bits; an infinity becomes NaN in it.
enum class Accumulation { kDouble, kFloatPair };

// The format by default: float64 on CPU and CUDA; pairs on MPS, which has no float64, and on XPU,
// where not every device has it.
Accumulation default_accumulation(at::Device device);

class Metric : public Stateful {
public:
  ~Metric() override;

  // A metric of the same class and options that has seen the same and goes on by itself, as copying
  // an object of a known class makes one, too. States are shared until one of both changes them.
  virtual std::unique_ptr<Metric> clone() const = 0;

  // The value over everything seen since construction or reset(), on the device of the states.
  // Throws when there was no update().
  virtual at::Tensor compute() const = 0;

  // The value by name, of metrics that have several; else under an empty name.
  virtual torch::OrderedDict<std::string, at::Tensor> compute_dict() const;

  // Makes the states of nothing on `device` where there are none, so that compute() tells what its
  // value is then: that of most metrics is 0 or NaN.
  void make_states(at::Device device);

  // Adds what `other` has seen. `other` must be the same class with the same options; with
  // DevicePolicy::kFollow, on the same device.
  void merge(const Metric &other) { merge_states(other); }

  std::optional<at::Device> device() const override;

  // The states in the order of their declaration; empty before they are made. Concatenates lists.
  const std::vector<at::Tensor> &states() const;

protected:
  struct StateSpec {
    // A kind says how a state is stored, what it is before anything was seen, and how the states of
    // two disjoint sets of samples combine.
    enum class Kind {
      kCount,   // int64, zero, added
      kMoment,  // real, zero, added wide: [1, ...] float64 or [2, ...] float32, see Accumulation
      kMaximum, // float64, or float32 where moments are pairs; -infinity, the larger; NaN stays
      kMinimum, // the same from +infinity with the smaller
      kList,    // rows [N, ...] of any dtype, none, concatenated; see append()
    };
    std::string name;
    std::vector<int64_t> sizes; // of a list: not given, as its rows are like the first ones seen
    Kind kind;
  };

  using NamedInputs = std::initializer_list<std::pair<const char *, const at::Tensor &>>;

  // In force while states are computed: no graph, no inference tensors, no autocast.
  class StateScope {
  public:
    StateScope();

  private:
    c10::InferenceMode no_inference_mode_;
    at::NoGradGuard no_grad_; // after the line above, which turns grad mode on
    c10::impl::ExcludeDispatchKeyGuard no_autocast_;
  };

  // `accumulation` overrides the device's default format. `specs` is empty for a metric made of
  // others alone.
  explicit Metric(std::vector<StateSpec> specs,
                  std::optional<Accumulation> accumulation = std::nullopt);
  Metric(const Metric &other);

  Accumulation accumulation_on(at::Device device) const;
  // For signature(): the format that was asked for.
  const char *accumulation_name() const;

  // Checks that all `inputs` lie on one device, where the policy lets them be, and that the metric
  // is not synced; throws otherwise. To be called before anything else looks at the inputs.
  void check_inputs(NamedInputs inputs) const;

  // Throws where update() is part of a CUDA graph, which for this reason cannot do it again.
  void check_not_captured(at::Device device, const char *reason) const;

  // Whether update() is to read the verdict on `input` itself. Never on `meta`, which has no
  // values; an error in a CUDA graph.
  bool validates_eagerly(Validate validate, const at::Tensor &input) const;

  // The states to compute the next ones from, on `device`: those of nothing where there are none
  // yet.
  std::vector<at::Tensor> states_on(at::Device device) const;
  void set_states(std::vector<at::Tensor> states);

  // Whether a tensor of states_on() is held by its caller, once, and this metric alone, so that it
  // may be changed in place: a clone, a merged metric or state_dict() can hold the same tensor.
  bool holds_alone(const at::Tensor &state) const;

  // For a state of states_on() that is one number on the CPU, at the end of an update(), when
  // nothing else can fail any more: `value` instead of it, and `number` more. In place where it is
  // held alone.
  template <typename T> void set_number(at::Tensor &state, T value) const {
    if (!holds_alone(state))
      state = at::detail::empty_cpu(state.sizes(), state.scalar_type());
    *state.mutable_data_ptr<T>() = value;
  }
  template <typename T> void add_number(at::Tensor &state, T number) const {
    set_number<T>(state, *state.const_data_ptr<T>() + number);
  }

  // Folds states of nothing but kMaximum and kMinimum into the states, and while synced also into
  // those that unsync() brings back.
  void keep_extremes(const std::vector<at::Tensor> &extremes) const;

  // Adds a piece to each list, in the order of their declaration; rows [N, ...] of up to 7
  // dimensions, of which N may be 0, and all else is the same for all pieces of a list. Dtypes are
  // promoted. A piece is kept as it is, without a copy, until the lists are needed; that it was
  // written to in the meantime is an error then, if its version tells. To be called when nothing
  // else can fail any more.
  void append(const std::vector<at::Tensor> &pieces);

  // The states, for compute(); throws where nothing was seen. Concatenates lists.
  const std::vector<at::Tensor> &computable_states() const;

  // For the end of compute(): `value` as `dtype`, [1] as a 0-dim tensor. Throws where the device
  // has no such dtype.
  at::Tensor shaped_result(const at::Tensor &value, at::ScalarType dtype) const;

  // What update() makes of a batch, as text: metrics for which it is the same, and not empty, hold
  // equal states after equal updates, so that a collection keeps them once. It names the base class
  // that writes update() and all options that it reads, Validate included; all else is left out.
  virtual std::string state_signature() const { return {}; }

  // Whose states these can be in common with other metrics: those of a metric that this one only
  // shows in another way.
  virtual Metric &sharer() { return *this; }
  static Metric &sharer_of(Metric &metric) { return metric.sharer(); }

  // The states of two disjoint sets of samples, combined; by default state by state as their kinds
  // say. Must not write to its arguments.
  virtual std::vector<at::Tensor> merged(const std::vector<at::Tensor> &a,
                                         const std::vector<at::Tensor> &b) const;

  // Throws for states of the right kinds and sizes that cannot be this metric's all the same: of
  // lists, what update() would not take.
  virtual void check_loaded(const std::vector<at::Tensor> &states) const;
  // Whether lists, which do not know the sizes of their rows then, have none.
  static bool all_empty(const std::vector<at::Tensor> &lists);

  void collect(const std::string &prefix, Holders &holders) const override;

private:
  friend class Stateful;
  friend class SharedStates;

  struct Piece {
    at::Tensor rows;
    std::optional<uint32_t> version; // none: its tensor counts none
    int64_t rows_so_far;             // of this piece and those before
  };

  struct DeviceStates {
    std::vector<at::Tensor> states;         // of a list: what is concatenated already
    std::vector<std::vector<Piece>> pieces; // of each state: what is not
    at::Device device() const { return states.front().device(); }
  };

  // What update() changes. Metrics of a collection that hold the same states have one in common.
  struct Store {
    std::vector<DeviceStates> by_device; // one, but for kPerDevice
    std::vector<at::Tensor> own_states;  // this rank's, while synced
    std::optional<at::Device> pinned;
    DevicePolicy policy = DevicePolicy::kFollow;
    bool synced = false;
    bool captured = false; // a CUDA graph writes to the states: new ones are written there, too
  };

  bool is_list(size_t index) const { return specs_[index].kind == StateSpec::Kind::kList; }
  std::optional<at::Device> own_device() const;
  std::vector<at::Tensor> fresh_states(at::Device device) const;
  void check_format(at::Device device) const;
  void check_capture(at::Device device) const;
  std::vector<at::Tensor> states_to_hold() const;
  static std::vector<at::Tensor> copies_of(const std::vector<at::Tensor> &states);
  static void overwrite(const std::vector<at::Tensor> &states, const std::vector<at::Tensor> &by);
  static std::vector<at::Tensor> on(at::Device device, const std::vector<at::Tensor> &states);
  void concatenate_lists(DeviceStates &part) const;
  void gather_states() const;
  std::vector<at::Tensor> merged_all(std::vector<std::vector<at::Tensor>> parts) const;
  std::vector<at::Tensor> merged_with(const Metric &other) const;
  std::vector<at::Tensor>
  loaded(const std::string &prefix,
         const torch::OrderedDict<std::string, at::Tensor> &dictionary) const;
  void replace_states(std::vector<at::Tensor> states) const;

  std::vector<StateSpec> specs_;
  std::optional<Accumulation> accumulation_;
  // Not null. Looking at the states may rearrange them, and whoever holds several metrics may move
  // the states from one to the other.
  mutable std::shared_ptr<Store> store_;
};

// A metric of predictions against targets: what a loop over batches can update without knowing the
// class.
class SupervisedMetric : public Metric {
public:
  // Folds one batch into the states. Shapes and dtypes: see the concrete metric. Runs on `meta`
  // tensors too.
  virtual void update(const at::Tensor &preds, const at::Tensor &target) = 0;

protected:
  using Metric::Metric;
};

namespace detail {

// A clone of the same class.
template <class M> std::unique_ptr<M> cloned(const M &metric) {
  return std::unique_ptr<M>(static_cast<M *>(metric.clone().release()));
}

} // namespace detail
} // namespace devsan::metrics

// Stands in the public part of every class that metrics are made of, once: its name and clone().
#define DEVSAN_METRIC(Class)                                                                       \
  std::string name() const override {                                                              \
    return #Class;                                                                                 \
  }                                                                                                \
  std::unique_ptr<devsan::metrics::Metric> clone() const override {                                \
    return std::make_unique<Class>(*this);                                                         \
  }
