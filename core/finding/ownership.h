// Which code is the project's own: what its settings name, else what is not installed. A report
// puts first what own code causes; what happens inside a library that no own frame called is folded
// and fails nothing.
#pragma once

#include "core/finding/finding.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace devsan::core {

class Ownership {
public:
  // Globs on files as reports show them; none: what is not installed is own.
  explicit Ownership(std::vector<std::string> globs = {}) : globs_(std::move(globs)) {}

  // Tells the own frames of a stack from others, and names the library where there are frames of
  // the program, and no own one.
  void mark(std::span<Finding> findings) const;

private:
  bool isOwn(const Frame &frame) const;

  std::vector<std::string> globs_;
};

// The frame of own code that is nearest to the place of a finding; null where the place is own
// itself, or where there is none.
const Frame *nearestOwn(const Finding &finding);

// The finding's place, or where own code called what is at it.
Location ownPlace(const Finding &finding);

} // namespace devsan::core
