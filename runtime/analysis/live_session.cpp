#include "runtime/analysis/live_session.h"

#include "core/finding/merge.h"
#include "core/system/whole_file.h"
#include "runtime/detectors/detector.h"
#include "runtime/read/processes.h"
#include "runtime/resolve/resolve.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <tuple>

namespace devsan::runtime {
namespace {

namespace fs = std::filesystem;

// 0 where the process is gone.
std::uint32_t parentOf(std::uint32_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(stat, text);
  // The name in parentheses may hold anything.
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos || end + 4 >= text.size())
    return 0;
  return static_cast<std::uint32_t>(std::strtoul(text.c_str() + end + 4, nullptr, 10));
}

Occurrences sum(const Occurrences &a, const Occurrences &b) {
  Occurrences all = b;
  all.count += a.count;
  all.bytes += a.bytes;
  all.blocked_ns += a.blocked_ns;
  all.steps = 1;
  all.most_in_step = all.count;
  return all;
}

} // namespace

bool isKnownLive(std::string_view rule) {
  return rule != "device-extra-context";
}

LiveSession::LiveSession(LiveSettings settings)
    : settings_(std::move(settings)), symbols_(settings_.symbolizer) {}

bool LiveSession::isOurs(const FileHeader &header) const {
  if (settings_.process == 0)
    return true;
  std::uint32_t process = header.pid, parent = header.parent_pid;
  // A number comes again, so the way up is not taken for ever.
  for (int up = 0; up < 64 && process > 1; ++up) {
    if (process == settings_.process)
      return true;
    process = parent;
    parent = 0;
    const auto knows = [&](const FileHeader &other) {
      if (other.pid == process)
        parent = other.parent_pid;
    };
    for (const auto &[path, other] : others_)
      knows(other);
    for (const auto &[path, log] : logs_)
      knows(log.follower.log().header);
    if (parent == 0)
      parent = parentOf(process);
  }
  return false;
}

void LiveSession::findNewLogs() {
  std::error_code error;
  std::vector<fs::path> fresh;
  for (fs::directory_iterator entry(settings_.logs, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".devsanlog" && entry->is_regular_file(error) &&
        !logs_.contains(entry->path()) && !others_.contains(entry->path()))
      fresh.push_back(entry->path());
  for (const fs::path &path : fresh) {
    FileHeader header;
    const std::string head = core::readHead(path, sizeof header);
    std::memcpy(static_cast<void *>(&header), head.data(), head.size());
    // One that is only being made comes next time.
    if (head.size() != sizeof header || header.magic != kLogMagic)
      continue;
    if (header.version != FileHeader{}.version)
      note(path.filename().string() + " is of another version of DevSan and not read");
    if (isOurs(header))
      logs_.emplace(path, Log{LogFollower(path), {}});
    else
      others_.emplace(path, header);
  }
}

void LiveSession::update() {
  findNewLogs();
  for (auto &[path, log] : logs_)
    for (const TallyGrowth &growth : log.follower.read()) {
      auto [entry, added] = log.growth[current_].try_emplace(growth.tally, growth.occurrences);
      if (!added)
        entry->second = sum(entry->second, growth.occurrences);
    }
}

void LiveSession::enter(const std::string &what) {
  update();
  current_ = what;
}

std::vector<core::Finding> LiveSession::take(const std::string &what) {
  if (what == current_) // all else is there since it ended
    update();
  struct Process {
    const ProcessLog *log;
    ProcessRole role;
  };
  std::vector<Process> processes;
  std::vector<FileHeader> headers;
  std::set<CodeAddress> addresses;
  for (auto &[path, log] : logs_) {
    const auto mine = log.growth.find(what);
    if (mine == log.growth.end())
      continue;
    std::vector<TallyGrowth> chosen;
    for (const auto &[tally, occurrences] : mine->second)
      chosen.push_back({tally, occurrences});
    log.growth.erase(mine);
    const ProcessLog &only = log.follower.only(chosen);
    addresses.merge(Recording::addresses(only));
    headers.push_back(only.header);
    processes.push_back({&only, {}});
  }
  if (core::Result<void> named = symbols_.lookUp(addresses); !named)
    note(named.error().message);
  const std::vector<ProcessRole> roles = rolesOf(headers);
  for (std::size_t i = 0; i < processes.size(); ++i)
    processes[i].role = roles[i];
  std::ranges::sort(processes, {}, [](const Process &process) {
    const FileHeader &header = process.log->header;
    return std::tuple(!process.role.rank, process.role.rank.value_or(0), process.role.worker,
                      header.start_time_ns, header.pid);
  });
  core::Merger merger;
  for (const Process &process : processes) {
    Recording recording{SourcePaths(settings_.working_directory)};
    recording.add(*process.log, symbols_.table());
    std::vector<core::Finding> findings = detectAll(recording);
    std::erase_if(findings,
                  [](const core::Finding &finding) { return !isKnownLive(finding.rule); });
    for (core::Finding &finding : findings) {
      finding.rank = process.role.rank;
      finding.ranks = {{process.role.rank, process.role.worker, 1, finding.count, finding.bytes,
                        finding.blocked_ns}};
    }
    merger.add(std::move(findings));
  }
  return merger.take();
}

void LiveSession::note(const std::string &sentence) {
  if (noted_.insert(sentence).second)
    notes_.push_back(sentence);
}

std::vector<std::string> LiveSession::takeNotes() {
  return std::exchange(notes_, {});
}

} // namespace devsan::runtime
