// Reports turn findings into text. One function per format; none of them decides anything. `devsan
// check`, `devsan run` and `devsan report` call them.
#pragma once

#include "core/finding.h"
#include "core/result.h"

#include <span>
#include <string>
#include <vector>

namespace devsan::core {

// What a report says beside its findings.
struct Summary {
  std::string tool;             // "devsan check", "devsan run"
  std::string subject;          // what was looked at: "12 files", "./train --epochs 1"
  std::uint64_t suppressed = 0; // findings that a suppression took away
  std::vector<std::string> unused_suppressions = {};
  std::vector<std::string> notes = {}; // what was not covered, one sentence each
};

// clang's form, `path:line:col: warning: message [device-bare-cuda]`, related places and remedy as
// notes. With `color`, ANSI colours. The summary's notes come last.
std::string textReport(std::span<const Finding> findings, const Summary &summary, bool color);

// Schema devsan/1.
std::string jsonReport(std::span<const Finding> findings, const Summary &summary);
// `source` names the input in errors.
Result<std::vector<Finding>> readJsonReport(const std::string &text, const std::string &source);

} // namespace devsan::core
