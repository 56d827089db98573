#include "core/finding/merge.h"
#include "core/finding/cost.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>
#include <utility>

namespace devsan::core {
namespace {

// Beyond these, findings keep the user's own frames alone: stacks are most of their memory.
constexpr std::size_t kWholeStacks = 10'000;

std::string_view kindOf(std::string_view device) {
  return device.substr(0, device.find(':'));
}

std::string identity(const Finding &finding) {
  const Location place = finding.locations.empty() ? Location{} : finding.locations.front();
  // What the analyzer says is the same in every report that holds it, or another finding.
  const bool is_static = finding.origin == Origin::kStatic;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", finding.rule, name(finding.origin),
                     place.file, place.line, place.column, place.function, finding.op,
                     kindOf(finding.from), kindOf(finding.to), is_static ? finding.message : "");
}

auto rankOrder(const RankShare &share) {
  // Processes of no rank come last.
  return std::tuple(!share.rank, share.rank.value_or(0), share.worker);
}

void addShare(std::vector<RankShare> &shares, const RankShare &added) {
  const auto place = std::ranges::lower_bound(shares, rankOrder(added), {}, rankOrder);
  if (place == shares.end() || rankOrder(*place) != rankOrder(added)) {
    shares.insert(place, added);
    return;
  }
  place->processes += added.processes;
  place->count += added.count;
  place->bytes += added.bytes;
  place->blocked_ns += added.blocked_ns;
}

void addLoad(std::vector<StepLoad> &loads, const StepLoad &added) {
  const auto place = std::ranges::lower_bound(loads, added.process, {}, &StepLoad::process);
  if (place == loads.end() || place->process != added.process) {
    loads.insert(place, added);
    return;
  }
  place->first = std::min(place->first, added.first);
  place->last = std::max(place->last, added.last);
  place->most += added.most;
}

void takeDescription(Finding &finding, Finding &&from) {
  finding.severity = std::max(finding.severity, from.severity);
  finding.message = std::move(from.message);
  finding.remedy = std::move(from.remedy);
  finding.from = std::move(from.from);
  finding.to = std::move(from.to);
  finding.thread = from.thread;
  finding.rank = from.rank;
  finding.locations = std::move(from.locations);
  finding.stack = std::move(from.stack);
  finding.related = std::move(from.related);
}

void joinSteps(Steps &steps, const Steps &other) {
  if (other.total == 0)
    return;
  steps.first = steps.total ? std::min(steps.first, other.first) : other.first;
  steps.total = std::max(steps.total, other.total);
  steps.seen = std::max(steps.seen, other.seen);
  steps.last = std::max(steps.last, other.last);
  steps.most = std::max(steps.most, other.most);
}

void join(Finding &finding, Finding &&other) {
  if (finding.origin == Origin::kRuntime) {
    finding.count += other.count;
    finding.bytes += other.bytes;
    finding.blocked_ns += other.blocked_ns;
    joinSteps(finding.steps, other.steps);
    finding.waits |= other.waits;
    for (const Location &place : other.locations)
      if (std::ranges::find(finding.locations, place) == finding.locations.end())
        finding.locations.push_back(place);
    finding.other_stacks.insert(finding.other_stacks.end(), other.other_stacks.begin(),
                                other.other_stacks.end());
    for (const RankShare &share : other.ranks)
      addShare(finding.ranks, share);
    for (const StepLoad &load : other.loads)
      addLoad(finding.loads, load);
    finding.events.insert(finding.events.end(), other.events.begin(), other.events.end());
  }
  finding.known &= other.known;
  if (finding.fingerprint.empty())
    finding.fingerprint = std::move(other.fingerprint);
  const bool was_foreign = !finding.library.empty();
  if (other.library.empty())
    finding.library.clear();
  if (other.severity > finding.severity || (was_foreign && finding.library.empty()))
    takeDescription(finding, std::move(other));
}

void keepUserFrames(Finding &finding) {
  std::erase_if(finding.stack, [](const Frame &frame) { return !frame.user; });
  finding.stack.shrink_to_fit();
}

std::string predictionAt(const Finding &finding, const Location &place) {
  return fmt::format("{}\n{}\n{}", finding.rule, place.file, place.line);
}

// The analyzer sees a tensor come to where it does not belong, a run sees it used: one bug, which
// was observed, and whose cure is known.
void joinPredictions(std::vector<Finding> &findings) {
  std::map<std::string, std::pair<Finding *, Related *>> explained;
  for (Finding &finding : findings)
    if (finding.origin == Origin::kRuntime)
      for (Related &related : finding.related)
        if (related.location.line)
          explained.try_emplace(predictionAt(finding, related.location), &finding, &related);
  std::vector<bool> is_joined(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    Finding &predicted = findings[i];
    if (predicted.origin != Origin::kStatic || predicted.locations.empty())
      continue;
    const auto found = explained.find(predictionAt(predicted, predicted.locations.front()));
    if (found == explained.end())
      continue;
    auto &[observed, related] = found->second;
    related->message += "; devsan check predicts it here";
    if (observed->fix.empty()) {
      observed->fix = predicted.fix;
      observed->caution = predicted.caution;
    }
    observed->predicted.push_back(std::move(predicted));
    is_joined[i] = true;
  }
  std::size_t i = 0;
  std::erase_if(findings, [&](const Finding &) { return is_joined[i++]; });
}

// "0", "1–7", "0, 2–4".
std::string listed(std::span<const int> numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
      ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
    if (end - i > 1)
      text += fmt::format("{}{}", end - i == 2 ? ", " : "–", numbers[end - 1]);
    i = end;
  }
  return text;
}

std::string ranksText(std::span<const int> seen, std::span<const int> all) {
  if (seen.size() == all.size() && all.size() == 2)
    return "both ranks";
  if (seen.size() == all.size())
    return fmt::format("all {} ranks", all.size());
  return fmt::format("rank{} {} only", seen.size() == 1 ? "" : "s", listed(seen));
}

} // namespace

void Merger::add(std::vector<Finding> findings) {
  sortByContent(findings);
  std::map<std::string, unsigned> ordinals;
  for (Finding &finding : findings) {
    std::string key = identity(finding);
    key += fmt::format("\n{}", ordinals[key]++);
    const auto [entry, added] = indices_.try_emplace(std::move(key), findings_.size());
    if (!added) {
      if (with_stack_ == kWholeStacks)
        keepUserFrames(finding);
      join(findings_[entry->second], std::move(finding));
      continue;
    }
    if (with_stack_ < kWholeStacks)
      ++with_stack_;
    else
      keepUserFrames(finding);
    findings_.push_back(std::move(finding));
  }
}

std::vector<Finding> Merger::take() {
  indices_.clear();
  with_stack_ = 0;
  joinPredictions(findings_);
  return std::exchange(findings_, {});
}

std::vector<int> ranksIn(std::span<const RankShare> shares) {
  std::set<int> ranks;
  for (const RankShare &share : shares)
    if (share.rank)
      ranks.insert(*share.rank);
  return {ranks.begin(), ranks.end()};
}

std::string whereSeen(const Finding &finding, std::span<const int> all_ranks) {
  std::vector<RankShare> own, workers;
  std::uint64_t worker_processes = 0, outside = 0;
  for (const RankShare &share : finding.ranks) {
    (share.worker ? workers : own).push_back(share);
    if (share.worker)
      worker_processes += share.processes;
    else if (!share.rank)
      outside += share.processes;
  }
  const auto processes = [](std::uint64_t count, std::string_view kind) {
    return count == 1 ? fmt::format("in a {}process", kind)
                      : fmt::format("in {} {}processes", count, kind);
  };
  std::vector<std::string> parts;
  if (all_ranks.size() > 1) {
    if (const std::vector<int> seen = ranksIn(own); !seen.empty())
      parts.push_back("on " + ranksText(seen, all_ranks));
    if (outside)
      parts.push_back(processes(outside, "") + " outside the ranks");
    if (worker_processes) {
      const std::vector<int> seen = ranksIn(workers);
      parts.push_back(processes(worker_processes, "worker ") +
                      (seen.empty() ? "" : " of " + ranksText(seen, all_ranks)));
    }
  } else {
    if (outside > 1)
      parts.push_back(processes(outside, ""));
    if (worker_processes)
      parts.push_back((own.empty() ? "" : "also ") + processes(worker_processes, "worker "));
  }
  return fmt::format("{}", fmt::join(parts, " and "));
}

} // namespace devsan::core
