#include "runtime/protocol/options.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

class Options : public testing::Test {
protected:
  ~Options() override { unsetenv("DEVSAN_OPTIONS"); } // other tests are in this process
};
using OptionsDeathTest = Options;

TEST_F(Options, Defaults) {
  unsetenv("DEVSAN_OPTIONS");
  readOptions(/*simulated=*/false);
  EXPECT_EQ(options().origins, Origins::kSampled);
  EXPECT_TRUE(options().python_stacks);
  EXPECT_TRUE(options().provenance);
}

TEST_F(Options, SimulationRecordsAllOriginsUnlessTold) {
  unsetenv("DEVSAN_OPTIONS");
  readOptions(/*simulated=*/true);
  EXPECT_EQ(options().origins, Origins::kAll);
  setenv("DEVSAN_OPTIONS", "origins=off:provenance=off::python_stacks=off", 1);
  readOptions(/*simulated=*/true);
  EXPECT_EQ(options().origins, Origins::kOff);
  EXPECT_FALSE(options().provenance);
  EXPECT_FALSE(options().python_stacks);
}

TEST_F(Options, GuardsAndStepsAreRead) {
  setenv("DEVSAN_OPTIONS",
         "host_to_device=disallow:host_wait=log_explicit:raise=1:warmup=12:trace=100", 1);
  readOptions(/*simulated=*/false);
  EXPECT_EQ(options().guards.level(Guarded::kHostToDevice), Level::kDisallow);
  EXPECT_EQ(options().guards.level(Guarded::kDeviceToHost), Level::kInherit);
  EXPECT_EQ(options().guards.level(Guarded::kHostWait), Level::kLogExplicit);
  EXPECT_TRUE(options().guards.raises());
  EXPECT_EQ(options().warmup, 12u);
  EXPECT_EQ(options().trace, 100u);
}

TEST(Guards, TheInnerOneHoldsWhereItSaysSomething) {
  Guards outer, inner;
  outer.set(Guarded::kHostWait, Level::kDisallow);
  outer.set(Guarded::kDeviceToHost, Level::kLog);
  outer.setRaises(true);
  inner.set(Guarded::kDeviceToHost, Level::kAllow);
  const Guards both = outer.with(inner);
  EXPECT_EQ(both.level(Guarded::kHostWait), Level::kDisallow);
  EXPECT_EQ(both.level(Guarded::kDeviceToHost), Level::kAllow);
  EXPECT_EQ(both.level(Guarded::kDeviceToDevice), Level::kInherit);
  EXPECT_TRUE(both.raises());
  inner.setRaises(false);
  EXPECT_FALSE(outer.with(inner).raises());
}

TEST_F(OptionsDeathTest, UnknownOnesEndTheRunAndListTheValidOnes) {
  for (auto [text, message] :
       {std::pair{"origin=all", "unknown key 'origin'"},
        std::pair{"origins", "invalid value '' of key 'origins'"},
        std::pair{"provenance=maybe", "invalid value 'maybe' of key 'provenance'"},
        std::pair{"host_wait=never", "invalid value 'never' of key 'host_wait'"},
        std::pair{"warmup=-1", "invalid value '-1' of key 'warmup'"},
        std::pair{"raise=on", "invalid value 'on' of key 'raise'"},
        std::pair{"help=yes", "invalid value 'yes' of key 'help'"}}) {
    setenv("DEVSAN_OPTIONS", text, 1);
    EXPECT_EXIT(readOptions(false), testing::ExitedWithCode(2), message);
    EXPECT_EXIT(readOptions(false), testing::ExitedWithCode(2), "origins +sampled.all.off");
  }
}

TEST_F(OptionsDeathTest, HelpListsAndGoesOn) {
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
