#include "analyzer/run/schedule.h"

#include "analyzer/run/analyze_file.h"
#include "analyzer/run/header_server.h"

#include <llvm/ADT/StringExtras.h>

#include <deque>
#include <map>
#include <set>

namespace devsan::analyzer {
namespace {

// Files that one server can serve.
struct Group {
  ServedHeader served;
  std::deque<std::size_t> waiting;
  std::set<std::uint32_t> asked; // and not answered yet
  std::unique_ptr<HeaderServer> server;
  std::optional<std::chrono::steady_clock::time_point> deadline; // to be ready
  unsigned failures = 0;
  bool store_is_due = false;
  bool left = false;       // stores behind the run
  Group *storer = nullptr; // another group, whose server keeps the same headers

  bool willStore() const { return store_is_due || asked.contains(HeaderServer::kStore); }
  bool isDone() const { return waiting.empty() && asked.empty() && !store_is_due; }
  unsigned busy() const { return server ? asked.size() + !server->isReady() : 0; }
};

class Schedule {
public:
  Schedule(llvm::ArrayRef<CompileCommand> commands, const AnalysisSettings &settings,
           llvm::function_ref<void(std::size_t, FileOutcome)> done,
           llvm::function_ref<void()> parses_headers)
      : commands_(commands), settings_(settings), done_(done), parses_headers_(parses_headers),
        with_header_(commands.size()), has_crashed_(commands.size()), ended_(commands.size()) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
      std::optional<TorchHeader> header = torchHeaderOf(commands[i], settings.torch_version);
      if (!header) {
        alone_.push_back(i);
        continue;
      }
      if (!settings.use_cache)
        header->path.clear();
      const std::string key = header->key + '\n' + commands[i].folder + '\n' +
                              llvm::join(commands[i].local, "\n") + '\n' +
                              llvm::join(commands[i].own_folders, "\n");
      Group &group = groups_[key];
      if (group.waiting.empty()) {
        group.served = {*header, isStored(*header)};
        if (!group.served.is_stored && !header->path.empty()) {
          Group *&storer = storers_[header->path];
          group.store_is_due = !storer;
          if (storer)
            group.storer = storer;
          else
            storer = &group;
        }
      }
      group.waiting.push_back(i);
    }
  }

  void run() {
    while (!isOver()) {
      while (busy() < settings_.jobs && startOne())
        ;
      if (busy() == 0)
        break;
      await();
    }
    if (isOver())
      cancelRunning();
    if (!storers_.empty())
      trimTorchHeaders();
  }

private:
  bool isOver() const { return settings_.until && Processes::Clock::now() >= *settings_.until; }

  void cancelRunning() {
    alone_running_.clear();
    for (auto &[key, group] : groups_)
      group.server.reset();
    for (std::size_t i = 0; i < commands_.size(); ++i)
      if (!ended_[i])
        end(i, endedBy(Limit::kRun));
  }

  static FileOutcome endedBy(Limit limit) {
    FileOutcome outcome;
    outcome.limit = limit;
    return outcome;
  }

  void end(std::size_t file, FileOutcome outcome) {
    ended_[file] = true;
    done_(file, std::move(outcome));
  }

  std::size_t busy() const {
    std::size_t count = alone_running_.running();
    for (const auto &[key, group] : groups_)
      count += group.busy();
    return count;
  }

  bool startOne() {
    std::size_t servers = 0;
    for (auto &[key, group] : groups_) {
      servers += group.server != nullptr;
      if (!group.server || !group.server->isReady())
        continue;
      if (group.store_is_due &&
          (isAwaited(group) || (group.waiting.empty() && !gainsLater(group)))) {
        group.store_is_due = false;
        ask(group, HeaderServer::kStore);
        return true;
      }
      if (!group.waiting.empty()) {
        ask(group, static_cast<std::uint32_t>(group.waiting.front()));
        group.waiting.pop_front();
        return true;
      }
    }
    if (!alone_.empty()) {
      const std::size_t file = alone_.front();
      alone_.pop_front();
      if (const std::optional<int> out = alone_running_.fork(file, settings_.limit))
        Processes::finish(*out, serialize(analyzeFile(commands_[file], settings_.checks,
                                                      settings_.instead, !has_crashed_[file])));
      return true;
    }
    if (servers < settings_.jobs)
      for (auto &[key, group] : groups_)
        if (!group.server && !group.waiting.empty() &&
            !(group.storer && group.storer->willStore())) {
          start(group);
          return true;
        }
    return false;
  }

  // Whether storing can wait until the run is over but for this.
  bool gainsLater(const Group &group) const {
    return settings_.stores_behind && !group.asked.empty() && !anyWaits();
  }

  bool anyWaits() const {
    return !alone_.empty() ||
           llvm::any_of(groups_, [](const auto &entry) { return !entry.second.waiting.empty(); });
  }

  bool isAwaited(const Group &storer) const {
    return llvm::any_of(groups_, [&](const auto &entry) {
      return entry.second.storer == &storer && !entry.second.waiting.empty();
    });
  }

  void ask(Group &group, std::uint32_t number) {
    const bool is_last = group.waiting.empty() && group.asked.empty();
    group.asked.insert(number);
    if (number == HeaderServer::kStore && is_last) {
      group.left = settings_.stores_behind && !anyWaits();
      number = group.left ? HeaderServer::kStoreBehind : HeaderServer::kStoreAndEnd;
    }
    group.server->request(number);
  }

  void start(Group &group) {
    if (group.storer && group.failures == 0)
      group.served.is_stored = isStored(group.served.header);
    if (!group.served.is_stored && !std::exchange(told_, true))
      parses_headers_();
    group.server = HeaderServer::start(group.served, commands_, group.waiting.front(),
                                       settings_.checks, settings_.limit, settings_.instead);
    if (!group.server) {
      moveOut(group);
      return;
    }
    if (settings_.limit.count() > 0)
      group.deadline = std::chrono::steady_clock::now() + kClockFactor * settings_.limit;
  }

  void await() {
    std::vector<pollfd> files;
    std::vector<Group *> polled;
    for (auto &[key, group] : groups_)
      if (group.server) {
        files.push_back({group.server->file(), POLLIN, 0});
        polled.push_back(&group);
      }
    alone_running_.wait(files, deadline(), [&](std::size_t file, Outcome outcome) {
      finish(file, std::move(outcome), nullptr);
    });
    for (std::size_t i = 0; i < files.size(); ++i) {
      Group &group = *polled[i];
      const bool late = group.deadline && !group.server->isReady() &&
                        std::chrono::steady_clock::now() >= *group.deadline;
      const bool alive =
          !late && (!files[i].revents || group.server->receive([&](std::uint32_t file, Outcome o) {
            group.asked.erase(file);
            if (file != HeaderServer::kStore)
              finish(file, std::move(o), &group);
          }));
      if (!alive)
        serverDied(group, late);
      else if (group.isDone()) {
        if (group.left)
          group.server->leave();
        group.server.reset();
      }
    }
  }

  std::optional<std::chrono::steady_clock::time_point> deadline() const {
    std::optional<std::chrono::steady_clock::time_point> first = settings_.until;
    for (const auto &[key, group] : groups_)
      if (group.server && !group.server->isReady() && group.deadline &&
          (!first || *group.deadline < *first))
        first = group.deadline;
    return first;
  }

  void serverDied(Group &group, bool late) {
    const bool was_ready = group.server->isReady();
    const Limit ended_by = group.server->end();
    const Limit limit = late ? Limit::kTime : ended_by;
    group.server.reset();
    group.store_is_due = false;
    for (std::uint32_t file : group.asked)
      if (file != HeaderServer::kStore)
        alone_.push_back(file);
    group.asked.clear();
    if (group.served.is_stored)
      removeStored(group.served.header);
    // Where the kept headers may have been the reason, from their text once more.
    if (group.served.is_stored || (was_ready && group.failures == 0)) {
      ++group.failures;
      group.store_is_due = group.served.is_stored;
      group.served.is_stored = false;
    } else if (limit != Limit::kNone && !was_ready) {
      // The same headers would end each file by itself.
      for (std::size_t file : std::exchange(group.waiting, {}))
        end(file, endedBy(limit));
    } else {
      moveOut(group);
    }
  }

  void moveOut(Group &group) {
    alone_.insert(alone_.end(), group.waiting.begin(), group.waiting.end());
    group.waiting.clear();
    group.store_is_due = false;
  }

  // `group` is null for a file that was analysed by itself.
  void finish(std::size_t file, Outcome outcome, Group *group) {
    FileOutcome ended;
    ended.signal = outcome.signal;
    ended.limit = outcome.limit;
    if (outcome.text)
      if (core::Result<FileResult> result = parseFileResult(*outcome.text))
        ended.result = std::move(*result);
    const bool is_second = has_crashed_[file];
    has_crashed_[file] = is_second || (!ended.result && ended.limit == Limit::kNone);
    if (!group && has_crashed_[file] && !is_second) {
      alone_.push_back(file);
      return;
    }
    if (group) {
      // Errors in the user's code where headers are missing are these headers' fault; all others
      // may be ours: another order of includes, a header that has changed since.
      const bool doubtful =
          ended.result ? ended.result->errors_elsewhere ||
                             (ended.result->errors && ended.result->missing_headers.empty())
                       : ended.limit == Limit::kNone;
      if (doubtful) {
        with_header_[file] = {group, std::move(ended)};
        alone_.push_back(file);
        return;
      }
    } else if (with_header_[file].group) {
      FileOutcome &before = with_header_[file].outcome;
      Group &served = *with_header_[file].group;
      const bool better =
          ended.result && (!before.result || ended.result->errors < before.result->errors);
      if (better && served.served.is_stored)
        removeStored(served.served.header);
      if (!ended.result && before.result)
        ended = std::move(before);
      else
        ended.signal_behind_headers = before.signal;
    }
    end(file, std::move(ended));
  }

  struct WithHeader {
    Group *group = nullptr;
    FileOutcome outcome;
  };

  llvm::ArrayRef<CompileCommand> commands_;
  const AnalysisSettings &settings_;
  llvm::function_ref<void(std::size_t, FileOutcome)> done_;
  llvm::function_ref<void()> parses_headers_;
  bool told_ = false;
  std::map<std::string, Group> groups_;
  std::map<std::string, Group *> storers_; // by the path of the headers
  std::deque<std::size_t> alone_;
  Processes alone_running_;
  std::vector<WithHeader> with_header_;
  std::vector<bool> has_crashed_;
  std::vector<bool> ended_;
};

} // namespace

void analyzeAll(llvm::ArrayRef<CompileCommand> commands, const AnalysisSettings &settings,
                llvm::function_ref<void(std::size_t, FileOutcome)> done,
                llvm::function_ref<void()> parses_headers) {
  Schedule(commands, settings, done, parses_headers).run();
}

} // namespace devsan::analyzer
