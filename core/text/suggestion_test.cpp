#include "core/text/suggestion.h"

#include <gtest/gtest.h>
#include <vector>

namespace devsan::core {
namespace {

TEST(Suggestion, NamesWhatWasMeant) {
  const std::vector<std::string> commands = {"check", "run", "report", "rules", "explain"};
  EXPECT_EQ(didYouMean("chekc", commands), " (did you mean 'check'?)");
  EXPECT_EQ(didYouMean("rnu", commands), " (did you mean 'run'?)");
  EXPECT_EQ(didYouMean("reprot", commands), " (did you mean 'report'?)");
  EXPECT_EQ(didYouMean("rule", commands), " (did you mean 'rules'?)");
  EXPECT_EQ(didYouMean("explane", commands), " (did you mean 'explain'?)");
}

TEST(Suggestion, TakesTheNearest) {
  const std::vector<std::string> options = {"--sim-memory", "--sim", "--sync"};
  EXPECT_EQ(didYouMean("--smi", options), " (did you mean '--sim'?)");
  EXPECT_EQ(didYouMean("--sim-memroy", options), " (did you mean '--sim-memory'?)");
}

TEST(Suggestion, IsSilentWhereNothingIsNear) {
  const std::vector<std::string> commands = {"check", "run"};
  for (const char *name : {"", "x", "deploy", "train.py"})
    EXPECT_EQ(didYouMean(name, commands), "") << name;
  EXPECT_EQ(didYouMean(std::string(1000, 'x'), commands), "");
  EXPECT_EQ(didYouMean("run", {}), "");
}

} // namespace
} // namespace devsan::core
