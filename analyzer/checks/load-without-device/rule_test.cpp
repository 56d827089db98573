#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule load_without_device;
}

namespace {

using namespace testing;

class Load : public ::testing::Test {
protected:
  Load() {
    loaded.value.add(Origin::Kind::kLoaded, loaded.expr);
    f.line = 4;
  }
  Findings judge() { return rules::load_without_device.of_function(f, program); }

  WrittenFunction f;
  WrittenProgram program;
  const Variable device = f.parameter("device", Type::kDevice);
  Operand loaded{f.code({.text = "torch.load(file)", .device_parameter = DeviceParameter::kNext}),
                 Value::unknown()};
};

TEST_F(Load, MeetsTheDevice) {
  const Operand x = f.make("torch.ones(3, device=device)", "ones", onDeviceOf(device));
  f.piece(x.expr).devices = {device};
  f.apply("x + loaded", "add", {x, loaded});
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "what 'torch.load(file)' reads keeps the device it was saved from and is used without "
            "being moved: pass the device, 'torch.load(file, device)', or call .to(device) on it");
  EXPECT_EQ(findings[0].fix.size(), 1u);
}

TEST_F(Load, IsGivenTheDevice) {
  f.piece(loaded.expr).gives_device = true;
  f.apply("x + loaded", "add",
          {f.make("torch.ones(3, device=device)", "ones", onDeviceOf(device)), loaded});
  EXPECT_TRUE(judge().empty());
}

TEST_F(Load, IsReturned) {
  f.returns("loaded", {loaded});
  EXPECT_TRUE(judge().empty()); // nothing here is put on a device
  f.make("torch.ones(3, device=device)", "ones", onDeviceOf(device));
  EXPECT_EQ(judge().size(), 1u);
}

} // namespace
} // namespace devsan::analyzer
