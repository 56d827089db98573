// What C++ programs do with a device, in one: trains, serves from threads and from forked children,
// runs TorchScript. Which of these the first argument says. Prints the same numbers on every
// device, and waits for the device a known number of times. cpp_programs_test.py builds it in the
// ways in which programs are built.
#include <cstdio>
#include <mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <torch/script.h>
#include <torch/torch.h>

namespace {

torch::Device device() {
  return torch::cuda::is_available() ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
}

torch::Tensor line(int rows) {
  return torch::linspace(0, 1, rows * 4, device()).view({rows, 4});
}

// 5 waits, one in each step.
int train() {
  torch::manual_seed(0);
  torch::nn::Linear model(4, 1);
  model->to(device());
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  double last = 0;
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    const auto loss = model->forward(line(8)).pow(2).mean();
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
  }
  std::printf("%.4f\n", last);
  return 0;
}

// 12 waits.
int threads() {
  std::mutex mutex;
  double sum = 0;
  std::vector<std::thread> pool;
  for (int worker = 1; worker <= 4; ++worker)
    pool.emplace_back([&, worker] {
      for (int request = 0; request < 3; ++request) {
        const double result = (line(2) * worker).sum().item<double>();
        const std::lock_guard<std::mutex> lock(mutex);
        sum += result;
      }
    });
  for (std::thread &worker : pool)
    worker.join();
  std::printf("%.4f\n", sum);
  return 0;
}

// 6 waits, in 3 processes; ends with what the last one ended with.
int serve() {
  int status = 0;
  for (int child = 1; child <= 3; ++child) {
    const pid_t process = fork();
    if (process == 0) {
      for (int request = 0; request < 2; ++request)
        std::printf("%d: %.4f\n", child, (line(2) * child).sum().item<double>());
      std::exit(child);
    }
    waitpid(process, &status, 0);
  }
  return WEXITSTATUS(status);
}

// 4 waits.
int script() {
  torch::jit::Module module("scripted");
  module.define("def forward(self, x):\n  return torch.relu(x - 0.5).sum()\n");
  const std::string file = "/proc/self/fd/" + std::to_string(fileno(std::tmpfile()));
  module.save(file);
  torch::jit::Module loaded = torch::jit::load(file, device());
  const torch::NoGradGuard no_grad;
  double sum = 0;
  for (int request = 0; request < 4; ++request)
    sum += loaded.forward({line(2)}).toTensor().item<double>();
  std::printf("%.4f\n", sum);
  return 0;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int runProgram(const char *name) {
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  const std::string what = name;
  return what == "train"     ? train()
         : what == "threads" ? threads()
         : what == "serve"   ? serve()
                             : script();
}

int main(int, char **arguments) {
  return runProgram(arguments[1]);
}
