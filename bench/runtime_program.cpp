// The C++ program that bench/runtime.py measures, with and without the runtime in it. It answers
// each line of standard input with a figure on the descriptor that its argument names; or, for
// callgrind, runs `countedAdds` as often as its second argument says.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/record_function.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <string>
#include <time.h>

namespace {

// Of the processor, for this process.
double seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

// The least of several rounds: what the work costs when nothing else disturbs it.
double leastNanoseconds(int rounds, int calls, const std::function<void(int)> &work) {
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const double begin = seconds();
    work(calls);
    least = std::min(least, seconds() - begin);
  }
  return least / calls * 1e9;
}

__attribute__((noinline)) void adds(at::Tensor &x, const at::Tensor &y, int count) {
  for (int i = 0; i < count; ++i)
    x.add_(y);
}

double addOfEight() {
  at::Tensor x = at::ones(8), y = at::ones(8);
  return leastNanoseconds(30, 20'000, [&](int count) { adds(x, y, count); });
}

__attribute__((noinline)) double atDepth(int depth, const std::function<double()> &work) {
  double result = depth > 0 ? atDepth(depth - 1, work) : work();
  asm volatile("" : "+m"(result)); // no tail call
  return result;
}

// The same where a callback observes every operator and does nothing.
double observedAddOfEight() {
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(
      [](const at::RecordFunction &) -> std::unique_ptr<at::ObserverContext> { return nullptr; }));
  const double result = addOfEight();
  at::removeCallback(handle);
  return result;
}

// A wait for an idle device: with the hooks, an event with its stack. The program's own frames, and
// those that started it, make it as deep as an operator's call in a training loop.
double waitAtDepth() {
  const at::CUDAHooksInterface &cuda = at::detail::getCUDAHooks();
  at::ones(1, at::kCUDA);
  return atDepth(30, [&] {
    return leastNanoseconds(20, 5'000, [&](int count) {
      for (int i = 0; i < count; ++i)
        cuda.deviceSynchronize(0);
    });
  });
}

// A thousand reads of a value in a second: about a millisecond of work before each.
double findings() {
  const at::Tensor x = at::ones({160, 160}, at::kCUDA);
  const at::Tensor y = at::ones({160, 160}, at::kCUDA);
  float sum = 0;
  return leastNanoseconds(3, 150, [&](int count) {
    for (int i = 0; i < count; ++i) {
      at::Tensor z = x.mm(y);
      for (int k = 0; k < 4; ++k)
        z = z.mm(y).mul_(0.01);
      sum += z.select(0, 0).select(0, 0).item<float>();
    }
  });
}

} // namespace

// For callgrind, which counts in here only.
extern "C" __attribute__((noinline, visibility("default"))) void
countedAdds(at::Tensor &x, const at::Tensor &y, int count) {
  adds(x, y, count);
}

int main(int count, char **arguments) {
  at::set_num_threads(1);
  if (count == 3 && std::string(arguments[1]) == "--count") {
    at::Tensor x = at::ones(8), y = at::ones(8);
    adds(x, y, 100);
    countedAdds(x, y, std::atoi(arguments[2]));
    return 0;
  }
  if (count != 2) {
    std::fprintf(stderr, "usage: %s FD | --count CALLS\n", arguments[0]);
    return 2;
  }
  std::FILE *answers = fdopen(std::atoi(arguments[1]), "w");
  for (std::string line; answers && std::getline(std::cin, line);) {
    const double figure = line == "add"            ? addOfEight()
                          : line == "observed_add" ? observedAddOfEight()
                          : line == "wait"         ? waitAtDepth()
                          : line == "findings"     ? findings()
                                                   : -1;
    std::fprintf(answers, "{\"%s\": %.6f}\n", line.c_str(), figure);
    std::fflush(answers);
  }
}
