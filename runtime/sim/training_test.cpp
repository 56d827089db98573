// A training loop gives on a simulated device what it gives on the CPU.
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace {

struct Net : torch::nn::Module {
  torch::nn::Conv2d conv =
      register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3).padding(1)));
  torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(8));
  torch::nn::Dropout dropout = register_module("dropout", torch::nn::Dropout(0.25));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(8 * 16, 10));

  at::Tensor forward(at::Tensor x) {
    x = torch::max_pool2d(torch::relu(norm(conv(x))), 2);
    return head(dropout(x.flatten(1)));
  }
};

std::vector<double> losses(at::Device device) {
  torch::manual_seed(0);
  Net net;
  net.to(device);
  torch::optim::Adam optimizer(net.parameters(), 1e-2);
  at::Tensor input = torch::randn({4, 3, 8, 8}).to(device);
  at::Tensor target = torch::randint(0, 10, {4}).to(device);
  std::vector<double> result;
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    torch::manual_seed(step); // a device's first draw is the CPU's for the same seed
    at::Tensor loss = torch::cross_entropy_loss(net.forward(input), target);
    loss.backward();
    optimizer.step();
    result.push_back(loss.item<double>());
  }
  EXPECT_EQ(net.parameters()[0].device(), device);
  EXPECT_EQ(net.parameters()[0].grad().device(), device);
  return result;
}

TEST(Training, EqualsTheCpu) {
  std::vector<double> host = losses(at::kCPU), device = losses(at::Device(at::kCUDA, 1));
  for (std::size_t step = 0; step < host.size(); ++step)
    EXPECT_NEAR(host[step], device[step], 1e-6) << "step " << step;
  EXPECT_LT(host.back(), host.front());
}

TEST(Training, RecurrentNetworks) {
  auto run = [](at::Device device, auto make) {
    torch::manual_seed(0);
    auto net = make();
    at::Tensor input = torch::randn({5, 2, 3});
    net->to(device);
    at::Tensor output = std::get<0>(net->forward(input.to(device)));
    output.sum().backward();
    return std::pair(output.cpu(), net->parameters()[0].grad().cpu());
  };
  auto compare = [&](auto make) {
    auto host = run(at::kCPU, make), device = run(at::Device(at::kCUDA, 1), make);
    EXPECT_TRUE(at::allclose(host.first, device.first, 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(host.second, device.second, 1e-4, 1e-5));
  };
  compare([] {
    return torch::nn::LSTM(torch::nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true));
  });
  compare([] { return torch::nn::GRU(torch::nn::GRUOptions(3, 4)); });
  compare([] { return torch::nn::RNN(torch::nn::RNNOptions(3, 4)); });
}

} // namespace
