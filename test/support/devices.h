// The devices that tests run on: DEVSAN_TEST_DEVICES, e.g. "cpu,cuda:0,cuda:1"; by default the CPU alone, so that a test
// program runs unchanged with and without (simulated) GPUs.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <gtest/gtest.h>

namespace devsan::test {

inline std::vector<at::Device> testDevices() {
  const char *names = std::getenv("DEVSAN_TEST_DEVICES");
  std::stringstream list(names && *names ? names : "cpu");
  std::vector<at::Device> devices;
  for (std::string name; std::getline(list, name, ',');)
    devices.emplace_back(name);
  return devices;
}

// A suite whose tests run once per device.
class DeviceTest : public testing::TestWithParam<at::Device> {
protected:
  at::Device device() const { return GetParam(); }
};

inline std::string deviceTestName(const testing::TestParamInfo<at::Device> &info) {
  std::string name = info.param.str();
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

} // namespace devsan::test

#define DEVSAN_DEVICE_SUITE(suite)                                                                                     \
  INSTANTIATE_TEST_SUITE_P(On, suite, testing::ValuesIn(devsan::test::testDevices()), devsan::test::deviceTestName)
