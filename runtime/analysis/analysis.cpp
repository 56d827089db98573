#include "runtime/analysis/analysis.h"
#include "core/finding/merge.h"
#include "runtime/detectors/detector.h"
#include "runtime/read/home_device.h"
#include "runtime/read/processes.h"
#include "runtime/resolve/resolve.h"
#include "runtime/resolve/step_times.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <tuple>

namespace devsan::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBinariesNamed = 8;

struct Process {
  fs::path log;
  FileHeader header;
  ProcessRole role;
  std::optional<DeviceId> home;
};

std::vector<DeviceId> homesOfOthers(const std::vector<Process> &processes, const Process &one) {
  std::vector<DeviceId> homes;
  for (const Process &process : processes)
    if (&process != &one && process.home)
      homes.push_back(*process.home);
  return homes;
}

void describe(const ProcessLog &log, Analysis &analysis) {
  std::vector<std::string> &notes = analysis.notes;
  analysis.incomplete |= log.dropped > 0 || !log.damage.empty();
  notes.insert(notes.end(), log.damage.begin(), log.damage.end());
  if (log.dropped)
    notes.push_back("process " + std::to_string(log.header.pid) + ": " +
                    std::to_string(log.dropped) +
                    " events found no room in the log and are missing here");
  if (log.without_place)
    notes.push_back("process " + std::to_string(log.header.pid) + ": " +
                    std::to_string(log.without_place) +
                    " events came after too many different ones and are counted without their "
                    "place");
  if (const std::uint32_t python = log.header.unreadable_python)
    notes.push_back("process " + std::to_string(log.header.pid) + ": the frames of Python " +
                    std::to_string(python >> 8) + "." + std::to_string(python & 0xff) +
                    " cannot be read, stacks show native frames only");
}

void describeMissingLines(Analysis &analysis) {
  std::set<std::string> binaries;
  for (const core::Finding &finding : analysis.findings)
    for (const core::Location &place : finding.locations)
      if (!place.line && !place.file.empty())
        binaries.insert(place.file);
  std::size_t named = 0;
  for (const std::string &binary : binaries) {
    if (named++ == kBinariesNamed) {
      analysis.notes.push_back(std::to_string(binaries.size() - kBinariesNamed) +
                               " more binaries have no line tables");
      break;
    }
    analysis.notes.push_back(binary +
                             " has no line tables: compile it with -g1 to see which lines");
  }
}

void describeUnusedDevices(const std::vector<Process> &processes, std::vector<std::string> &notes) {
  const bool unused =
      !processes.empty() && std::ranges::all_of(processes, [](const Process &process) {
        return process.header.no_device_used != 0;
      });
  if (!unused)
    return;
  const bool simulated = std::ranges::any_of(
      processes, [](const Process &process) { return process.header.simulated_devices > 0; });
  notes.push_back(
      simulated ? "the program used none of the simulated devices: does it ask for \"cuda\"?"
                : "the program's LibTorch is for the CPU alone: with --sim=N it sees N simulated "
                  "CUDA devices");
}

// Ranks and forked children have the same kernels: once for all processes.
void describeIdleKernels(const std::vector<Process> &processes, std::vector<std::string> &notes) {
  unsigned kernels = 0;
  for (const Process &process : processes)
    kernels = std::max<unsigned>(kernels, process.header.kernels_without_effect);
  if (kernels)
    notes.push_back(std::to_string(kernels) + (kernels == 1 ? " GPU kernel" : " GPU kernels") +
                    " of the program computed nothing on the simulated devices, so what depends on "
                    "their results was not seen: give them host implementations "
                    "(devsan.host_kernel, devsan/host_kernel.h)");
}

// Once for all processes.
void describeLackOfSteps(std::vector<std::string> &notes) {
  const std::string note = "the warm-up exempts nothing, because the program ends no step: an "
                           "optimizer's step does, or devsan.step()";
  if (std::ranges::find(notes, note) == notes.end())
    notes.push_back(note);
}

// Which process comes first decides whose words a merged finding has, so the order must not be that
// of the process numbers: ranks first, each before its workers.
void assignRoles(std::vector<Process> &processes) {
  std::vector<FileHeader> headers;
  for (const Process &process : processes)
    headers.push_back(process.header);
  const std::vector<ProcessRole> roles = rolesOf(headers);
  for (std::size_t i = 0; i < processes.size(); ++i)
    processes[i].role = roles[i];
  std::ranges::sort(processes, {}, [](const Process &process) {
    return std::tuple(!process.role.rank, process.role.rank.value_or(0), process.role.worker,
                      process.header.start_time_ns, process.header.pid);
  });
}

// The log itself goes away before anything is made of it: the largest are some 100 MB.
Recording recordingOf(const Process &process, std::vector<DeviceId> homes_of_others,
                      const SymbolTable &symbols, const AnalysisSettings &settings,
                      std::vector<core::StepTimes> &step_times) {
  Recording recording{SourcePaths(settings.working_directory)};
  if (core::Result<ProcessLog> log = readLog(process.log)) {
    recording.add(*log, symbols);
    core::StepTimes times = stepTimesOf(*log, recording.stepNumbers());
    times.rank = process.role.rank;
    times.worker = process.role.worker;
    if (!times.columns.empty())
      step_times.push_back(std::move(times));
  }
  recording.setHomesOfOthers(std::move(homes_of_others));
  return recording;
}

// Of processes on several machines too. JSON has whole numbers up to 2^53.
std::uint64_t identityOf(const FileHeader &header) {
  const std::uint64_t mixed = (header.start_time_ns ^ std::uint64_t{header.pid} << 40) *
                              0x9e3779b97f4a7c15; // the golden ratio spreads over the upper bits
  return mixed >> 11;
}

core::StepLoad loadOf(const core::Finding &finding, const FileHeader &header) {
  const core::Steps &steps = finding.steps;
  return {identityOf(header), steps.first, steps.last, steps.total ? steps.most : finding.count};
}

std::vector<core::Finding> findingsOf(const Process &process, std::uint32_t index,
                                      std::vector<DeviceId> homes_of_others,
                                      const SymbolTable &symbols, const AnalysisSettings &settings,
                                      Analysis &analysis) {
  Recording recording =
      recordingOf(process, std::move(homes_of_others), symbols, settings, analysis.step_times);
  analysis.steps = std::max<std::uint64_t>(analysis.steps, recording.steps());
  if (recording.endWarmupWithoutSteps())
    describeLackOfSteps(analysis.notes);
  std::vector<core::Finding> findings;
  try {
    findings = detectAll(recording);
  } catch (const std::exception &error) {
    analysis.notes.push_back(
        "process " + std::to_string(process.header.pid) +
        ": its findings are missing, because a detector failed: " + error.what());
    analysis.incomplete = true;
  }
  for (core::Finding &finding : findings) {
    finding.rank = process.role.rank;
    finding.ranks = {{process.role.rank, process.role.worker, 1, finding.count, finding.bytes,
                      finding.blocked_ns}};
    finding.loads = {loadOf(finding, process.header)};
    if (!settings.for_trace)
      finding.events = {};
    for (core::ObservedEvent &event : finding.events)
      event.process = index;
  }
  if (settings.take_away)
    std::erase_if(findings, settings.take_away);
  return findings;
}

} // namespace

core::Result<std::vector<fs::path>> logsIn(const fs::path &directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".devsanlog")
      paths.push_back(entry->path());
  if (error)
    return core::failure("cannot read " + directory.string() + ": " + error.message());
  std::ranges::sort(paths);
  return paths;
}

Analysis analyse(const std::vector<fs::path> &logs, const AnalysisSettings &settings) {
  Analysis analysis;
  analysis.torch_was_loaded = !logs.empty();
  // Each log is read twice, first for the addresses: names for all are looked up at once, because
  // the symbolizer spends its time on opening LibTorch.
  std::vector<Process> processes;
  std::set<CodeAddress> addresses;
  for (const fs::path &path : logs) {
    core::Result<ProcessLog> log = readLog(path);
    if (!log) {
      analysis.unreadable.push_back(log.error().message);
      analysis.incomplete = true;
      continue;
    }
    describe(*log, analysis);
    addresses.merge(Recording::addresses(*log));
    processes.push_back(
        {path, log->header, {}, homeDevice(log->tallies, log->header.simulated_devices > 0)});
    analysis.simulated |= log->header.simulated_devices > 0;
  }
  // Without names a wait that the program asked for cannot be told from another.
  SymbolTable table;
  if (core::Result<void> named = symbolize(settings.symbolizer, addresses, table); !named) {
    analysis.notes.push_back(named.error().message);
    analysis.incomplete = true;
  }
  describeUnusedDevices(processes, analysis.notes);
  describeIdleKernels(processes, analysis.notes);
  assignRoles(processes);
  core::Merger merger;
  std::vector<core::RankShare> present;
  std::uint32_t index = settings.first_process;
  for (const Process &process : processes) {
    present.push_back({process.role.rank, process.role.worker});
    merger.add(
        findingsOf(process, index++, homesOfOthers(processes, process), table, settings, analysis));
    if (settings.for_trace)
      analysis.observed.processes.push_back(
          {process.log, process.role, process.header.start_time_ns});
  }
  if (settings.for_trace) {
    analysis.observed.symbols = std::move(table);
    analysis.observed.working_directory = settings.working_directory;
  }
  analysis.processes = processes.size();
  analysis.ranks = core::ranksIn(present);
  analysis.findings = merger.take();
  core::limitColumns(analysis.step_times);
  describeMissingLines(analysis);
  return analysis;
}

} // namespace devsan::runtime
