// A rule is a function of facts that gives findings. Nothing that it can include knows a compiler:
// it is tried with facts that are written by hand, and judges those of any language.
#pragma once

#include "analyzer/facts/program.h"

namespace devsan::analyzer {

class Rule {
public:
  using OfFunction = Findings (*)(const FunctionFacts &facts, Program &program);
  using OfClass = Findings (*)(const ClassFacts &facts, Program &program);

  using OfFile = Findings (*)(Program &program);

  constexpr Rule(OfFunction judge) : of_function(judge) {}
  constexpr Rule(OfClass judge) : of_class(judge) {}
  constexpr Rule(OfFile judge) : of_file(judge) {}

  OfFunction of_function = nullptr;
  OfClass of_class = nullptr;
  OfFile of_file = nullptr;
};

} // namespace devsan::analyzer

// Ends a rule.cpp. `folder` is the name of the rule's folder with `_` for `-`; a wrong one does not
// link.
#define DEVSAN_RULE(folder, judge)                                                                 \
  namespace devsan::analyzer::rules {                                                              \
  extern const Rule folder;                                                                        \
  const Rule folder = judge;                                                                       \
  }
