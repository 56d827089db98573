// RUN: %check_mock | %file_check --allow-empty
#include <c10/cuda/CUDAFunctions.h>
#include <torch/library.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <iostream>
#include <vector>

// Once, after the loop.
double once(const std::vector<torch::Tensor> &batches) {
  auto total = torch::zeros({}, batches[0].options());
  for (const auto &batch : batches)
    total += batch.sum();
  return total.item<double>();
}
void perEpoch(const std::vector<torch::Tensor> &batches, double *log) {
  for (int epoch = 0; epoch < 10; ++epoch) {
    auto total = torch::zeros({}, batches[0].options());
    for (const auto &batch : batches)
      total += batch.sum();
    log[epoch] = total.item<double>();
  }
}

// No loop at all.
#define CHECK_POSITIVE(value)                                                                      \
  do {                                                                                             \
    if (!((value) > 0))                                                                            \
      throw 1;                                                                                     \
  } while (false)
void macro(const torch::Tensor &x) { CHECK_POSITIVE(x.sum().item<double>()); }

// Every so many steps.
void logged(const std::vector<torch::Tensor> &batches) {
  int step = 0;
  for (const auto &batch : batches) {
    if (step % 100 == 0)
      double shown = batch.sum().item<double>();
    ++step;
    if (step % 10 != 0)
      continue;
    auto host = batch.cpu();
  }
}

// The first batch alone.
void first(const std::vector<torch::Tensor> &batches, double *log) {
  for (const auto &batch : batches) {
    log[0] = batch.sum().item<double>();
    break;
  }
  while (!batches.empty()) {
    if (log[0] > 0)
      log[1] = batches[0].sum().item<double>();
    return;
  }
}

bool isDue(int step) { return step % 50 == 0; }
void loggedNowAndThen(const std::vector<torch::Tensor> &batches, double seconds) {
  int step = 0, since = 0;
  double last = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const bool shown = step++ % 10 == 0;
    if (shown)
      batches[i].sum().item<double>();
    if ((i & 63) == 0)
      batches[i].sum().item<double>();
    if (++since >= 100) {
      since = 0;
      batches[i].sum().item<double>();
    }
    if (isDue(i))
      batches[i].sum().item<double>();
    if (i + 1 == batches.size())
      batches[i].sum().item<double>();
    if (seconds - last > 5) {
      last = seconds;
      batches[i].sum().item<double>();
    }
  }
}

// Once per epoch, where the loop over the epochs is the caller's.
double validate(const std::vector<torch::Tensor> &batches) {
  auto total = torch::zeros({}, batches[0].options());
  for (const auto &batch : batches)
    total += batch.sum();
  return total.item<double>();
}
void epochs(const std::vector<torch::Tensor> &batches) {
  for (int epoch = 0; epoch < 10; ++epoch)
    validate(batches);
}

// The loop ends there.
int search(const std::vector<torch::Tensor> &batches, int wanted) {
  for (int i = 0; i < 10; ++i)
    if (i == wanted)
      return batches[i].sum().item<int>();
  return 0;
}

// Tensors of the host.
double onHost(const torch::Tensor &x) {
  auto host = x.cpu();
  auto table = torch::rand({10});
  double total = 0;
  for (int i = 0; i < 10; ++i)
    total += host[i].item<double>() + table[i].item<double>();
  return total;
}
double checked(const torch::Tensor &x) {
  TORCH_CHECK(x.device().type() == torch::kCPU);
  double total = 0;
  for (int i = 0; i < 10; ++i)
    total += x[i].item<double>();
  return total;
}

// item() of something that is no tensor.
struct Matrix {
  float item(int row, int column) const;
  Matrix cpu() const;
};
float matrix(const Matrix &m) {
  float total = 0;
  for (int i = 0; i < 10; ++i)
    total += m.cpu().item(i, i);
  return total;
}

struct NetImpl : torch::nn::Module {
  NetImpl() { auto depth = torch::ones({3}).to(torch::kCUDA).item<float>(); }
  torch::Tensor forward(torch::Tensor x) {
    auto one = torch::full({}, 1.0, x.options());
    auto mask = x > 0;
    x.index_put_({mask.argmax(0)}, one);
    auto ranks = x.index({mask.cumsum(0)}) + x.index({(x > 1).argmax(0)});
    return torch::where(mask, x, one) + x.masked_fill(mask, 0) + ranks;
  }
  double report(torch::Tensor x) { return x.item<double>(); }
};

// The user said that the wait is meant.
namespace devsan {
namespace detail {
template <unsigned flag> class Scope {
public:
  Scope() {}
  ~Scope() {}
};
} // namespace detail
using AllowSync = detail::Scope<8>;
} // namespace devsan
double allowed(const std::vector<torch::Tensor> &batches) {
  double total = 0;
  for (const auto &batch : batches) {
    devsan::AllowSync allow;
    total += batch.sum().item<double>();
  }
  return total;
}

// A test reads results because that is what it is for.
namespace testing {
class Test {
public:
  virtual void TestBody() = 0;
};
} // namespace testing
double read(const torch::Tensor &x) { return x.item<double>(); }
class SumTest : public testing::Test {
  void TestBody() override {
    for (int i = 0; i < 3; ++i)
      read(torch::zeros({i}, torch::kCUDA).sum());
  }
};

// Once, at the end of what was asked for, or not waiting at all.
void synchronized(const std::vector<torch::Tensor> &batches, torch::Tensor pinned) {
  pinned = pinned.cpu();
  for (const auto &batch : batches) {
    auto host = batch.to(torch::kCPU, /*non_blocking=*/true);
    pinned.copy_(batch, true);
    auto [inverse, info] = torch::linalg_inv_ex(batch);
  }
  c10::cuda::device_synchronize();
}

// An operator for the CPU.
torch::Tensor shorten(const torch::Tensor &x) { return torch::zeros({x.sum().item<int>()}); }
TORCH_LIBRARY_IMPL(mine, CPU, m) { m.impl("shorten", &shorten); }

// What a helper of this file brings to the host.
torch::Tensor download(const torch::Tensor &x) { return x.cpu(); }
double onHostByHelper(const torch::Tensor &x) {
  auto host = download(x);
  double total = 0;
  for (int i = 0; i < 10; ++i)
    total += host[i].item<double>();
  return total;
}

// A module that was never moved.
double trainOnHost(const std::vector<torch::Tensor> &batches) {
  torch::nn::Linear model(2, 2);
  double total = 0;
  for (int i = 0; i < 10; ++i)
    total += model->forward(torch::ones({2, 2})).sum().item<double>();
  return total;
}

// Sizes that an operator gets from elsewhere.
torch::Tensor offsetsOf(const torch::Tensor &x);
torch::Tensor grouped(const torch::Tensor &x) {
  auto offsets = offsetsOf(x);
  return torch::zeros({offsets[0].item<int>()}, x.options());
}
TORCH_LIBRARY(others, m) { m.def("grouped", &grouped); }

// Told the size.
struct Sized : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x, torch::Tensor counts) {
    std::cout << x.size(0);
    return torch::repeat_interleave(x, counts, 0, 12) * torch::one_hot(counts, 4);
  }
};

// A number fills a tensor of the device; where() with three arguments chooses there, and alone it gives integers, which are no mask.
struct Numbers : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x, torch::Tensor scale) {
    auto total = torch::tensor(0, x.options());
    for (int i = 0; i < 3; ++i)
      total = total + torch::where((x > 0) & (x < i), 1.0f, 0.0f) * scale;
    return total;
  }
};

// On the device that was chosen, which is the host there.
void onChosen(torch::Tensor x, torch::Device device) {
  for (int i = 0; i < 3; ++i)
    if (device == torch::kCPU)
      x = x.to(device);
}

// A module computes where its inputs lie: its own parameters would not meet them elsewhere.
struct DenseImpl : torch::nn::Module {
  torch::nn::Linear fc{nullptr};
  torch::Tensor forward(torch::Tensor x) { return torch::relu(fc->forward(x)); }
};
TORCH_MODULE(Dense);
float onHost(torch::jit::Module &script, torch::nn::Linear &linear, Dense &dense, std::vector<float> &data) {
  float sum = 0;
  for (int i = 0; i < 3; ++i) {
    torch::Tensor x = torch::from_blob(data.data(), {1, 256}).clone();
    sum += script.forward({x}).toTensor().item<float>();
    std::vector<torch::jit::IValue> inputs;
    inputs.push_back(x);
    sum += script.forward(inputs).toTensor().item<float>();
    sum += linear->forward(x).item<float>() + linear(x).item<float>();
    sum += dense->forward(x).item<float>() + dense(x).item<float>();
  }
  return sum;
}

// Their callers are steps, which call them every so many times or once.
float everySoMany(torch::Tensor x) { return x.to(torch::kCUDA).sum().item<float>(); }
float setUp(torch::Tensor x) { return x.to(torch::kCUDA).sum().item<float>(); }
struct Reporting : torch::nn::Module {
  int64_t turns = 0;
  torch::Tensor forward(torch::Tensor x) {
    if (++turns % 100 == 0)
      everySoMany(x);
    static const float scale = setUp(x);
    static const float again = x.to(torch::kCUDA).mean().item<float>();
    return x * scale * again;
  }
};

// Runs where there is no GPU.
float withoutGpu(torch::Tensor x, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    if (torch::cuda::is_available())
      x = x.to(torch::kCUDA);
    else
      sum += x.sum().item<float>();
    if (!torch::cuda::is_available() || n > 3)
      continue;
  }
  return sum;
}

// Nothing is copied.
struct Placeholders : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    return handle(torch::tensor({}, x.options()), torch::tensor({}, torch::kCUDA));
  }
  torch::Tensor handle(torch::Tensor x, torch::Tensor y);
};
