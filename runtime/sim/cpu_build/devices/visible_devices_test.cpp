#include "visible_devices.h"

#include <vector>

#include <gtest/gtest.h>

namespace devsan::sim {
namespace {

std::vector<int> seen(const char *text, c10::DeviceIndex machine_devices = 4) {
  const VisibleDevices visible = visibleDevices(text, machine_devices);
  return {visible.physical.begin(), visible.physical.begin() + visible.count};
}
using Devices = std::vector<int>;

TEST(VisibleDevices, AreAllWhereTheVariableIsNotSet) {
  EXPECT_EQ(seen(nullptr), (Devices{0, 1, 2, 3}));
}

TEST(VisibleDevices, AreRenumberedInTheOrderOfTheList) {
  EXPECT_EQ(seen("2"), Devices{2});
  EXPECT_EQ(seen("3,0"), (Devices{3, 0}));
  EXPECT_EQ(seen(" 1, 2"), (Devices{1, 2}));
}

TEST(VisibleDevices, EndBeforeTheFirstEntryThatIsNone) {
  EXPECT_EQ(seen(""), Devices{});
  EXPECT_EQ(seen("-1"), Devices{});
  EXPECT_EQ(seen("NoDevFiles"), Devices{});
  EXPECT_EQ(seen("1,-1,2"), Devices{1});
  EXPECT_EQ(seen("0,4,1"), Devices{0});
  EXPECT_EQ(seen("0,,1"), Devices{0});
}

TEST(VisibleDevices, AreNoneWhereOneIsNamedTwice) {
  EXPECT_EQ(seen("0,1,0"), Devices{});
}

TEST(VisibleDevices, CanBeNamedByUuid) {
  EXPECT_EQ(seen("GPU-44657653-616e-0000-0000-000000000002"), Devices{2});
  EXPECT_EQ(seen("GPU-4465"), Devices{});
  EXPECT_EQ(seen("GPU-4465", 1), Devices{0});
  EXPECT_EQ(seen("GPU-ffff"), Devices{});
}

} // namespace
} // namespace devsan::sim
