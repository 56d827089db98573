#include "runtime/resolve/names.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

TEST(Names, Devices) {
  EXPECT_EQ(deviceName({0, -1}), "cpu");
  EXPECT_EQ(deviceName({0, 0}), "cpu");
  EXPECT_EQ(deviceName({1, 1}), "cuda:1");
  EXPECT_EQ(deviceName({1, -1}), "cuda");
  EXPECT_EQ(deviceName({13, 0}), "mps:0");
  EXPECT_EQ(deviceName({12, 3}), "xpu:3");
  EXPECT_EQ(deviceName({-7, 0}), "device type 249:0");
}

TEST(Names, Operators) {
  EXPECT_EQ(operatorName("to_device"), "aten::to");
  EXPECT_EQ(operatorName("to_dtype_layout"), "aten::to");
  EXPECT_EQ(operatorName("_to_copy"), "aten::_to_copy");
  EXPECT_EQ(operatorName("copy_"), "aten::copy_");
  EXPECT_EQ(operatorName("add_Tensor"), "aten::add");
  EXPECT_EQ(operatorName("add__Tensor"), "aten::add_");
  EXPECT_EQ(operatorName("where_self"), "aten::where");
  EXPECT_EQ(operatorName("index_put_"), "aten::index_put_");
  EXPECT_EQ(operatorName("item"), "aten::item");
}

} // namespace
} // namespace devsan::runtime
