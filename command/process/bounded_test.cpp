#include "command/process/bounded.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace devsan::command {
namespace {

constexpr Bounds kOneSecond = {1, std::uint64_t{1} << 30};

TEST(Bounded, MayWaitForWhoeverReadsItsOutput) {
  const core::Result<int> status = runWithin(kOneSecond, [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1300));
    return 7;
  });
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(*status, 7);
}

TEST(Bounded, MayNotWorkWithoutEnd) {
  const core::Result<int> status = runWithin(kOneSecond, [] {
    for (volatile unsigned i = 0;; i = i + 1) {
    }
    return 0;
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "the report could not be made: it took more than 1 s of processor time");
}

} // namespace
} // namespace devsan::command
