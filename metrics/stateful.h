// What can be done with states, whoever holds them: a metric, a metric made of metrics, a
// collection. It is written once for any number of holders, so that all of them move, merge and
// synchronise in one step, or not at all.
//
// Device rule, the same for CPU, CUDA, MPS and XPU: the states are made on the device of the first
// input, unless to() named one before. What becomes of a later input from another device is said by
// the DevicePolicy; by default it is an error that names the metric, both devices and the remedy,
// and no tensor is ever moved silently.
//
// A call that throws leaves the states as they were. One thread at a time for each object; clones
// may be used in different threads.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

namespace c10d {
class ProcessGroup;
}

namespace devsan::metrics {

class Metric;

// What becomes of an input that lies on another device than the states. The inputs of one update()
// have to lie on one device in any case, and no state goes to or from `meta`, where it has no
// values.
enum class DevicePolicy {
  // An error. The states are where the first input was.
  kFollow,
  // Each device has states of its own. compute() and all else that looks at the states merges them
  // on the device of the first input, or that which to() named: copies from device to device, for
  // which the host does not wait, unless the CPU is one of them. Lists are then in the order of the
  // devices.
  kPerDevice,
  // The states move to the input's device, in the same way.
  kMove,
};

class Stateful {
public:
  virtual ~Stateful();
  Stateful &operator=(const Stateful &) = delete;

  // The class name, as it stands at the head of every error.
  virtual std::string name() const = 0;

  // The class with its options: what two must have in common to be merged or synchronised.
  std::string description() const { return name() + "(" + signature() + ")"; }

  // Forgets everything seen. The next first input decides the device again, unless to() has named
  // one.
  void reset();

  // Moves the states to `device` and pins them there (kFollow), or makes it the device of the
  // results (kPerDevice); before the first update() this decides the device.
  void to(at::Device device);

  // Where the states lie, or will lie; none before the first update() of what was not moved. With
  // kPerDevice, where the results lie.
  virtual std::optional<at::Device> device() const;

  // Of all states; to be set before the first update(), afterwards states of several devices are
  // merged first.
  void device_policy(DevicePolicy policy);
  DevicePolicy device_policy() const;

  // Replaces the states by those of all ranks of `group` together; every rank must call it. The
  // same bits result on every rank, and a rank that has seen nothing takes part. All states travel
  // in two collectives, however many metrics there are: a header that turns ranks with other
  // metrics, options or devices, and those that cannot take part, into an error on every rank; then
  // all states in one buffer (memory: that of all ranks, each as long as that of the rank that has
  // most, and all lists once more, in one piece). Up to 2 KiB of states on the host, none of them
  // lists, travel in the header: one collective. More than four lists need a third, for their
  // shapes. Reads the header on the host; it travels over the group's CPU back end where there is
  // one, otherwise this waits for the device once. Until unsync(), update(), merge() and sync() are
  // errors.
  void sync(const c10::intrusive_ptr<c10d::ProcessGroup> &group);

  // Brings back this rank's own states after sync().
  void unsync();

  // The states by name, for a checkpoint; empty before the first update(). The tensors are the
  // metric's own: do not write to them.
  torch::OrderedDict<std::string, at::Tensor> state_dict() const;

  // Takes over copies of the states of a metric (or collection) of the same class and options, on
  // the device that they lie on; what has a device takes them from there only, with kFollow. An
  // empty dictionary is that of a metric that has seen nothing.
  void load_state_dict(const torch::OrderedDict<std::string, at::Tensor> &states);

protected:
  Stateful() = default;
  Stateful(const Stateful &) = default;

  // A metric with states of its own, and what stands before their names in state_dict().
  struct Holder {
    std::string prefix;
    const Metric *metric;
  };
  using Holders = std::vector<Holder>;

  // Appends all metrics that hold the states, always in the same order. Some may share them.
  virtual void collect(const std::string &prefix, Holders &holders) const = 0;
  static void collect_from(const Stateful &part, const std::string &prefix, Holders &holders) {
    part.collect(prefix, holders);
  }

  // The options, as text.
  virtual std::string signature() const = 0;

  // Adds what `other` has seen, which must have the same description and lie on the same device.
  void merge_states(const Stateful &other);
  // The same between parts of one metric, which may be synchronised.
  static void merge_parts(Stateful &into, const Stateful &part) { into.add(part); }

  // Exchanges the states of two parts of one metric.
  static void swap_states(Stateful &a, Stateful &b);

  // Throws if synchronised.
  void check_not_synced(const char *call) const;

  // Runs `update`; where it throws, the states are again as they were. Those of `last` are not
  // held meanwhile, so that they can change in place: it has to be what can fail last.
  template <class Update> void all_or_nothing(const Stateful &last, const Update &update) {
    const Snapshot snapshot(*this, last);
    try {
      update();
    } catch (...) {
      snapshot.restore();
      throw;
    }
  }

private:
  class Snapshot {
  public:
    Snapshot(const Stateful &all, const Stateful &last);
    ~Snapshot();
    void restore() const;

  private:
    struct Saved;
    struct Place;
    std::vector<Saved> saved_;
    std::vector<Place> places_; // windows move their states on
  };

  void add(const Stateful &other);
  Holders holders() const;
  // Those that come first of all that share their states.
  Holders distinct_holders() const;
};

} // namespace devsan::metrics
