#include "core/report/explain.h"
#include "core/finding/cost.h"
#include "core/finding/ownership.h"
#include "core/finding/rule_table.h"
#include "core/text/quantities.h"
#include "core/text/terminal_text.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace devsan::core {
namespace {

constexpr std::string_view kOutside = "(outside)";
// What follows is the same on each machine.
constexpr std::array<std::string_view, 3> kInstalled = {"site-packages/", "dist-packages/",
                                                        "/lib/python3"};

std::string publicFile(std::string_view file) {
  for (const std::string_view part : kInstalled)
    if (const std::size_t at = file.rfind(part); at != file.npos)
      return std::string(file.substr(at));
  return std::string(file.starts_with('/') ? kOutside : file);
}

std::string placeText(const Location &place) {
  if (place.file.empty())
    return "no place";
  return publicFile(place.file) + (place.line ? fmt::format(":{}", place.line) : "") +
         (place.function.empty() ? "" : " in " + place.function);
}

std::string whose(const Frame &frame) {
  return frame.own ? "own" : frame.user ? "program" : "torch";
}

std::string severityText(const Finding &finding) {
  const Rule *rule = findRule(finding.rule);
  std::string text = std::string(name(finding.severity));
  if (rule && rule->severity != finding.severity)
    text += fmt::format(", where the rule's is {}", name(rule->severity));
  return text;
}

std::string ownershipText(const Finding &finding) {
  if (!finding.library.empty())
    return fmt::format("inside {}: no frame below is the project's own", finding.library);
  if (finding.stack.empty())
    return "nothing is known of who called";
  const Frame *nearest = nearestOwn(finding);
  return nearest ? "called by the project's own code at " + publicPlace(*nearest)
                 : "the place is the project's own code, or nobody knows who called";
}

std::string costText(const Finding &finding, const CostBasis &basis) {
  const std::optional<Cost> cost = costOf(finding, basis);
  return cost ? fmt::format("{}, {}", durationText(cost->saves_ns),
                            cost->measured ? "measured" : "estimated")
              : "no matter of time";
}

} // namespace

std::string publicPlace(const Frame &frame) {
  const Location &place = frame.location;
  if (!place.file.empty())
    return publicFile(place.file) + (place.line ? fmt::format(":{}", place.line) : "");
  if (frame.user && frame.module.starts_with('/'))
    return publicFile(frame.module);
  return frame.module.substr(frame.module.rfind('/') + 1);
}

std::string withoutPaths(std::string_view text) {
  constexpr std::string_view kEnd = " \t\n'\"`),;:";
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins = i == 0 || std::string_view(" \t\n'\"`(=").find(text[i - 1]) != text.npos;
    if (begins && text[i] == '/' && i + 1 < text.size() && kEnd.find(text[i + 1]) == text.npos) {
      result += kOutside;
      i = std::min(text.find_first_of(kEnd, i), text.size());
    } else {
      result += text[i++];
    }
  }
  return result;
}

std::string explanation(const Finding &finding, const Summary &summary) {
  std::string text;
  const auto add = [&](std::string_view what, const std::string &value) {
    if (!value.empty())
      text += printable(fmt::format("{}: {}", what, withoutPaths(value))) + "\n";
  };
  add("finding", fmt::format("{} {}, {}", finding.rule, finding.fingerprint,
                             finding.origin == Origin::kStatic ? "predicted by devsan check"
                                                               : "observed by devsan run"));
  add("version", DEVSAN_VERSION);
  add("severity", severityText(finding));
  add("says", finding.message);
  add("advises", adviceOf(finding));
  add("place", placeText(finding.locations.empty() ? Location{} : finding.locations.front()));
  if (finding.origin == Origin::kRuntime) {
    add("devices", summary.basis.simulated ? "simulated" : "real");
    add("happened",
        fmt::format("{}{}{}", timesText(finding.count),
                    finding.bytes ? ", " + bytesText(finding.bytes) : "",
                    finding.steps.total ? ", " + stepsText(finding.steps) : ", no steps"));
    add("costs", costText(finding, summary.basis));
  }
  add("operator", finding.op);
  if (!finding.from.empty())
    add("from, to", finding.from + (finding.to.empty() ? "" : ", " + finding.to));
  if (finding.origin == Origin::kRuntime)
    add("whose", ownershipText(finding));
  for (const Related &related : finding.related)
    add("related", placeText(related.location) + ": " + related.message);
  if (!finding.stack.empty())
    text += "frames that a report shows, innermost first:\n";
  for (const Frame &frame : finding.stack)
    text += printable(fmt::format("  {:8}{} at {}", whose(frame), frame.location.function,
                                  publicPlace(frame))) +
            "\n";
  return text;
}

} // namespace devsan::core
