// The devices that tests run on: DEVSAN_TEST_DEVICES, e.g. "cpu,cuda:0,cuda:1"; by default the CPU
// alone, so that a test program runs unchanged with and without (simulated) GPUs.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <devsan/devsan.h>
#include <gtest/gtest.h>

#include "test/support/store_backend.h"

namespace devsan::test {

inline std::vector<at::Device> testDevices() {
  const char *names = std::getenv("DEVSAN_TEST_DEVICES");
  std::stringstream list(names && *names ? names : "cpu");
  std::vector<at::Device> devices;
  for (std::string name; std::getline(list, name, ',');)
    devices.emplace_back(name);
  return devices;
}

// Under `devsan run`, a test that compares results on the host may copy them there.
struct HostAccessScope {
  AllowSync allow_sync;
  AllowTransfer allow_transfer;
};

// A suite whose tests run once per device and look at results on the host.
class DeviceTest : public testing::TestWithParam<at::Device> {
protected:
  at::Device device() const { return GetParam(); }

private:
  HostAccessScope host_access_;
};

// A suite whose tests run once per device and must not wait for it outside a HostAccessScope of
// their own: under `devsan run --fail-on=device-host-sync,device-implicit-transfer` the run fails
// if one does.
class NoSyncTest : public testing::TestWithParam<at::Device> {
protected:
  at::Device device() const { return GetParam(); }
};

// How many ranks can each have a device of this type to themselves; any number on the CPU.
inline int distinctDevices(at::Device device, int ranks) {
  if (device.is_cpu())
    return ranks;
  return std::min<int>(ranks, c10::impl::VirtualGuardImpl(device.type()).deviceCount());
}

// The device of a rank, counted on from `device`.
inline at::Device rankDevice(at::Device device, int rank) {
  if (device.is_cpu())
    return device;
  const auto count = c10::impl::VirtualGuardImpl(device.type()).deviceCount();
  return at::Device(device.type(), static_cast<at::DeviceIndex>((device.index() + rank) % count));
}

// runRanks() for tests that look at results on the host, which each rank's thread has to be allowed
// for itself.
inline void
onRanks(int size, const std::function<void(const c10::intrusive_ptr<c10d::ProcessGroup> &)> &body) {
  runRanks(size, [&](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
    const HostAccessScope host_access;
    body(group);
  });
}

inline std::string deviceTestName(const testing::TestParamInfo<at::Device> &info) {
  std::string name = info.param.str();
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

} // namespace devsan::test

#define DEVSAN_DEVICE_SUITE(suite)                                                                 \
  INSTANTIATE_TEST_SUITE_P(On, suite, testing::ValuesIn(devsan::test::testDevices()),              \
                           devsan::test::deviceTestName)
