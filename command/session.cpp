// `devsan session`: what test frameworks ask while the program runs. Lines on stdin, an answer to
// each on stdout:
//
//   enter WHAT                     what happens from now on belongs to WHAT; the answer is empty
//   judge WHAT [fail-on=RULES|SEVERITY|none] [max=RULE=N]… [allow=RULE]… [told=RULE]…
//                                  the findings of WHAT, which are forgotten then; those of `told`
//                                  have failed the test already
//
// What is allowed is noted for the report of the run. An answer is one line of JSON, or with
// --text, for programs without a JSON reader, a line "passed N LINE FILE", "failed …" or "error …"
// and N bytes of text; LINE is 0 where nothing has a place. The first answer comes unasked: which
// rules there are. Internal, like `devsan intent`: its form may change with the version.
#include "command/allowed.h"
#include "command/commands.h"
#include "command/observed.h"
#include "command/project.h"
#include "command/run_options.h"
#include "core/finding/fingerprint.h"
#include "core/finding/rule_table.h"
#include "core/report/baseline_file.h"
#include "core/system/project_root.h"
#include "core/text/quantities.h"
#include "core/text/terminal_text.h"
#include "runtime/analysis/live_session.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace devsan::command {
namespace {

using Json = nlohmann::ordered_json;

struct Request {
  std::string verb;
  std::string what;
  FailureCriteria failure;
  std::set<std::string, std::less<>> allowed;
  std::set<std::string, std::less<>> told;
};

struct Answer {
  std::string error;
  bool failed = false;
  std::vector<std::string> reasons;
  std::vector<core::Finding> shown;
  std::uint64_t allowed = 0;
  std::vector<std::string> notes;
  bool observed = false;
  std::string text;
};

std::vector<std::string> wordsOfLine(const std::string &line) {
  std::istringstream stream(line);
  std::vector<std::string> result;
  for (std::string word; stream >> word;)
    result.push_back(std::move(word));
  return result;
}

core::Result<Request> parse(const std::string &line, const std::string &default_fail_on) {
  const std::vector<std::string> parts = wordsOfLine(line);
  if (parts.size() < 2 || (parts[0] != "enter" && parts[0] != "judge"))
    return core::failure(
        "write `enter WHAT` or `judge WHAT [fail-on=…] [max=RULE=N] [allow=RULE] [told=RULE]`");
  Request request{parts[0], parts[1], {}, {}, {}};
  std::string fail_on = default_fail_on;
  std::vector<std::string> budgets;
  for (const std::string &part : std::span(parts).subspan(2)) {
    if (part.starts_with("fail-on="))
      fail_on = part.substr(8);
    else if (part.starts_with("max="))
      budgets.push_back(part.substr(4));
    else if (part.starts_with("allow="))
      request.allowed.insert(part.substr(6));
    else if (part.starts_with("told="))
      request.told.insert(part.substr(5));
    else
      return core::failure("unknown word '" + part + "'; valid: fail-on=, max=, allow=, told=");
  }
  for (const std::string &rule : request.allowed)
    if (!core::findRule(rule))
      return core::failure("allow: unknown rule " + core::notARule(rule));
  core::Result<FailureCriteria> failure = parseFailureCriteria(fail_on, budgets);
  if (!failure)
    return tl::unexpected(failure.error());
  request.failure = std::move(*failure);
  return request;
}

bool isOver(const core::Finding &finding, const FailureCriteria &failure) {
  return failure.failed(std::span(&finding, 1));
}

// Those that `is_wanted` chooses; the others stay.
template <typename Predicate>
std::vector<core::Finding> takeOut(std::vector<core::Finding> &findings,
                                   const Predicate &is_wanted) {
  std::vector<core::Finding> taken;
  std::erase_if(findings, [&](const core::Finding &finding) {
    const bool wanted = is_wanted(finding);
    if (wanted)
      taken.push_back(finding);
    return wanted;
  });
  return taken;
}

std::string placeOf(const core::Finding &finding) {
  if (finding.locations.empty() || finding.locations.front().file.empty())
    return "";
  const core::Location place = core::ownPlace(finding);
  return place.file + (place.line ? ":" + std::to_string(place.line) : "");
}

class Session {
public:
  Session(runtime::LiveSettings settings, core::Suppressions suppressions,
          core::BaselineFile baseline, std::string fail_on, core::Ownership ownership)
      : logs_(settings.logs), live_(std::move(settings)), filter_(std::move(suppressions)),
        baseline_(std::move(baseline)), fail_on_(std::move(fail_on)),
        ownership_(std::move(ownership)) {}

  Answer answer(const std::string &line) {
    Answer answer;
    const core::Result<Request> request = parse(line, fail_on_);
    if (!request) {
      answer.error = request.error().message;
      return answer;
    }
    if (request->verb == "enter")
      live_.enter(request->what);
    else
      judge(*request, answer);
    answer.notes = live_.takeNotes();
    answer.observed = live_.anyLog();
    return answer;
  }

private:
  void judge(const Request &request, Answer &answer) {
    std::vector<core::Finding> findings = live_.take(request.what);
    ownership_.mark(findings);
    std::erase_if(findings, filter_.function());
    core::sortByContent(findings);
    core::assignFingerprints(findings);
    const std::vector<core::Finding> allowed = takeOut(
        findings, [&](const auto &finding) { return request.allowed.contains(finding.rule); });
    answer.allowed = allowed.size();
    if (core::Result<void> noted = noteAllowed(logs_, allowed); !noted)
      answer.error = noted.error().message;
    core::Summary ignored;
    if (!findings.empty())
      if (core::Result<void> known = baseline_.apply(findings, {core::Origin::kRuntime}, ignored);
          !known)
        answer.error = known.error().message;
    std::erase_if(findings, [](const core::Finding &finding) { return finding.known; });
    core::rankByCost(findings, {.simulated = true}); // in the order that is the same each time
    const FailureCriteria &failure = request.failure;
    const std::vector<core::Finding> told = takeOut(findings, [&](const auto &finding) {
      return request.told.contains(finding.rule) && isOver(finding, failure);
    });
    answer.failed = failure.failed(findings);
    std::map<std::string, std::uint64_t> counts;
    for (const core::Finding &finding : findings)
      counts[finding.rule] += finding.count;
    for (const auto &[rule, most] : failure.budgets)
      if (counts[rule] > most) {
        const auto first = std::ranges::find(findings, rule, &core::Finding::rule);
        const std::string place = placeOf(*first);
        answer.reasons.push_back(rule + " happened " + core::timesText(counts[rule]) +
                                 ", allowed is " +
                                 (most ? "at most " + core::timesText(most) : "none") +
                                 (place.empty() ? "" : " (" + place + ")"));
      }
    for (core::Finding &finding : findings) {
      const auto budget = failure.budgets.find(finding.rule);
      const bool is_over = budget != failure.budgets.end() && counts[finding.rule] > budget->second;
      if (!is_over && isOver(finding, failure)) {
        const std::string place = placeOf(finding);
        answer.reasons.push_back((place.empty() ? "" : place + ": ") + finding.message + " [" +
                                 finding.rule + "]");
      }
      // Notes explain nothing unless they are what is limited.
      const bool matters = finding.library.empty() && finding.severity > core::Severity::kNote;
      if (is_over || matters || isOver(finding, failure))
        answer.shown.push_back(std::move(finding));
    }
    answer.shown.insert(answer.shown.begin(), told.begin(), told.end());
    answer.text = core::findingsText(answer.shown);
  }

  std::filesystem::path logs_;
  runtime::LiveSession live_;
  FindingFilter filter_;
  core::BaselineFile baseline_;
  std::string fail_on_;
  core::Ownership ownership_;
};

std::string dumped(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print(const Answer &answer, bool as_text) {
  if (as_text) {
    std::string text = answer.error.empty() ? "" : answer.error + "\n";
    for (const std::string &reason : answer.reasons)
      text += reason + "\n";
    text += answer.text;
    for (const std::string &note : answer.notes)
      text += "note: " + note + "\n";
    const core::Location place =
        answer.shown.empty() ? core::Location{} : core::ownPlace(answer.shown.front());
    std::printf("%s %zu %u %s\n",
                !answer.error.empty() ? "error"
                : answer.failed       ? "failed"
                                      : "passed",
                text.size(), place.line, core::printable(place.file).c_str());
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    Json findings = Json::array();
    for (const core::Finding &finding : answer.shown)
      findings.push_back({{"rule", finding.rule},
                          {"severity", core::name(finding.severity)},
                          {"place", placeOf(finding)},
                          {"message", finding.message},
                          {"remedy", core::remedyOf(finding)},
                          {"count", finding.count}});
    Json json = {{"failed", answer.failed},   {"reasons", answer.reasons},   {"findings", findings},
                 {"allowed", answer.allowed}, {"observed", answer.observed}, {"text", answer.text},
                 {"notes", answer.notes}};
    if (!answer.error.empty())
      json["error"] = answer.error;
    std::puts(dumped(json).c_str());
  }
  std::fflush(stdout);
}

void greet(bool as_text) {
  Json rules = Json::array();
  for (const core::Rule &rule : core::allRules())
    if (rule.on_runtime)
      rules.push_back({{"id", rule.id}, {"live", runtime::isKnownLive(rule.id)}});
  if (!as_text)
    std::puts(dumped({{"session", 1}, {"rules", rules}}).c_str());
  else
    std::puts("passed 0 0 ");
  std::fflush(stdout);
}

} // namespace

int session(const InstallTree &tree, const std::vector<std::string> &arguments) {
  constexpr const char *kUsage = "write `devsan session LOGS PROCESS|0 [--text]`; test frameworks "
                                 "ask this, and people need not";
  const bool as_text = arguments.size() == 3 && arguments[2] == "--text";
  std::uint32_t process = 0;
  if (arguments.size() != 2 && !as_text)
    return fail(kUsage);
  const std::string &number = arguments[1];
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), process);
  if (error != std::errc() || end != number.data() + number.size())
    return fail(kUsage);
  // The program's end, and nothing else, is ours: a key at the terminal means the program.
  for (int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE})
    std::signal(signal, SIG_IGN);
  RunArguments settings;
  if (core::Result<void> applied = applyProjectFile(settings); !applied)
    return fail(applied.error().message);
  core::Result<core::Suppressions> suppressions = readSuppressions({});
  if (!suppressions)
    return fail(suppressions.error().message);
  core::Result<core::BaselineFile> baseline =
      core::BaselineFile::open(settings.baseline, false, settings.baseline_is_found);
  if (!baseline)
    return fail(baseline.error().message);
  std::error_code ignored;
  const std::filesystem::path here = std::filesystem::current_path(ignored);
  std::filesystem::current_path(core::projectRootOf(here), ignored);
  Session session({arguments[0], process, tree.symbolizer(), here}, std::move(*suppressions),
                  std::move(*baseline), settings.fail_on.value_or(kDefaultFailOn),
                  core::Ownership(settings.own));
  greet(as_text);
  for (std::string line; std::getline(std::cin, line);)
    print(session.answer(line), as_text);
  return kSuccess;
}

} // namespace devsan::command
