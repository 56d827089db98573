#include "runtime/include/devsan/devsan.h"
#include "runtime/record/testing/recorded.h"

#include <atomic>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <torch/torch.h>

namespace devsan::runtime {
namespace {

// Whether this test passes in a process of its own, for what needs one that has used no device.
int statusAlone() {
  const testing::TestInfo &test = *testing::UnitTest::GetInstance()->current_test_info();
  std::string program = "/proc/self/exe";
  std::string filter = std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name();
  char *argv[] = {program.data(), filter.data(), nullptr};
  pid_t child = 0;
  int status = -1;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, argv, environ) == 0)
    waitpid(child, &status, 0);
  return status;
}

TEST(Processes, AForkedChildHasALogOfItsOwn) {
  // The child of a process that has used its devices is refused them.
  if (testing::UnitTest::GetInstance()->test_to_run_count() > 1) {
    EXPECT_EQ(statusAlone(), 0);
    return;
  }
  auto host = torch::ones(3);
  std::size_t before = readOwnLog().events.size();
  pid_t child = fork();
  if (child == 0) {
    host.to(kSecond);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(readOwnLog().events.size(), before);
  ProcessLog log = readOwnLog(child);
  const auto is_copy = [](const Event &event) { return event.kind == EventKind::kCopy; };
  ASSERT_EQ(std::ranges::count_if(log.events, is_copy), 1);
  EXPECT_EQ(log.header.parent_pid, std::uint32_t(getpid()));
  EXPECT_FALSE(log.stack(log.events[0].stack).empty());
  EXPECT_FALSE(log.modules.empty());
}

// Threads that take a stack for each event and use every kind of simulated memory, until this
// object ends.
class BusyThreads {
public:
  BusyThreads() {
    // LibTorch finds an operator when it is first called, under the lock of a static: a child
    // forked in the midst of that would wait for a thread that it has not.
    onSecond().sum().item<float>();
    onSecond().cpu();
    torch::zeros(3).add(1);
    torch::ones({3}).pin_memory().is_pinned();
    for (int i = 0; i < 3; ++i)
      threads_.emplace_back([this] {
        auto x = onSecond();
        while (!stop_) {
          x.sum().item<float>();
          x.cpu();
          torch::ones({4}).pin_memory();
        }
      });
  }
  ~BusyThreads() {
    stop_ = true;
    for (auto &thread : threads_)
      thread.join();
  }

private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// The status of a child that ends by SIGALRM where it hangs.
template <typename Body> int statusOfChild(Body body) {
  pid_t child = fork();
  if (child == 0) {
    alarm(30);
    // What it throws must not reach the parent's frames, whose threads are not here.
    try {
      body();
    } catch (const std::exception &error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// Host work of a child that takes the runtime's and the simulator's locks.
void workOnHost() {
  torch::zeros(3).add(1);
  if (!torch::ones({3}).pin_memory().is_pinned() || torch::ones({3}).is_pinned())
    throw std::runtime_error("is_pinned() is wrong");
  devsan::step(); // an event with a stack
}

TEST(Processes, ForkWhileOtherThreadsTakeStacks) {
  auto host = torch::ones(3);
  BusyThreads threads;
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(statusOfChild([&] {
                workOnHost();
                // Another thread of the child sees the loader's locks free too.
                std::thread(workOnHost).join();
              }),
              0);
}

TEST(Processes, AForkedChildIsRefusedTheDevicesOfItsParent) {
  auto host = torch::ones(3);
  BusyThreads threads;
  auto own = onSecond();
  auto refuses = [](auto &&use) {
    try {
      use();
    } catch (const c10::Error &error) {
      return std::string(error.what()).find("CUDA error: initialization error") !=
             std::string::npos;
    }
    return false;
  };
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(statusOfChild([&] {
                bool all = refuses([&] { host.to(kSecond); }) && refuses([&] { own.cpu(); }) &&
                           refuses([&] { own.add(1); }) &&
                           refuses([&] { torch::empty({2}, kSecond); });
                std::thread([&] { all = all && refuses([&] { host.to(kSecond); }); }).join();
                _exit(all ? 0 : 1);
              }),
              0);
}

TEST(Processes, ForkInsideAnOperatorsCallback) {
  BusyThreads threads;
  auto x = torch::ones({2}, torch::TensorOptions(kSecond).requires_grad(true));
  int forks = 0;
  auto y = x * 2;
  y.register_hook([&](const torch::Tensor &gradient) {
    for (int i = 0; i < 20; ++i, ++forks)
      EXPECT_EQ(statusOfChild(workOnHost), 0);
    return gradient;
  });
  y.sum().backward();
  EXPECT_EQ(forks, 20);
}

TEST(Processes, OtherProgramsStartWhileThreadsTakeStacks) {
  BusyThreads threads;
  char program[] = "/bin/true";
  char *argv[] = {program, nullptr};
  for (int i = 0; i < 50; ++i) {
    pid_t child = 0;
    ASSERT_EQ(posix_spawn(&child, program, nullptr, nullptr, argv, environ), 0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    ASSERT_EQ(statusOfChild([&] { execv(program, argv); }), 0);
    child = vfork();
    if (child == 0) {
      execv(program, argv);
      _exit(127);
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
}

TEST(Processes, ManyThreadsLoseNothing) {
  constexpr int kThreads = 16, kEvents = 100; // more than are written one by one
  const auto waits = [](const ProcessLog &log) {
    std::uint64_t sum = 0;
    for (const Tally &tally : log.tallies)
      if (tally.first.kind == EventKind::kBlock)
        sum += tally.occurrences.count;
    return sum;
  };
  const std::uint64_t before = waits(readOwnLog());
  auto recorded = record([&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([] {
        auto x = torch::ones({1}, kSecond);
        for (int k = 0; k < kEvents; ++k)
          x.item<float>();
      });
    for (auto &thread : threads)
      thread.join();
  });
  EXPECT_EQ(waits(recorded.log) - before, std::uint64_t(kThreads * kEvents));
}

} // namespace
} // namespace devsan::runtime
