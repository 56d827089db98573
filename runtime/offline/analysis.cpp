#include "runtime/offline/analysis.h"
#include "runtime/detectors/detector.h"
#include "runtime/offline/resolve.h"

#include <algorithm>

namespace devsan::runtime {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> logsIn(const fs::path &directory, std::vector<std::string> &notes) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".devsanlog")
      paths.push_back(entry->path());
  if (error)
    notes.push_back("cannot read " + directory.string() + ": " + error.message());
  std::ranges::sort(paths);
  return paths;
}

void describe(const ProcessLog &log, std::vector<std::string> &notes) {
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
  for (const std::string &binary : binaries)
    analysis.notes.push_back(binary +
                             " has no line tables: compile it with -g1 to see which lines");
}

void describeUnusedDevices(const std::vector<ProcessLog> &logs, std::vector<std::string> &notes) {
  const bool unused = !logs.empty() && std::ranges::all_of(logs, [](const ProcessLog &log) {
    return log.header.simulated_devices > 0 && log.header.no_device_used;
  });
  if (unused)
    notes.push_back("the program used none of the simulated devices: does it ask for \"cuda\"?");
}

} // namespace

Analysis analyse(const fs::path &log_directory, const fs::path &symbolizer) {
  Analysis analysis;
  std::vector<ProcessLog> logs;
  std::set<CodeAddress> addresses;
  for (const fs::path &path : logsIn(log_directory, analysis.notes)) {
    analysis.torch_was_loaded = true;
    core::Result<ProcessLog> log = readLog(path);
    if (!log) {
      analysis.notes.push_back(log.error().message);
      continue;
    }
    describe(*log, analysis.notes);
    addresses.merge(Recording::addresses(*log));
    logs.push_back(std::move(*log));
  }
  core::Result<SymbolTable> symbols = symbolize(symbolizer, addresses);
  if (!symbols)
    analysis.notes.push_back(symbols.error().message);
  const SymbolTable table = symbols ? std::move(*symbols) : SymbolTable();
  describeUnusedDevices(logs, analysis.notes);
  std::error_code error;
  Recording recording{SourcePaths(fs::current_path(error))};
  for (const ProcessLog &log : logs)
    recording.add(log, table);
  analysis.findings = detectAll(recording);
  describeMissingLines(analysis);
  return analysis;
}

} // namespace devsan::runtime
