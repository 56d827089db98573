// The C++ program that bench/sim.py runs on a simulated device: small operators there and on the
// CPU, in turns. Prints a JSON object of nanoseconds, {"operator": {"cpu": …, "cuda": …}}.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <time.h>

namespace {

// Of the processor, for this process.
double nanoseconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e9 + double(time.tv_nsec);
}

struct Operands {
  at::Tensor x, y, out, tall, wide;

  explicit Operands(at::Device device)
      : x(at::ones(8, device)), y(at::ones(8, device)), out(at::ones(8, device)),
        tall(at::ones({4, 2}, device)), wide(at::ones({2, 4}, device)) {}
};

struct Operator {
  const char *name;
  std::function<void(Operands &)> call;
};

const Operator kOperators[] = {
    {"at::add(x, y)", [](Operands &on) { at::add(on.x, on.y); }},
    {"x.add_(y)", [](Operands &on) { on.x.add_(on.y); }},
    {"at::mul(x, 2)", [](Operands &on) { at::mul(on.x, 2); }},
    {"at::add_out(out, x, y)", [](Operands &on) { at::add_out(on.out, on.x, on.y); }},
    {"at::sum(x)", [](Operands &on) { at::sum(on.x); }},
    {"at::mm(m, n)", [](Operands &on) { at::mm(on.tall, on.wide); }},
    {"at::cat({x, y})", [](Operands &on) { at::cat({on.x, on.y}); }},
    {"at::relu(x)", [](Operands &on) { at::relu(on.x); }},
    {"at::gt(x, y)", [](Operands &on) { at::gt(on.x, on.y); }},
    {"at::empty_like(x)", [](Operands &on) { at::empty_like(on.x); }},
};

double once(const Operator &op, Operands &operands, int calls) {
  const double begin = nanoseconds();
  for (int i = 0; i < calls; ++i)
    op.call(operands);
  return (nanoseconds() - begin) / calls;
}

} // namespace

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  constexpr int kCalls = 1000;
  at::set_num_threads(1);
  Operands cpu(at::kCPU), cuda(at::Device(at::kCUDA, 0));
  const char *separator = "{";
  for (const Operator &op : kOperators) {
    // The least of many short rounds: what the call costs when nothing else disturbs it.
    double least[2] = {std::numeric_limits<double>::infinity(),
                       std::numeric_limits<double>::infinity()};
    for (int round = 0; round < rounds; ++round) {
      least[0] = std::min(least[0], once(op, cpu, kCalls));
      least[1] = std::min(least[1], once(op, cuda, kCalls));
    }
    std::printf("%s\"%s\": {\"cpu\": %.1f, \"cuda\": %.1f}", separator, op.name, least[0],
                least[1]);
    separator = ", ";
  }
  std::printf("}\n");
}
