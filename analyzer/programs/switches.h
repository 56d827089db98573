// Variables and parameters of type bool that all of a project's code gives one value.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>

namespace devsan::analyzer {

// What a word says that stands for a truth value; none where it may be any.
std::optional<bool> truthOf(llvm::StringRef word);

// By their names: what is true of one of a name has to be true of all.
class Switches {
public:
  void addCode(const std::string &text);
  // The only value that all of the code gives it; none where there are several, or it may be any.
  std::optional<bool> valueOf(llvm::StringRef name) const;

private:
  friend class SwitchReader;
  struct Values {
    bool is_any = false, has_false = false, has_true = false;
    void add(std::optional<bool> value);
    void add(const Values &others);
  };
  struct Argument {
    Values given, by_default;
  };
  struct Parameter {
    std::string function;
    unsigned index = 0;
  };
  struct Name { // that the code says
    bool is_declared = false;
    Values values;
    std::vector<Parameter> parameters;
    // Of a function: what its calls give it, and how many arguments there are at least.
    bool is_handed_on = false;
    std::vector<Argument> arguments;
    unsigned fewest = std::numeric_limits<unsigned>::max();
  };
  Values valuesOf(const Parameter &parameter) const;

  llvm::StringMap<Name> by_name_;
};

} // namespace devsan::analyzer
