// The base of every metric: named states that live on one device, and what can be done with any
// metric (reset, move, merge, synchronise over ranks). A concrete metric declares its states, folds
// batches into them in update() and reads them in compute(); it lies with its test in one stem of
// its domain's folder. Why states are as they are: docs/design/metrics-states.md.
//
// Device rule, the same for CPU, CUDA, MPS and XPU: the states are made on the device of the first
// input, unless to() named one before. Inputs on any other device are an error that names the
// metric, both devices and the remedy; no tensor is ever moved silently. update() and compute()
// enqueue work and never wait for the device; where the size of a result depends on values, so that
// compute() must, the metric says so.
//
// States never carry an autograd graph, are never inference tensors and keep their dtype under
// autocast. A call that throws leaves them as they were. One thread at a time per metric; use one
// metric per thread and merge() them.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/ordered_dict.h>

namespace c10d {
class ProcessGroup;
}

namespace devsan::metrics {

// The number format that moments are accumulated in. kFloatPair holds a value as the unevaluated
// sum of two float32, about 46 significant bits; an infinity becomes NaN in it.
enum class Accumulation { kDouble, kFloatPair };

// The format by default: float64 on CPU and CUDA; pairs on MPS, which has no float64, and on XPU,
// where not every device has it.
Accumulation default_accumulation(at::Device device);

class Metric {
public:
  virtual ~Metric();
  Metric(const Metric &) = delete;
  Metric &operator=(const Metric &) = delete;

  // The class name, as it stands at the head of every error.
  virtual std::string name() const = 0;

  // The value over everything seen since construction or reset(), on the device of the states.
  // Throws when there was no update().
  virtual at::Tensor compute() const = 0;

  // Forgets everything seen. The next first input decides the device again, unless to() has named
  // one.
  void reset();

  // Moves the states to `device` and pins the metric there; before the first update() this decides
  // the device.
  void to(at::Device device);

  // Where the states lie, or will lie; none before the first update() of a metric that was not
  // moved.
  std::optional<at::Device> device() const;

  // Adds what `other` has seen. `other` must be the same class with the same options, on the same
  // device.
  void merge(const Metric &other);

  // Replaces the states by those of all ranks of `group` together; every rank must call it. The
  // same bits result on every rank, and a rank that has seen nothing takes part. Two collectives: a
  // header that turns ranks with other metrics, options or devices into an error on every rank,
  // then all states in one buffer (memory: ranks + 1 times the states of the rank that has most,
  // and lists once more). Reads the header on the host; it travels over the group's CPU back end
  // where there is one, otherwise this waits for the device once. Until unsync(), update(), merge()
  // and sync() are errors.
  void sync(const c10::intrusive_ptr<c10d::ProcessGroup> &group);

  // Brings back this rank's own states after sync().
  void unsync();

  // The states by name, for a checkpoint; empty before the first update(). The tensors are the
  // metric's own: do not write to them.
  torch::OrderedDict<std::string, at::Tensor> state_dict() const;

  // Takes over copies of the states of a metric of the same class and options, on the device that
  // they lie on; a metric that has a device takes them from there only. An empty dictionary is that
  // of a metric that has seen nothing.
  void load_state_dict(const torch::OrderedDict<std::string, at::Tensor> &states);

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

  // `accumulation` overrides the device's default format. `specs` is not empty.
  explicit Metric(std::vector<StateSpec> specs,
                  std::optional<Accumulation> accumulation = std::nullopt);

  Accumulation accumulation_on(at::Device device) const;
  // For signature(): the format that was asked for.
  const char *accumulation_name() const;

  // Checks that all `inputs` lie on the metric's device and that the metric is not synced; throws
  // otherwise. To be called before anything else looks at the inputs.
  void check_inputs(NamedInputs inputs) const;

  // The states to compute the next ones from: those of nothing on `device` where there are none
  // yet.
  std::vector<at::Tensor> states_on(at::Device device) const;
  void set_states(std::vector<at::Tensor> states) { states_ = std::move(states); }

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

  // What two metrics must have in common to be merged: the options, as text.
  virtual std::string signature() const = 0;

  // The states of two disjoint sets of samples, combined; by default state by state as their kinds
  // say. Must not write to its arguments.
  virtual std::vector<at::Tensor> merged(const std::vector<at::Tensor> &a,
                                         const std::vector<at::Tensor> &b) const;

private:
  struct Piece {
    at::Tensor rows;
    std::optional<uint32_t> version; // none: its tensor counts none
  };

  void check_not_synced(const char *call) const;
  bool is_list(size_t index) const { return specs_[index].kind == StateSpec::Kind::kList; }
  void concatenate_lists() const;

  std::vector<StateSpec> specs_;
  std::optional<Accumulation> accumulation_;
  mutable std::vector<at::Tensor> states_;         // of a list: what is concatenated already
  mutable std::vector<std::vector<Piece>> pieces_; // of each state: what is not
  std::vector<at::Tensor> own_states_;             // this rank's, while synced
  std::optional<at::Device> pinned_;
  bool synced_ = false;
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

} // namespace devsan::metrics
