// Findings while the program still runs, told apart by what it was doing: for test frameworks. The
// caller says at each change what begins; what any process of the session does from then on belongs
// to that, in child processes and on other threads too. One thread, in a process of its own.
#pragma once

#include "core/finding/finding.h"
#include "core/system/result.h"
#include "runtime/read/log_reader.h"
#include "runtime/resolve/symbols.h"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace devsan::runtime {

struct LiveSettings {
  std::filesystem::path logs; // the folder that the runtime writes to
  std::uint32_t process = 0;  // whose logs, and whose descendants'; 0: all in the folder
  std::filesystem::path symbolizer;
  std::filesystem::path working_directory; // of the program
};

class LiveSession {
public:
  explicit LiveSession(LiveSettings settings);

  // What happens from now on belongs to `what`. At the start it is "before".
  void enter(const std::string &what);

  // What belongs to `what` and was not taken yet. Which device a process uses otherwise is known at
  // its end only, so rules that ask for that find nothing here (see isKnownLive()).
  std::vector<core::Finding> take(const std::string &what);

  bool anyLog() const { return !logs_.empty(); }
  // What is not covered, one sentence each, each once.
  std::vector<std::string> takeNotes();

private:
  struct Log {
    LogFollower follower;
    std::map<std::string, std::map<std::uint32_t, Occurrences>> growth; // by what, by tally
  };

  void update();
  void findNewLogs();
  bool isOurs(const FileHeader &header) const;
  void note(const std::string &sentence);

  LiveSettings settings_;
  SymbolCache symbols_;
  std::string current_ = "before";
  std::map<std::filesystem::path, Log> logs_;
  std::map<std::filesystem::path, FileHeader> others_; // not the session's
  std::set<std::string> noted_;
  std::vector<std::string> notes_;
};

// Whether a rule's findings are known before the program has ended.
bool isKnownLive(std::string_view rule);

} // namespace devsan::runtime
