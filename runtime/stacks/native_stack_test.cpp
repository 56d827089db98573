#include "runtime/stacks/frame_rules.h"
#include "runtime/stacks/native_stack.h"

#include <alloca.h>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace devsan::runtime {
namespace {

// Both ways for one place, without the frames of the ways themselves.
struct Both {
  std::vector<std::uintptr_t> fast, slow;
  bool fast_is_complete = false;
};

struct RawBoth {
  NativeStack fast, slow;
  bool fast_is_complete = false;

  Both named() const {
    return {{fast.pcs, fast.pcs + fast.count}, {slow.pcs, slow.pcs + slow.count}, fast_is_complete};
  }
};

// Allocates nothing: a handler of a signal calls it.
[[gnu::noinline]] void takeRaw(RawBoth &both) {
  both.fast_is_complete = unwindFast(both.fast);
  unwindSlowly(both.slow);
}

[[gnu::noinline]] void takeBoth(Both &both) {
  static thread_local RawBoth raw;
  takeRaw(raw);
  both = raw.named();
}

// From the outside in: what both saw of the callers of takeBoth.
std::size_t framesInCommon(const Both &both) {
  std::size_t same = 0;
  while (same < both.fast.size() && same < both.slow.size() &&
         both.fast[both.fast.size() - 1 - same] == both.slow[both.slow.size() - 1 - same])
    ++same;
  return same;
}

void expectAgreement(const Both &both) {
  EXPECT_TRUE(both.fast_is_complete);
  // All but the unwinding itself: unwindFast and the place in takeRaw, where they part.
  EXPECT_EQ(framesInCommon(both), both.fast.size() - 2);
  EXPECT_LE(both.slow.size(), both.fast.size() + 2);
}

[[gnu::noinline]] void deep(int depth, Both &both) {
  if (depth == 0)
    takeBoth(both);
  else
    deep(depth - 1, both);
  asm volatile("" ::: "memory"); // no tail call
}

// A frame whose size is known at run time only, which rbp must find.
[[gnu::noinline]] void withVariableFrame(std::size_t size, Both &both) {
  char *room = static_cast<char *>(alloca(size));
  std::memset(room, 1, size);
  deep(2, both);
  asm volatile("" ::"r"(room) : "memory");
}

[[gnu::noinline]] void withFrameOf8KiB(Both &both) {
  char room[8192];
  asm volatile("" ::"r"(room) : "memory");
  deep(2, both);
  asm volatile("" ::"r"(room) : "memory");
}

// Aligns its stack; together with a frame of variable size some compilers find it by another way.
[[gnu::noinline]] void withAlignedFrame(std::size_t size, Both &both) {
  alignas(64) char aligned[64] = {};
  char *room = static_cast<char *>(alloca(size));
  std::memset(room, 1, size);
  deep(2, both);
  asm volatile("" ::"r"(room), "r"(aligned) : "memory");
}

TEST(NativeStack, TheFastWayAgreesWithTheSystems) {
  for (int round = 0; round < 3; ++round) {
    Both both;
    deep(20, both);
    expectAgreement(both);
    EXPECT_GE(both.fast.size(), 22u);
    withVariableFrame(100 + 1000 * static_cast<std::size_t>(round), both);
    expectAgreement(both);
    withFrameOf8KiB(both);
    expectAgreement(both);
    withAlignedFrame(200, both);
    expectAgreement(both);
  }
}

TEST(NativeStack, InOtherThreads) {
  for (int round = 0; round < 3; ++round) {
    Both both;
    std::thread([&] { deep(5, both); }).join();
    expectAgreement(both);
  }
}

TEST(NativeStack, ThroughFunctionsOfTheCLibrary) {
  static Both both;
  int values[2] = {2, 1};
  std::qsort(values, 2, sizeof values[0], [](const void *, const void *) {
    deep(1, both);
    return 0;
  });
  expectAgreement(both);
}

TEST(NativeStack, AFrameOfASignalIsLeftToTheSystem) {
  static RawBoth raw;
  static NativeStack whole;
  std::signal(SIGUSR1, [](int) {
    takeRaw(raw);
    captureNative(whole);
  });
  std::raise(SIGUSR1);
  std::signal(SIGUSR1, SIG_DFL);
  const Both both = raw.named();
  EXPECT_FALSE(both.fast_is_complete);
  EXPECT_GT(both.slow.size(), both.fast.size());
  EXPECT_GE(whole.count, both.slow.size() - 1);
}

TEST(NativeStack, IsCutWhereItIsTooDeep) {
  Both both;
  deep(400, both);
  EXPECT_EQ(both.fast.size(), NativeStack::kMaxFrames);
}

// Entries as compilers write them. The common part: version 1, "zR", code factor 1, data factor -8,
// return address in register 16, addresses in 4 bytes relative to their place; at the start the
// frame ends at rsp + 8 with the return address below.
class FrameRules : public ::testing::Test {
protected:
  FrameRule rule(std::vector<unsigned char> instructions, std::uint64_t offset,
                 const char *augmentation = "zR", unsigned char extra = 0) {
    bytes_.clear();
    const std::size_t common = begin(0);
    bytes_.push_back(1);
    for (const char *c = augmentation; *c; ++c)
      bytes_.push_back(static_cast<unsigned char>(*c));
    append({0, 1, 0x78, 16, 1, 0x1b});
    if (extra)
      bytes_.push_back(extra);
    append({0x0c, 7, 8, 0x90, 1});
    end(common);
    const std::size_t entry = begin(1);
    append({0, 0, 0, 0, 0x40, 0, 0, 0, 0}); // begin, length, no augmentation
    bytes_.insert(bytes_.end(), instructions.begin(), instructions.end());
    end(entry);
    return frameRuleOf(bytes_.data() + entry, offset);
  }

private:
  void append(std::initializer_list<int> values) {
    for (int value : values)
      bytes_.push_back(static_cast<unsigned char>(value));
  }
  std::size_t begin(int is_entry) {
    const std::size_t at = bytes_.size();
    append({0, 0, 0, 0});
    const auto back = static_cast<std::uint32_t>(is_entry ? at + 4 : 0);
    append({int(back & 0xff), int(back >> 8), 0, 0});
    return at;
  }
  void end(std::size_t at) {
    while ((bytes_.size() - at) % 8)
      bytes_.push_back(0);
    const auto length = static_cast<std::uint32_t>(bytes_.size() - at - 4);
    std::memcpy(bytes_.data() + at, &length, sizeof length);
  }

  std::vector<unsigned char> bytes_;
};

constexpr FrameRule fromRsp(std::int32_t offset, std::int32_t rbp = FrameRule::kRbpKept) {
  return {FrameRule::kFromRsp, offset, rbp};
}

TEST_F(FrameRules, FollowAFunctionWithAFramePointer) {
  // push rbp; mov rbp, rsp; …; pop rbp; ret
  const std::vector<unsigned char> instructions = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d,
                                                   6,    0x02, 40, 0x0c, 7, 8};
  EXPECT_EQ(rule(instructions, 0), fromRsp(8));
  EXPECT_EQ(rule(instructions, 1), fromRsp(16, -16));
  EXPECT_EQ(rule(instructions, 4), (FrameRule{FrameRule::kFromRbp, 16, -16}));
  EXPECT_EQ(rule(instructions, 43), (FrameRule{FrameRule::kFromRbp, 16, -16}));
  EXPECT_EQ(rule(instructions, 44), fromRsp(8, -16));
}

TEST_F(FrameRules, RememberAndRestore) {
  const std::vector<unsigned char> instructions = {0x42, 0x0e, 16, 0x86, 2,    0x42,
                                                   0x0a, 0x0e, 8,  0xc6, 0x42, 0x0b};
  EXPECT_EQ(rule(instructions, 2), fromRsp(16, -16));
  EXPECT_EQ(rule(instructions, 4), fromRsp(8));
  EXPECT_EQ(rule(instructions, 6), fromRsp(16, -16));
}

TEST_F(FrameRules, LongOffsetsAndAdvances) {
  const std::vector<unsigned char> instructions = {0x03, 0x00, 0x01, 0x0e, 0x90, 0x80, 0x01,
                                                   0x04, 0x00, 0x00, 0x01, 0x00, 0x2e, 16};
  EXPECT_EQ(rule(instructions, 0xff), fromRsp(8));
  EXPECT_EQ(rule(instructions, 0x100), fromRsp(0x4010));
  EXPECT_EQ(rule(instructions, 0x20000), fromRsp(0x4010));
}

TEST_F(FrameRules, FollowAFunctionThatAlignsItsStack) {
  // lea r10, [rsp + 8]; and rsp, -32; push [r10 - 8]; push rbp; mov rbp, rsp; push r10; …
  const std::vector<unsigned char> instructions = {
      0x45, 0x0c, 10,   0,    0x4c, 0x10, 6,    2,    0x76, 0x00, 0x45, 0x0f, 3,   0x76,
      0x58, 0x06, 0x48, 0x10, 3,    2,    0x76, 0x50, 0x60, 0x0c, 7,    8,    0xc6};
  EXPECT_EQ(rule(instructions, 6).kind, FrameRule::kUnknown);
  EXPECT_EQ(rule(instructions, 40), (FrameRule{FrameRule::kFromSaved, -40, 0}));
  EXPECT_EQ(rule(instructions, 63), fromRsp(8));
}

TEST_F(FrameRules, TheOutermostFunctionEndsTheStack) {
  EXPECT_EQ(rule({0x07, 16}, 1).kind, FrameRule::kEnd);
}

TEST_F(FrameRules, WhatTheyDoNotKnowIsUnknown) {
  EXPECT_EQ(rule({0x0f, 3, 0x77, 8, 0x06}, 1).kind, FrameRule::kUnknown); // an expression
  EXPECT_EQ(rule({0x10, 6, 2, 0x76, 0}, 1).kind, FrameRule::kUnknown);    // rbp somewhere
  EXPECT_EQ(rule({0x0c, 10, 0}, 1).kind, FrameRule::kUnknown);            // from r10
  EXPECT_EQ(rule({0x3c}, 1).kind, FrameRule::kUnknown);                   // no instruction
  EXPECT_EQ(rule({0x0b}, 1).kind, FrameRule::kUnknown);                   // nothing remembered
  EXPECT_EQ(rule(std::vector<unsigned char>(9, 0x0a), 1).kind, FrameRule::kUnknown); // too deep
  EXPECT_EQ(rule({}, 1, "zRS").kind, FrameRule::kUnknown); // a signal's frame
  EXPECT_EQ(rule({}, 1, "zRB").kind, FrameRule::kUnknown);
  EXPECT_EQ(rule({}, 1), fromRsp(8));
}

// What ends too early must not be read on.
TEST_F(FrameRules, SurviveInstructionsThatEndEarly) {
  for (unsigned byte = 0; byte < 256; ++byte)
    rule({static_cast<unsigned char>(byte), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 1000);
}

TEST_F(FrameRules, AddressesOutsideOfFunctionsAreUnknown) {
  static int data;
  EXPECT_EQ(frameRuleAt(reinterpret_cast<std::uintptr_t>(&data)).kind, FrameRule::kUnknown);
}

} // namespace
} // namespace devsan::runtime
