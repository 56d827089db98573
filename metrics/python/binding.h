// What Python holds of a metric, and how a metric becomes known to Python: one line for each in
// classification.cpp, aggregation.cpp, detection.cpp, image.cpp, regression.cpp, retrieval.cpp or
// text.cpp. The classes that people use are made of it in devsan/metrics/. Decisions and their
// reasons: docs/design/metrics-python.md.
//
// C++ runs without the GIL. Calls to one metric from several threads wait for each other, since
// Python programs may rely on not crashing.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "metrics/metric.h"
#include "metrics/python/options.h"
#include "metrics/python/torch_python.h"
#include "metrics/weighted_metric.h"

namespace devsan::metrics::python {

// One option of a metric.
struct Argument {
  std::string name, annotation;
  bool required;
  Object default_value;
};

constexpr size_t kMaxInputs = 3;

// What the options do not say about a metric.
struct About {
  const char *summary;
  std::optional<bool> higher_is_better = std::nullopt;
  std::vector<const char *> inputs = {"preds", "target"}; // of update(), at most kMaxInputs
  size_t optional_inputs = 0;                             // of these, the last
  bool of_scores = false; // of a classification metric without thresholds: not of labels
  // Between which values lie, for plot(); none: no end.
  std::optional<double> lower = 0., upper = 1.;
  bool by_name = false; // compute() is a dictionary, whose names depend on options
};

class Core;
class Handle;

// What compute() is in Python: one result, or several. Curves of several classes where each class
// has points of its own are lists.
using Value = std::variant<at::Tensor, std::vector<at::Tensor>>;
using Values = std::vector<Value>;

// A class of metrics.
struct Kind {
  std::string name, function; // function: its functional form
  const char *domain;         // the module that it stands in
  About about;
  std::vector<Argument> arguments;
  std::vector<const char *> results; // the names of compute()'s results, where there are several
  // The inputs as Python passes them, null where one that is optional was not.
  void (*update)(Handle &, PyObject *const *inputs);
  std::function<std::shared_ptr<Handle>(PyObject *options)> make;
  Values (*compute)(const Metric &, bool by_class);
  void (*check_valid)(const Metric &);
  at::Tensor (*query_values)(const Metric &); // of rankings; else null
  // The functional form, where it is not the value of one update(); else null.
  at::Tensor (*of_images)(const Metric &, const at::Tensor &preds, const at::Tensor &target);
};

// What the threads that use a metric wait at; one for all that share states.
struct Gate {
  // Taken without the GIL, which who holds it may then wait for. Recursive, since a collection's
  // update calls those of its metrics.
  std::recursive_mutex mutex;
  // Whether metrics that share states may be changed, because all of them are.
  bool open = false;
};

// What was done with states.
struct Seen {
  std::atomic<int64_t> updates = 0, version = 0;
  std::atomic<bool> synced = false;
  Seen() { change(); }
  void change();
};

// What Python holds of states: those of a metric, or of several together.
class Core {
public:
  virtual ~Core();

  // All metrics in it, always in the same order.
  virtual void collect(std::vector<Handle *> &handles) = 0;
  virtual Stateful &stateful() = 0;
  // One with the same options that has seen nothing; its metrics share states as these do.
  virtual std::shared_ptr<Core> fresh() = 0;

  void reset();
  void to(at::Device device);
  std::optional<at::Device> device();
  void set_device_policy(PyObject *policy);
  void merge(Core &other);
  void sync(PyObject *group);
  void unsync();
  Object states();
  void load(PyObject *states);
  // Exchanges the metrics and what was done with them, of a core of the same kind.
  void swap(Core &other);
  // The numbers in the largest state that all have.
  int64_t largest_state();

  // update() calls since construction or reset().
  virtual int64_t updates() = 0;
  virtual void set_updates(int64_t updates) = 0;
  // A higher one after each change of what compute() gives.
  int64_t version();
  // Whether a CUDA graph changes it.
  bool captured();
  bool synced();

protected:
  friend class Bundle;

  std::vector<Handle *> handles();
  // Before states are loaded.
  virtual void expect_states(const torch::OrderedDict<std::string, at::Tensor> &) {}
  // What a core counts beside its metrics, as part of swap().
  virtual void swap_counts(Core &other) {}
  virtual void merge_states(Core &other) = 0;
  // `change` of the states without the GIL, while other threads wait.
  template <class Change> void change(const Change &change);
  template <class Read> auto read(const Read &read);
};

// A metric of a kind.
class Handle final : public Core {
public:
  using Maker = std::function<std::unique_ptr<Metric>()>;
  // A metric of so many outputs.
  using Resizer = std::function<std::unique_ptr<Metric>(int64_t num_outputs)>;

  // by_class: see Value. resizer: null unless the number of outputs is that of the first input.
  Handle(const Kind &kind, Maker maker, bool by_class, Resizer resizer = {})
      : kind_(&kind), maker_(std::move(maker)), resizer_(std::move(resizer)), by_class_(by_class),
        metric_(maker_()) {}

  void collect(std::vector<Handle *> &handles) override { handles.push_back(this); }
  Stateful &stateful() override { return *metric_; }
  std::shared_ptr<Core> fresh() override;

  const Kind &kind() const { return *kind_; }
  Metric &metric() { return *metric_; }
  Gate &gate() { return *gate_; }
  Seen &seen() { return *seen_; }

  // `change` of the metric, which is an M, without the GIL. Counted where it does not throw.
  template <class M, class Change> void update(const Change &change) {
    const NoGil no_gil;
    const std::lock_guard lock(gate_->mutex);
    check_alone("update()");
    change(static_cast<M &>(*metric_));
    ++seen_->updates;
    seen_->change();
  }

  // Before an update() of this input: its columns are the outputs, where they are not given.
  void expect(const at::Tensor &input) {
    if (resizer_)
      expect_columns(input);
  }

  Values compute();
  at::Tensor query_values();
  Object compute_by_name();
  at::Tensor of_images(const at::Tensor &preds, const at::Tensor &target);
  void check_valid();

  // Has the states of `first` in common with it from now on, both of one state_signature().
  void join(Handle &first);
  // Has states of its own again.
  void leave();
  bool shares() const { return gate_.use_count() > 1; }
  bool shares_with(const Handle &other) const { return gate_ == other.gate_; }
  std::string state_signature();
  // Throws where other metrics would change, too.
  void check_alone(const char *call) const;

  int64_t updates() override { return seen_->updates; }
  void set_updates(int64_t updates) override { seen_->updates = updates; }
  // Of the Metric.
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(metric_.get()); }

protected:
  void merge_states(Core &other) override;
  void expect_states(const torch::OrderedDict<std::string, at::Tensor> &states) override;

private:
  friend class Core;
  friend class Bundle;

  // The metric, or where it has seen nothing one that has states of nothing.
  template <class Read> auto computed(const Read &read);
  void expect_columns(const at::Tensor &input);
  // Where the outputs are those of the first input, what has seen nothing gets those of the other.
  static void agree_on_outputs(Handle &a, Handle &b);
  // Makes it a metric of so many outputs, if it has seen nothing.
  void resize(int64_t num_outputs);

  const Kind *kind_;
  Maker maker_;
  Resizer resizer_;
  bool by_class_;
  std::shared_ptr<Metric> metric_; // of this handle alone, but for a collection that is updated
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
};

// Several cores as one: moved, merged, synchronised and updated together. Those of a collection, or
// of a metric that is made of metrics.
class Bundle final : public Core {
public:
  using Parts = std::vector<std::pair<std::string, std::shared_ptr<Core>>>;

  Bundle(std::string name, Parts parts);
  void collect(std::vector<Handle *> &handles) override;
  Stateful &stateful() override { return together_; }
  std::shared_ptr<Core> fresh() override;

  // Runs `update`, a function of Python; where it throws, all states are as they were. Those of
  // part `last`, the last to change, may change in place.
  void all_or_nothing(PyObject *update, int64_t last);
  // The states of all parts, which are of one kind, the newest first, as those of one metric.
  std::shared_ptr<Handle> merged();

  int64_t updates() override { return updates_; }
  void set_updates(int64_t updates) override { updates_ = updates; }

protected:
  void expect_states(const torch::OrderedDict<std::string, at::Tensor> &states) override;
  void merge_states(Core &other) override;
  void swap_counts(Core &other) override;

private:
  class Together : public Stateful {
  public:
    Together(std::string name, const Parts &parts) : name_(std::move(name)), parts_(parts) {}
    std::string name() const override { return name_; }
    void merge(const Together &other) { merge_states(other); }
    template <class Update> void update(const Stateful &last, const Update &update) {
      all_or_nothing(last, update);
    }

  protected:
    void collect(const std::string &prefix, Holders &holders) const override;
    std::string signature() const override;

  private:
    std::string name_;
    const Parts &parts_;
  };

  // Of this one and all in it.
  void count_updates(std::vector<std::pair<Bundle *, int64_t>> &counts);

  std::string name_;
  Parts parts_;
  Together together_;
  std::atomic<int64_t> updates_ = 0;
};

// All kinds, in the order of their lines. They are never freed, as they hold Python's objects.
std::vector<std::unique_ptr<Kind>> &kinds();

// `given` as a tensor: the input of that index of update().
at::Tensor tensor_input(const Kind &kind, size_t index, PyObject *given);

// Whether update() takes three tensors, of which the third need not be given where it is a weight.
template <class M>
constexpr bool kOfThree = requires(M &metric, const at::Tensor &x) { metric.update(x, x, x); };
template <class M> constexpr bool kWeighted = std::is_base_of_v<WeightedMetric, M>;

// update(preds, target), update(preds, target, weight=None), update(preds, target, indexes).
template <class M> void update(Handle &handle, PyObject *const *inputs) {
  const at::Tensor preds = tensor_input(handle.kind(), 0, inputs[0]);
  const at::Tensor target = tensor_input(handle.kind(), 1, inputs[1]);
  handle.expect(preds);
  if constexpr (kOfThree<M>) {
    if (!kWeighted<M> || (inputs[2] && inputs[2] != Py_None)) {
      const at::Tensor third = tensor_input(handle.kind(), 2, inputs[2]);
      handle.update<M>([&](M &metric) { metric.update(preds, target, third); });
      return;
    }
  }
  if constexpr (!kOfThree<M> || kWeighted<M>)
    handle.update<M>(
        [&](M &metric) { static_cast<SupervisedMetric &>(metric).update(preds, target); });
}

// The results of a metric whose result() has them by name, in the order of TorchMetrics' tuples:
//   static inline const std::vector<std::pair<const char *, at::Tensor Result::*>> kAll;
template <class Result> struct Fields;

// The fields that are defined of a result, and of the results of several classes, by class.
template <class Result> Values fields(const Result &result) {
  Values values;
  for (const auto &[name, field] : Fields<Result>::kAll)
    if ((result.*field).defined())
      values.push_back(result.*field);
  return values;
}
template <class Result> Values fields(const std::vector<Result> &classes) {
  Values values;
  for (const auto &[name, field] : Fields<Result>::kAll) {
    std::vector<at::Tensor> of_classes;
    for (const Result &result : classes)
      of_classes.push_back(result.*field);
    values.push_back(std::move(of_classes));
  }
  return values;
}

template <class M> Values compute(const Metric &metric, bool by_class) {
  const auto &known = static_cast<const M &>(metric);
  if constexpr (requires { known.results(); })
    if (by_class)
      return fields(known.results());
  if constexpr (requires { known.result(); })
    return fields(known.result());
  else
    return {known.compute()};
}

template <class M> void check_valid(const Metric &metric) {
  if constexpr (requires(const M &m) { m.check_valid(); })
    static_cast<const M &>(metric).check_valid();
  else if constexpr (requires(const M &m) { m.check_nan(); })
    static_cast<const M &>(metric).check_nan();
}

template <class M> auto query_values_of() -> at::Tensor (*)(const Metric &) {
  if constexpr (requires(const M &m) { m.query_values(); })
    return [](const Metric &metric) { return static_cast<const M &>(metric).query_values(); };
  else
    return nullptr;
}

template <class M>
auto of_images_of() -> at::Tensor (*)(const Metric &, const at::Tensor &, const at::Tensor &) {
  if constexpr (requires(const M &m, const at::Tensor &x) { m.of_images(x, x); })
    return [](const Metric &metric, const at::Tensor &preds, const at::Tensor &target) {
      return static_cast<const M &>(metric).of_images(preds, target);
    };
  else
    return nullptr;
}

// Makes M known to Python.
template <class M, class Options>
void bind(const char *domain, const char *name, const char *function, About about) {
  kinds().push_back(std::make_unique<Kind>(Kind{name,
                                                function,
                                                domain,
                                                std::move(about),
                                                {},
                                                {},
                                                update<M>,
                                                {},
                                                compute<M>,
                                                check_valid<M>,
                                                query_values_of<M>(),
                                                of_images_of<M>()}));
  Kind &kind = *kinds().back();
  if constexpr (kWeighted<M>) {
    kind.about.inputs.push_back("weight");
    kind.about.optional_inputs = 1;
  }
  const Options blank = blank_options<Options>();
  each_option<Options>([&](const char *option, bool required, auto get, auto) {
    using T = std::decay_t<decltype(get(blank))>;
    kind.arguments.push_back({option, Conversion<T>::annotation(), required && !kOptional<T>,
                              Conversion<T>::to(get(blank))});
  });
  if constexpr (requires(const M &m) { m.result(); })
    for (const auto &[result, field] : Fields<decltype(std::declval<const M &>().result())>::kAll)
      kind.results.push_back(result);
  kind.make = [&kind](PyObject *given) {
    const Options options = options_from<Options>(kind.name, given);
    bool by_class = false;
    if constexpr (requires { options.thresholds(); })
      by_class = !options.thresholds() && Options::kTask != Task::kBinary;
    if constexpr (requires { options.average() == Average::kNone; })
      by_class = by_class && options.average() == Average::kNone;
    Handle::Resizer resizer;
    if constexpr (requires(Options &o) { o.num_outputs(1); })
      if (find(given, "num_outputs") == Py_None)
        resizer = [options](int64_t num_outputs) {
          Options resized = options;
          resized.num_outputs(num_outputs);
          return std::make_unique<M>(resized);
        };
    return std::make_shared<Handle>(
        kind, [options] { return std::make_unique<M>(options); }, by_class, resizer);
  };
}

void bind_classification();
void bind_detection();
void bind_image();
void bind_aggregation();
void bind_regression();
void bind_retrieval();
void bind_segmentation();
void bind_text();

} // namespace devsan::metrics::python
