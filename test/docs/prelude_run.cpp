// Stands before the C++ examples that are run (rules that only a running program shows). Each example is what a function
// does; these are the names that it takes for granted.
#include <devsan/devsan.h>
#include <torch/torch.h>

#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

const torch::Device device(torch::kCUDA, 0);

struct Example {
  torch::nn::Linear model{8, 2};
  torch::Tensor batch = torch::rand({4, 8}, device);
  std::vector<torch::Tensor> batches = std::vector<torch::Tensor>(4, torch::rand({3, 64}, device));
  torch::Tensor output = torch::rand({4, 10}, device);
  torch::Tensor target = torch::zeros({4}, torch::dtype(torch::kLong).device(device));
  torch::Tensor loss = torch::zeros({}, device);

  Example() { model->to(device); }
  virtual ~Example() = default;
  virtual void run() = 0;
};

// In a child of its own: what one example leaves behind is none of the next one's.
template <typename Which> void inChild(const char *name) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 0;
    try {
      Which().run();
    } catch (const std::exception &error) {
      std::fprintf(stderr, "%s: %s\n", name, error.what());
      status = 1;
    }
    // The report of the example is written at exit.
    std::exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::fprintf(stderr, "%s: status %d\n", name, WEXITSTATUS(status));
}

} // namespace
