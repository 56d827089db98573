#include "metrics/collection.h"

#include <algorithm>
#include <map>

#include "metrics/shared_states.h"

namespace devsan::metrics {

MetricCollection::MetricCollection(std::initializer_list<NamedMetric> metrics,
                                   const MetricCollectionOptions &options)
    : MetricCollection(std::vector<NamedMetric>(metrics), options) {}

MetricCollection::MetricCollection(const std::vector<NamedMetric> &metrics,
                                   const MetricCollectionOptions &options)
    : options_(options) {
  TORCH_CHECK(!metrics.empty(), name(), ": there is no metric; pass at least one");
  for (const NamedMetric &named : metrics) {
    TORCH_CHECK(named.metric().state_dict().is_empty(), name(), ": `", named.name(),
                "` has seen batches already, so that it can share no states; pass it after "
                "reset(), and its states with load_state_dict()");
    add(named.name(), named.metric());
  }
  share_states();
}

MetricCollection::MetricCollection(const MetricCollection &other)
    : Stateful(other), options_(other.options_), updated_(other.updated_) {
  for (size_t i = 0; i < other.entries_.size(); ++i) {
    add(other.entries_[i].name, *other.entries_[i].metric);
    for (size_t j = 0; j < i; ++j)
      if (SharedStates::joined(*other.entries_[i].metric, *other.entries_[j].metric)) {
        SharedStates::join(*entries_[i].metric, *entries_[j].metric);
        break;
      }
  }
}

MetricCollection MetricCollection::clone(const std::string &prefix,
                                         const std::string &postfix) const {
  MetricCollection copy(*this);
  copy.options_.prefix(prefix).postfix(postfix);
  return copy;
}

void MetricCollection::add(const std::string &name, const SupervisedMetric &metric) {
  TORCH_CHECK(!name.empty() && name.find('.') == std::string::npos, this->name(), ": `", name,
              "` is no name of a metric; pass one without dots");
  for (const Entry &entry : entries_)
    TORCH_CHECK(entry.name != name, this->name(), ": there are two metrics `", name,
                "`; give each a name of its own");
  entries_.push_back({name, detail::cloned(metric)});
}

void MetricCollection::share_states() {
  std::map<std::string, size_t> first_of;
  for (size_t i = 0; i < entries_.size(); ++i) {
    SupervisedMetric &metric = *entries_[i].metric;
    const std::string signature = options_.compute_groups() ? SharedStates::signature(metric) : "";
    if (!signature.empty()) {
      const auto [group, is_new] = first_of.emplace(signature, i);
      if (!is_new) {
        SharedStates::join(metric, *entries_[group->second].metric);
        continue;
      }
    }
    updated_.push_back(i);
  }
  // The last one to be updated can change its states in place, see all_or_nothing().
  const auto size = [&](size_t i) { return SharedStates::largest(*entries_[i].metric); };
  std::stable_sort(updated_.begin(), updated_.end(),
                   [&](size_t a, size_t b) { return size(a) < size(b); });
}

void MetricCollection::update(const at::Tensor &preds, const at::Tensor &target) {
  const auto update_all = [&] {
    for (const size_t i : updated_)
      entries_[i].metric->update(preds, target);
  };
  if (updated_.size() == 1)
    update_all();
  else
    all_or_nothing(*entries_[updated_.back()].metric, update_all);
}

torch::OrderedDict<std::string, at::Tensor> MetricCollection::compute() const {
  torch::OrderedDict<std::string, at::Tensor> values("Value");
  for (const Entry &entry : entries_) {
    const auto insert = [&](const std::string &key, const at::Tensor &value) {
      values.insert(options_.prefix() + key + options_.postfix(), value);
    };
    for (const auto &result : entry.metric->compute_dict())
      insert(result.key().empty() ? entry.name : entry.name + "_" + result.key(), result.value());
  }
  return values;
}

std::vector<std::string> MetricCollection::keys() const {
  std::vector<std::string> names;
  for (const Entry &entry : entries_)
    names.push_back(entry.name);
  return names;
}

const SupervisedMetric &MetricCollection::operator[](const std::string &key) const {
  for (const Entry &entry : entries_)
    if (entry.name == key)
      return *entry.metric;
  TORCH_CHECK(false, name(), ": there is no metric `", key, "`; it has ", keys());
}

std::vector<std::vector<std::string>> MetricCollection::compute_groups() const {
  std::vector<std::vector<std::string>> groups;
  std::vector<Metric *> firsts;
  for (const Entry &entry : entries_) {
    const auto first = std::find_if(firsts.begin(), firsts.end(), [&](Metric *other) {
      return SharedStates::joined(*other, *entry.metric);
    });
    const size_t place = first - firsts.begin();
    if (first == firsts.end()) {
      firsts.push_back(entry.metric.get());
      groups.emplace_back();
    }
    groups[place].push_back(entry.name);
  }
  return groups;
}

void MetricCollection::collect(const std::string &prefix, Holders &holders) const {
  for (const Entry &entry : entries_)
    collect_from(*entry.metric, prefix + entry.name + ".", holders);
}

std::string MetricCollection::signature() const {
  std::string text;
  for (const Entry &entry : entries_)
    text += (text.empty() ? "" : ", ") + entry.name + ": " + entry.metric->description();
  return text;
}

} // namespace devsan::metrics
