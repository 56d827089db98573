// RUN: not %check_mock | %file_check
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/autograd.h>
#include <torch/library.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <iostream>
#include <vector>

double loop(const std::vector<torch::Tensor> &batches) {
  double total = 0;
  for (const auto &batch : batches)
    // CHECK: :[[@LINE+1]]:26: warning: 'batch.sum().item<double>()' makes the host wait for the device on every step (in a loop) [device-host-sync]
    total += batch.sum().item<double>();
  return total;
}

// Turns that go on.
double firstPositive(const std::vector<torch::Tensor> &batches) {
  double total = 0;
  for (const auto &batch : batches) {
    // CHECK: warning: 'batch.sum().item<double>()' makes the host wait for the device on every step (in a loop) [device-host-sync]
    total = batch.sum().item<double>();
    if (total < 0)
      continue;
    break;
  }
  while (!batches.empty()) {
  again:
    // CHECK: warning: 'batches[0].max().item<double>()' makes the host wait for the device on every step (in a loop) [device-host-sync]
    total = batches[0].max().item<double>();
    if (total < 0)
      goto again;
    break;
  }
  return total;
}

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    // CHECK: warning: 'x.isnan().any().item<bool>()' makes the host wait for the device on every step (in 'forward') [device-host-sync]
    if (x.isnan().any().item<bool>())
      x = x * 0;
    auto mask = x > 0;
    // CHECK: warning: 'x.index({mask})' needs the number of true elements of the mask, so the host waits for the device on every step (in 'forward') [device-host-sync]
    // CHECK: remedy: keep the shape: `torch::where` or `masked_fill`
    auto positive = x.index({mask});
    // CHECK: warning: 'torch::nonzero(x)' gives the host a result of the device, so the host waits on every step (in 'forward') [device-host-sync]
    auto where = torch::nonzero(x);
    // CHECK: warning: 'torch::_unique2(x)' gives {{.*}} [device-host-sync]
    auto unique = torch::_unique2(x);
    // CHECK: warning: 'torch::equal(x, positive)' gives {{.*}} [device-host-sync]
    if (torch::equal(x, positive))
      return where;
    x = x + 1;
    // CHECK: warning: 'x.cpu()' copies from the device, so the host waits for it on every step (in 'forward') [device-host-sync]
    auto host = x.cpu();
    return positive + helper(x);
  }
  torch::Tensor helper(torch::Tensor x) {
    // CHECK: warning: 'x.max().item()' makes the host wait for the device on every step (in 'helper', which 'forward' calls) [device-host-sync]
    auto largest = x.max().item();
    return x;
  }
};

torch::Tensor safeDivide(const torch::Tensor &a, const torch::Tensor &b, double zero_division) {
  // CHECK: warning: 'torch::tensor(zero_division).to(a.device())' copies one host value to the device on every step (in 'safeDivide', which 'update' calls) [device-host-sync]
  // CHECK: remedy: make it once, before the loop, or fill it on the device: `torch::full`
  auto fallback = torch::tensor(zero_division).to(a.device());
  return torch::where(b != 0, a / b, fallback);
}

class Accuracy {
public:
  void update(const torch::Tensor &correct, const torch::Tensor &total) {
    // CHECK: warning: 'torch::tensor({1.0, 2.0}, correct.device())' copies a host value to the device on every step (in 'update') [device-host-sync]
    auto weights = torch::tensor({1.0, 2.0}, correct.device());
    ratio_ = safeDivide(correct, total, 0.0) * weights;
  }

private:
  torch::Tensor ratio_;
};

// Operators run whenever the library is used.
torch::Tensor compact(const torch::Tensor &x) {
  // CHECK: warning: 'x.sum().item<int>()' makes {{.*}} (in the operator 'compact') [device-host-sync]
  int count = x.sum().item<int>();
  return torch::zeros({count}, x.options());
}
TORCH_LIBRARY(mine, m) { m.def("compact", &compact); }

struct Invert : torch::autograd::Function<Invert> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext *context, torch::Tensor x) {
    // CHECK: warning: 'torch::inverse(x)' reads on the host whether it succeeded, so the host waits for the device on every step (in 'forward') [device-host-sync]
    // CHECK: remedy: use `linalg_inv_ex`, and look at its info once, if at all
    auto y = torch::inverse(x);
    // CHECK: warning: 'torch::cuda::synchronize()' makes the host wait for the device on every step (in 'forward') [device-host-sync]
    // CHECK: remedy: order the work with streams and events, and wait once after the loop, if at all
    torch::cuda::synchronize();
    return {y};
  }
};
// A function of the program's own, which does not wait.
int cudaMemcpyOnStream(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
struct Copies : torch::autograd::Function<Copies> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext *context, torch::Tensor x) {
    float host[16];
    cudaMemcpy2D(host, 16, x.data_ptr(), 512, 16, 4, cudaMemcpyHostToDevice);
    // CHECK: [[#@LINE+1]]:{{.*}}warning: 'cudaMemcpy2D({{.*}}' makes the host wait for the device on every step (in 'forward') [device-host-sync]
    cudaMemcpy2D(host, 16, x.data_ptr(), 512, 16, 4, cudaMemcpyDeviceToHost);
    cudaMemcpyOnStream(host, x.data_ptr(), 64, cudaMemcpyDeviceToHost, nullptr);
    // CHECK: [[#@LINE+1]]:{{.*}}warning: 'cudaMemcpyFromArray({{.*}}' makes the host wait for the device on every step (in 'forward') [device-host-sync]
    cudaMemcpyFromArray(host, nullptr, 0, 0, 64, cudaMemcpyDeviceToHost);
    return {x};
  }
};
torch::Tensor applied(const torch::Tensor &x) {
  // CHECK: warning: 'x.nonzero()' gives {{.*}} (in the operator 'applied') [device-host-sync]
  auto rows = x.nonzero();
  return Invert::apply(rows)[0];
}

// Waits for whatever has been queued.
void waits(const std::vector<torch::Tensor> &batches, torch::Tensor host) {
  auto stream = c10::cuda::getCurrentCUDAStream();
  host = host.cpu();
  for (const auto &batch : batches) {
    // CHECK: warning: 'stream.synchronize()' makes {{.*}} (in a loop) [device-host-sync]
    stream.synchronize();
    // CHECK: warning: 'c10::cuda::device_synchronize()' makes {{.*}} [device-host-sync]
    c10::cuda::device_synchronize();
    // CHECK: warning: 'host.copy_(batch)' copies from the device{{.*}} [device-host-sync]
    host.copy_(batch);
  }
}

int main() {
  torch::nn::Linear model(2, 2);
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  torch::Device device(torch::kCUDA);
  model->to(device);
  double running = 0;
  auto x = torch::ones({2, 2}).to(device);
  while (running < 10) {
    auto loss = torch::mean(model->forward(x));
    loss.backward();
    optimizer.step();
    // CHECK: :[[@LINE+1]]:21: warning: 'loss.item<float>()' makes {{.*}} (in a loop) [device-host-sync]
    running += loss.item<float>();
  }
}

struct Sizes : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x, torch::Tensor counts) {
    // CHECK: warning: 'torch::repeat_interleave(x, counts)' needs the size of its result, so the host waits for the device on every step (in 'forward') [device-host-sync]
    // CHECK: remedy: pass `output_size`
    auto rows = torch::repeat_interleave(x, counts);
    // CHECK: warning: 'torch::one_hot(counts)' needs the size of its result{{.*}} [device-host-sync]
    auto classes = torch::one_hot(counts);
    // CHECK: warning: 'std::cout << x' gives the host a result of the device{{.*}} [device-host-sync]
    std::cout << x;
    return rows * classes;
  }
};

// Conditions that hold on most turns.
void mostTurns(const std::vector<torch::Tensor> &batches, int flags, bool verbose) {
  int seen = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if ((flags & 1) == 0)
      // CHECK: warning: 'batches[i].sum().item<double>()' makes the host wait {{.*}} [device-host-sync]
      batches[i].sum().item<double>();
    if (seen < 1000) {
      seen = seen + 1;
      // CHECK: warning: 'batches[i].max().item<double>()' makes the host wait {{.*}} [device-host-sync]
      batches[i].max().item<double>();
    }
    if (verbose && i != 0)
      // CHECK: warning: 'batches[i].min().item<double>()' makes the host wait {{.*}} [device-host-sync]
      batches[i].min().item<double>();
    if (i == 0)
      seen = 0;
    else
      // CHECK: warning: 'batches[i].mean().item<double>()' makes the host wait {{.*}} [device-host-sync]
      batches[i].mean().item<double>();
  }
}

// What forward() calls is a step, whether it has a loop of its own or not.
struct StackedImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    for (int i = 0; i < 3; ++i)
      x = x * penalty(x);
    return x;
  }
  double penalty(const torch::Tensor &x) {
    auto total = torch::zeros({}, x.options());
    for (int i = 0; i < 3; ++i)
      total += x[i];
    // CHECK: warning: 'total.item<double>()' makes the host wait for the device on every step (in 'penalty', which a loop in 'forward' calls) [device-host-sync]
    return total.item<double>();
  }
};

// LibTorch's clipping returns the norm as a number.
void clipped(torch::nn::Linear net, const std::vector<torch::Tensor> &batches) {
  net->to(torch::kCUDA);
  for (const auto &batch : batches) {
    net->forward(batch).sum().backward();
    // CHECK: warning: 'torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0)' gives the host a result of the device, so the host waits on every step (in a loop) [device-host-sync]
    torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
  }
}

// A module that moves what it is given, or may do so.
struct MovesImpl : torch::nn::Module {
  torch::nn::Linear fc{nullptr};
  torch::Device device{torch::kCUDA};
  torch::Tensor forward(torch::Tensor x) { return fc->forward(x.to(device)); }
};
TORCH_MODULE(Moves);
struct Unseen : torch::nn::Module {
  torch::nn::Linear fc{nullptr};
  torch::Tensor forward(torch::Tensor x);
};
float onDevice(torch::jit::Module &script, Moves &moves, Unseen &unseen, torch::nn::Sequential &all, std::vector<float> &data,
               torch::Device device) {
  float sum = 0;
  for (int i = 0; i < 3; ++i) {
    torch::Tensor x = torch::from_blob(data.data(), {1, 256});
    // CHECK: :[[@LINE+1]]:30: warning: 'moves->forward(x).item<float>()' makes the host wait {{.*}} [device-host-sync]
    sum += moves->forward(x).item<float>();
    // CHECK: :[[@LINE+1]]:30: warning: 'unseen.forward(x).item<float>()' makes the host wait {{.*}} [device-host-sync]
    sum += unseen.forward(x).item<float>();
    // CHECK: :[[@LINE+1]]:28: warning: 'all->forward(x).item<float>()' makes the host wait {{.*}} [device-host-sync]
    sum += all->forward(x).item<float>();
    // CHECK: :[[@LINE+1]]:54: warning: 'script.forward({x.to(device)}).toTensor().item<float>()' makes the host wait {{.*}} [device-host-sync]
    sum += script.forward({x.to(device)}).toTensor().item<float>();
  }
  return sum;
}

// With a GPU these run as well.
float withGpu(torch::Tensor x, int n, bool wanted) {
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    if (wanted && torch::cuda::is_available())
      x = x.to(torch::kCUDA);
    else
      // CHECK: :[[@LINE+1]]:{{.*}} [device-host-sync]
      sum += x.sum().item<float>();
    if (torch::cuda::is_available())
      // CHECK: :[[@LINE+1]]:{{.*}} [device-host-sync]
      sum += x.cuda().mean().item<float>();
  }
  return sum;
}
