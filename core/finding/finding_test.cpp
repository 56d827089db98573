#include "core/finding/finding.h"

#include <gtest/gtest.h>

namespace devsan::core {
namespace {

TEST(Steps, AreToldInWords) {
  EXPECT_EQ(stepsText({}), "");
  EXPECT_EQ(stepsText({.total = 1, .seen = 1, .first = 0, .last = 0, .most = 7}), "");
  EXPECT_EQ(stepsText({.total = 100, .seen = 100, .first = 0, .last = 99, .most = 1}),
            "in every step");
  EXPECT_EQ(stepsText({.total = 100, .seen = 1, .first = 0, .last = 0, .most = 7}),
            "only in the first step");
  EXPECT_EQ(stepsText({.total = 100, .seen = 1, .first = 9, .last = 9, .most = 1}),
            "in 1 of 100 steps");
  EXPECT_EQ(stepsText({.total = 100, .seen = 0, .first = 100, .last = 100, .most = 2}),
            "after the last step");
}

// A loop that reads its loss after `optimizer.step()`: nothing before the first, once after each.
TEST(Steps, WhatComesAfterEachStepIsToldSo) {
  EXPECT_EQ(stepsText({.total = 40, .seen = 39, .first = 1, .last = 40, .most = 1}),
            "after every step");
  EXPECT_EQ(stepsText({.total = 40, .seen = 39, .first = 1, .last = 39, .most = 1}),
            "in 39 of 40 steps");
  EXPECT_EQ(stepsText({.total = 40, .seen = 39, .first = 0, .last = 40, .most = 1}),
            "in 39 of 40 steps and after the last");
  EXPECT_EQ(stepsText({.total = 40, .seen = 38, .first = 1, .last = 40, .most = 1}),
            "in 38 of 40 steps and after the last");
}

} // namespace
} // namespace devsan::core
