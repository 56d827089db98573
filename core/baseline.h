// A baseline holds the findings that a project lives with for now: runs fail on new ones only. It
// is a file that is committed, one line for each finding, sorted, so that differences read well:
//
//   {"schema": "devsan-baseline/1", "findings": [
//     {"rule": …, "severity": …, "origin": …, "fingerprint": …, "file": …, "function": …}]}
#pragma once

#include "core/finding.h"
#include "core/result.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace devsan::core {

class Baseline {
public:
  // `source` names the input in errors.
  static Result<Baseline> parse(std::string_view text, const std::string &source);

  // Sets `known` of each finding. One that has become more severe than it was is not known. Needs
  // fingerprints.
  void apply(std::span<Finding> findings);

  // "device-host-sync in train.cpp, function step" for each entry of `origin` that no finding stood
  // for. Entries of the other origin are another tool's.
  std::vector<std::string> stale(Origin origin) const;

  // Makes the entries of `origin` those of `findings`. Where only a part of the program was seen,
  // `keep_others` leaves the entries that no finding stands for.
  void update(std::span<const Finding> findings, Origin origin, bool keep_others);

  std::string text() const;

private:
  struct Entry {
    Severity severity = Severity::kWarning;
    Origin origin = Origin::kRuntime;
    std::string file;
    std::string function;
    bool found = false;
  };
  using Key = std::pair<std::string, std::string>; // rule and fingerprint
  static Entry entryOf(const Finding &finding);

  std::map<Key, Entry> entries_;
};

} // namespace devsan::core
