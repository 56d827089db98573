#include "runtime/hooks/options.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

TEST(Options, Defaults) {
  unsetenv("DEVSAN_OPTIONS");
  readOptions(/*simulated=*/false);
  EXPECT_EQ(options().origins, Origins::kSampled);
  EXPECT_TRUE(options().python_stacks);
  EXPECT_TRUE(options().provenance);
}

TEST(Options, SimulationRecordsAllOriginsUnlessTold) {
  unsetenv("DEVSAN_OPTIONS");
  readOptions(/*simulated=*/true);
  EXPECT_EQ(options().origins, Origins::kAll);
  setenv("DEVSAN_OPTIONS", "origins=off:provenance=off::python_stacks=off", 1);
  readOptions(/*simulated=*/true);
  EXPECT_EQ(options().origins, Origins::kOff);
  EXPECT_FALSE(options().provenance);
  EXPECT_FALSE(options().python_stacks);
}

using OptionsDeathTest = testing::Test;

TEST(OptionsDeathTest, UnknownOnesEndTheRunAndListTheValidOnes) {
  for (auto [text, message] :
       {std::pair{"origin=all", "unknown key 'origin'"},
        std::pair{"origins", "invalid value '' of key 'origins'"},
        std::pair{"provenance=maybe", "invalid value 'maybe' of key 'provenance'"},
        std::pair{"help=yes", "invalid value 'yes' of key 'help'"}}) {
    setenv("DEVSAN_OPTIONS", text, 1);
    EXPECT_EXIT(readOptions(false), testing::ExitedWithCode(2), message);
    EXPECT_EXIT(readOptions(false), testing::ExitedWithCode(2), "origins +sampled.all.off");
  }
}

TEST(OptionsDeathTest, HelpListsAndGoesOn) {
  setenv("DEVSAN_OPTIONS", "help=1", 1);
  EXPECT_EXIT(
      {
        readOptions(false);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "provenance +on.off");
}

} // namespace
} // namespace devsan::runtime
