// A baseline holds the findings that a project lives with for now: runs fail on new ones only. It
// is a file that is committed, one line for each finding, sorted, so that differences read well:
//
//   {"schema": "devsan-baseline/1", "findings": [
//     {"rule": …, "severity": …, "origin": …, "fingerprint": …, "file": …, "function": …,
//      "statement": …}]}
//
// A finding is known again by rule and fingerprint; what else stands there is for people.
#pragma once

#include "core/finding/finding.h"
#include "core/system/result.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace devsan::core {

// Whether a run looked for findings of a rule in a file. What it did not look at is not gone.
using IsAnalyzed = std::function<bool(const std::string &rule, const std::string &file)>;
bool everything(const std::string &rule, const std::string &file);
bool nothing(const std::string &rule, const std::string &file);

class Baseline {
public:
  // `source` names the input in errors.
  static Result<Baseline> parse(std::string_view text, const std::string &source);

  // Sets `known` of each finding. One that has become more severe than it was is not known. Needs
  // fingerprints.
  void apply(std::span<Finding> findings);

  // "device-host-sync in train.cpp, function step: loss.item();" for each entry of `origin` that
  // was looked for and that no finding stood for, by file, function and statement. Entries of the
  // other origin are another tool's.
  std::vector<std::string> stale(Origin origin, const IsAnalyzed &looked_at = everything) const;

  // Makes the entries of `origin` that were looked for those of `findings`; keeps the others.
  void update(std::span<const Finding> findings, Origin origin,
              const IsAnalyzed &looked_at = everything);

  std::string text() const;
  std::size_t size() const { return entries_.size(); }

private:
  struct Entry {
    Severity severity = Severity::kWarning;
    Origin origin = Origin::kRuntime;
    std::string file;
    std::string function;
    std::string statement;
    bool found = false;
  };
  using Key = std::pair<std::string, std::string>; // rule and fingerprint
  static Entry entryOf(const Finding &finding);

  std::map<Key, Entry> entries_;
};

} // namespace devsan::core
