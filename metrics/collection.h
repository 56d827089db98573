// Metrics of the same predictions and targets as one: updated together, with the states that
// several of them have in common kept and counted once, and synchronised in one exchange.
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <torch/arg.h>

#include "metrics/metric.h"

namespace devsan::metrics {

struct MetricCollectionOptions {
  // Before and after each name in the results of compute().
  TORCH_ARG(std::string, prefix) = "";
  TORCH_ARG(std::string, postfix) = "";
  // Whether metrics share states.
  TORCH_ARG(bool, compute_groups) = true;
};

// A metric with its name in a collection, by default that of its class.
class NamedMetric {
public:
  template <std::derived_from<SupervisedMetric> M>
  NamedMetric(std::string name, const M &metric)
      : name_(std::move(name)), metric_(metric.clone()) {}
  template <std::derived_from<SupervisedMetric> M>
  NamedMetric(const M &metric) : NamedMetric(metric.name(), metric) {}

  const std::string &name() const { return name_; }
  const SupervisedMetric &metric() const { return static_cast<const SupervisedMetric &>(*metric_); }

private:
  std::string name_;
  std::shared_ptr<const Metric> metric_;
};

//   MetricCollection metrics({{"accuracy", MulticlassAccuracy(10)}, {"f1",
//   MulticlassF1Score(10)}}); metrics.update(preds, target); metrics.sync(group);
//   metrics.compute()["f1"]
//
// Which metrics share states follows from their classes and options alone (see
// Metric::state_signature()), so that it is the same on every rank and after every checkpoint; no
// value is ever compared. The collection has clones of its own of what it is given, and gives them
// out as const, so that none can be updated alone.
class MetricCollection : public Stateful {
public:
  MetricCollection(std::initializer_list<NamedMetric> metrics,
                   const MetricCollectionOptions &options = {});
  explicit MetricCollection(const std::vector<NamedMetric> &metrics,
                            const MetricCollectionOptions &options = {});
  // Clones that have seen the same and go on by themselves; they share states as these do.
  MetricCollection(const MetricCollection &other);
  MetricCollection clone() const { return *this; }
  // The same with other names in the results, e.g. of a copy for validation.
  MetricCollection clone(const std::string &prefix, const std::string &postfix = "") const;

  std::string name() const override { return "MetricCollection"; }

  // One batch for all metrics, which have to be able to take it: where one throws, none has seen
  // it. Each shared state is updated once.
  void update(const at::Tensor &preds, const at::Tensor &target);

  // The value of each metric, in their order. One of several results (see Metric::compute_dict())
  // has each under "<metric>_<result>".
  torch::OrderedDict<std::string, at::Tensor> compute() const;

  // Adds what `other` has seen, a collection of the same metrics under the same names, whether or
  // not either shares states.
  void merge(const MetricCollection &other) { merge_states(other); }

  size_t size() const { return entries_.size(); }
  std::vector<std::string> keys() const;
  // A metric by its name here, without prefix and postfix: its compute(), states() and whatever its
  // class has more.
  const SupervisedMetric &operator[](const std::string &key) const;
  template <std::derived_from<SupervisedMetric> M> const M &get(const std::string &key) const {
    const M *metric = dynamic_cast<const M *>(&(*this)[key]);
    TORCH_CHECK(metric, name(), ": `", key, "` is ", (*this)[key].name(),
                ", not the class asked for");
    return *metric;
  }

  // The names of the metrics that share states.
  std::vector<std::vector<std::string>> compute_groups() const;

protected:
  void collect(const std::string &prefix, Holders &holders) const override;
  std::string signature() const override;

private:
  struct Entry {
    std::string name;
    std::unique_ptr<SupervisedMetric> metric;
  };

  void add(const std::string &name, const SupervisedMetric &metric);
  // Joins the states of metrics that may share them, and finds the order of updates.
  void share_states();

  MetricCollectionOptions options_;
  std::vector<Entry> entries_;
  std::vector<size_t> updated_; // the first of each group, the one with most states last
};

} // namespace devsan::metrics
