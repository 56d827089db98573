#include "analyzer/run/across_files.h"

#include "analyzer/calls/project_calls.h"
#include "analyzer/files/source_files.h"
#include "analyzer/model/data/project_data.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <tuple>

namespace devsan::analyzer {
namespace {

// A name that stands in more files is a common word there; reading them all is no part of looking
// at one.
constexpr std::size_t kMaxFiles = 64;

// The callers of the function around the finding decide on it.
bool dependsOnCallers(const core::Finding &finding) {
  return llvm::is_contained(kRulesOfCallers, llvm::StringRef(finding.rule));
}

// Those of the names that stand in the file; the first of them where one is enough.
llvm::StringSet<> namedIn(const std::string &file, const llvm::StringSet<> &names, bool one) {
  llvm::StringSet<> found;
  const std::string text = textOf(file);
  const auto continues_name = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (llvm::StringRef rest = text; !rest.empty() && !(one && !found.empty());) {
    rest = rest.drop_until(continues_name);
    const llvm::StringRef word = rest.take_while(continues_name);
    if (names.contains(word))
      found.insert(word);
    rest = rest.drop_front(word.size());
  }
  return found;
}

bool namesOneOf(const std::string &file, const llvm::StringSet<> &names) {
  return !namedIn(file, names, /*one=*/true).empty();
}

// By its text: a program without LibTorch has no tensors to look for.
bool mayKnowTensors(const std::string &file) {
  static const llvm::StringSet<> kWords{"torch", "ATen", "c10", "Tensor"};
  return namesOneOf(file, kWords);
}

// By its path in the project.
bool isTest(llvm::StringRef file) {
  llvm::StringRef folders = file.rsplit('/').first;
  folders.consume_front(projectRoot(file));
  for (llvm::StringRef folder; !folders.empty();) {
    std::tie(folder, folders) = folders.split('/');
    if (folder == "test" || folder == "tests" || folder == "unittests")
      return true;
  }
  const llvm::StringRef stem = llvm::sys::path::stem(file);
  return stem.starts_with("test_") || stem.ends_with("_test") || stem.ends_with("_tests");
}

core::Related relatedAt(const FileCalls::Place &place, std::string message) {
  core::Location location;
  location.file = place.file;
  location.line = place.line;
  location.column = place.column;
  return {std::move(location), std::move(message)};
}

// False where none of these functions runs on every step.
bool addStep(core::Finding &finding, const std::vector<std::string> &functions,
             const ProjectCalls &calls) {
  for (const std::string &usr : functions)
    if (const std::optional<ProjectCalls::Step> step = calls.stepAround(usr)) {
      if (!step->body.file.empty())
        finding.related.push_back(relatedAt(step->body, "'" + step->name + "' runs it"));
      return true;
    }
  return false;
}

struct KnownFiles {
  ProjectCalls calls;
  ProjectData data;
  // Of files that were parsed in part: what their data tells of, by name.
  std::vector<std::pair<std::string, llvm::StringSet<>>> partial;

  template <typename Files> void add(const Files &files, const std::vector<FileOutcome> &outcomes) {
    for (const auto &[file, outcome] : llvm::zip_equal(files, outcomes))
      if (outcome.result) {
        calls.add(outcome.result->calls);
        data.add(outcome.result->data, isTest(file));
        if (!outcome.result->isPartial())
          continue;
        auto &names = partial.emplace_back(file, llvm::StringSet<>()).second;
        for (const DataHolder &holder : outcome.result->data.holders) {
          names.insert(holder.name);
          names.insert(holder.owner);
        }
      }
    calls.settle();
    data.settle();
  }

  // Names that stand in code that was not understood: what it gives them is not known.
  llvm::StringSet<> lostNames(const std::vector<DataHolder> &holders) const {
    const llvm::StringSet<> wanted = data.namesToLookFor(holders);
    llvm::StringSet<> lost;
    for (const auto &[file, known] : partial)
      for (const auto &name : namedIn(file, wanted, /*one=*/false))
        if (!known.contains(name.getKey()))
          lost.insert(name.getKey());
    return lost;
  }
};

} // namespace

void resolveCrossFileFindings(
    const std::vector<CompileCommand> &commands, std::vector<FileOutcome> &outcomes, bool alone,
    llvm::function_ref<bool(const std::string &)> has_own_data,
    llvm::function_ref<std::vector<std::string>(const std::vector<std::string> &, Around)>
        others_around,
    llvm::function_ref<std::vector<FileOutcome>(const std::vector<std::string> &)> analyze) {
  KnownFiles known_files;
  known_files.add(
      llvm::map_range(commands,
                      [](const CompileCommand &command) { return llvm::StringRef(command.file); }),
      outcomes);
  const ProjectCalls &calls = known_files.calls;
  std::vector<std::string> files, functions, launchers, servants, steps;
  std::vector<DataHolder> holders, of_device;
  for (const auto &[command, outcome] : llvm::zip_equal(commands, outcomes)) {
    if (!outcome.result)
      continue;
    const auto count = [&] {
      return functions.size() + servants.size() + steps.size() + holders.size();
    };
    const std::size_t known = count();
    for (const auto &[finding, context] :
         llvm::zip_equal(outcome.result->findings, outcome.result->contexts)) {
      if (dependsOnCallers(finding))
        functions.push_back(context.function);
      if (!context.launcher.empty())
        launchers.push_back(context.launcher);
      llvm::append_range(servants, context.servants);
      llvm::append_range(steps, context.steps);
      if (!context.holder || alone)
        continue;
      holders.push_back(*context.holder);
      if (context.needs == Needs::kDeviceData && has_own_data(command.file))
        of_device.push_back(*context.holder);
    }
    if (count() != known)
      files.push_back(command.file);
  }
  if (files.empty())
    return;
  std::vector<std::string> others = others_around(files, Around::kProject);
  // False where files that might tell more were not read.
  const auto look_around = [&](auto names_to_look_for) {
    for (;;) {
      const llvm::StringSet<> names = names_to_look_for();
      const auto more = std::partition(others.begin(), others.end(), [&](const std::string &file) {
        return !namesOneOf(file, names);
      });
      const std::size_t count = others.end() - more;
      if (count == 0 || count > kMaxFiles)
        return count == 0;
      const std::vector<std::string> found(more, others.end());
      const std::vector<FileOutcome> read = analyze(found);
      known_files.add(found, read);
      if (!llvm::all_of(read,
                        [](const FileOutcome &outcome) { return outcome.result.has_value(); }))
        return false;
      others.erase(more, others.end());
    }
  };
  // By themselves: a common word among the names of one must not end the search of the other.
  if (!functions.empty()) {
    look_around([&] { return calls.namesToLookFor(functions, launchers, {}, {}); });
    std::erase_if(launchers, [&](const std::string &usr) { return calls.hasBody(usr); });
    if (!launchers.empty()) {
      std::vector<std::string> beside = others_around(files, Around::kRepository);
      std::swap(others, beside);
      look_around([&] { return calls.namesToLookFor({}, launchers, {}, {}); });
      std::swap(others, beside);
    }
  }
  if (!servants.empty() && (calls.knowTensors() || llvm::any_of(others, mayKnowTensors)))
    look_around([&] { return calls.namesToLookFor({}, {}, servants, {}); });
  if (!steps.empty())
    look_around([&] { return calls.namesToLookFor({}, {}, {}, steps); });
  const bool all_data_known =
      !holders.empty() &&
      llvm::all_of(outcomes,
                   [](const FileOutcome &outcome) { return outcome.result.has_value(); }) &&
      look_around([&] { return known_files.data.namesToLookFor(holders); });
  // What was not read may bring data to a device.
  const bool all_devices_known =
      of_device.empty() ||
      look_around([&] { return known_files.data.namesToLookFor(of_device, /*for_device=*/true); });
  const llvm::StringSet<> lost =
      all_data_known ? known_files.lostNames(holders) : llvm::StringSet<>();
  const auto is_on_host = [&](const DataHolder &holder) {
    return all_data_known && known_files.data.isOnHost(holder) &&
           llvm::none_of(known_files.data.namesToLookFor({holder}),
                         [&](const auto &name) { return lost.contains(name.getKey()); });
  };
  for (FileOutcome &outcome : outcomes)
    if (outcome.result)
      dropFindings(*outcome.result, [&](core::Finding &finding, FindingContext &context) {
        if (dependsOnCallers(finding) && calls.callersGuard(context.function))
          return true;
        if (!context.servants.empty() &&
            llvm::none_of(context.servants,
                          [&](const std::string &usr) { return calls.servesTensors(usr); }))
          return true;
        if (context.holder && is_on_host(*context.holder))
          return true;
        if (context.needs == Needs::kDeviceData && context.holder &&
            (!all_devices_known || known_files.data.isOnDevice(*context.holder)))
          context.needs = Needs::kDevice;
        if (!context.steps.empty() && !addStep(finding, context.steps, calls))
          return true;
        if (context.launcher.empty())
          return false;
        const FileCalls::Place *launch = calls.launchBy(context.launcher);
        if (!launch)
          return true;
        finding.related.push_back(relatedAt(*launch, "launched here"));
        return false;
      });
}

} // namespace devsan::analyzer
