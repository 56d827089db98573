// What of a project's code may run, as its text says: not what `#if 0` or `if (false && ready)`
// leave out, nor what only runs if a switch is on that nothing turns on.
#pragma once

#include <optional>
#include <string>

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>

namespace devsan::analyzer {

// Variables of type bool, by their names.
class Switches {
public:
  void addCode(const std::string &text);
  // The only value that all of the code gives it; none where there are several, or it may be any.
  std::optional<bool> valueOf(llvm::StringRef name) const;

private:
  friend class SwitchReader;
  struct Switch {
    bool is_declared = false, may_be_any = false;
    std::optional<bool> value = std::nullopt;
  };
  llvm::StringMap<Switch> by_name_; // each name that the code says
};

// Spaces stand for the rest, so that lines stay what they are.
std::string liveCodeOf(std::string text, const Switches &switches);

} // namespace devsan::analyzer
