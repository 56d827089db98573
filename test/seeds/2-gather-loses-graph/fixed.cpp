// Fits a linear model over two ranks. The loss is the concordance of predictions and targets, which
// does not split into a sum over samples, so every step gathers the predictions of all ranks.
#include <algorithm>
#include <iostream>
#include <mutex>
#include <vector>

#include <devsan/devsan.h>
#include <torch/torch.h>

#include "test/support/store_backend.h"

namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

constexpr int kRanks = 2;
constexpr int64_t kFeatures = 4;

// Samples of each rank in each step; the last batches of an epoch do not come out even.
constexpr int64_t kBatch[][kRanks] = {{8, 8}, {8, 5}, {3, 0}, {8, 8}, {7, 8}, {4, 0}};

std::vector<torch::Tensor> gatherAll(const torch::Tensor &own, const Group &group) {
  const auto on_host = torch::dtype(torch::kLong).device(torch::kCPU);
  int64_t length = own.size(0);
  std::vector<int64_t> lengths(group->getSize());
  std::vector<torch::Tensor> length_in{torch::from_blob(&length, {1}, on_host)};
  std::vector<std::vector<torch::Tensor>> lengths_out(1);
  for (int64_t &slot : lengths) {
    lengths_out[0].push_back(torch::from_blob(&slot, {1}, on_host));
  }
  group->allgather(lengths_out, length_in)->wait();

  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<torch::Tensor> padded{torch::constant_pad_nd(own, {0, longest - length})};
  std::vector<std::vector<torch::Tensor>> gathered(1);
  for (int rank = 0; rank < group->getSize(); ++rank) {
    gathered[0].push_back(torch::empty_like(padded[0]));
  }
  group->allgather(gathered, padded)->wait();

  std::vector<torch::Tensor> result;
  for (int rank = 0; rank < group->getSize(); ++rank) {
    result.push_back(gathered[0][rank].narrow(0, 0, lengths[rank]));
  }
  // The gathered copies carry no graph. The own slice does, and the ranks' gradients are summed
  // after the step.
  result[group->getRank()] = own;
  return result;
}

torch::Tensor concordance(const torch::Tensor &x, const torch::Tensor &y) {
  const auto dx = x - x.mean();
  const auto dy = y - y.mean();
  return 2 * (dx * dy).mean() /
         (dx.square().mean() + dy.square().mean() + (x.mean() - y.mean()).square());
}

torch::Tensor trainingLoss(torch::nn::Linear &model, const torch::Tensor &inputs,
                           const torch::Tensor &targets, const Group &group) {
  const auto predictions = model->forward(inputs).squeeze(1);
  const auto all_predictions = torch::cat(gatherAll(predictions, group));
  const auto all_targets = torch::cat(gatherAll(targets, group));
  return 1 - concordance(all_predictions, all_targets) + 1e-4 * model->weight.square().sum();
}

} // namespace

int main(int argc, char **argv) {
  const torch::Device device(argc > 1 ? argv[1] : "cuda:1");
  torch::manual_seed(0);
  const auto weight = torch::randn({kFeatures}, torch::TensorOptions().device(device));
  const auto initial = torch::randn({1, kFeatures}, weight.options());
  const auto samples = torch::randn({kRanks, 8, kFeatures}, weight.options());

  std::mutex output;
  devsan::test::runRanks(kRanks, [&](const Group &group) {
    torch::nn::Linear model(torch::nn::LinearOptions(kFeatures, 1).bias(false));
    model->to(device);
    {
      torch::NoGradGuard no_grad;
      model->weight.copy_(initial);
    }
    torch::optim::SGD optimizer(model->parameters(), 0.2);

    std::vector<torch::Tensor> losses;
    for (int epoch = 0; epoch < 10; ++epoch) {
      for (const auto &batch : kBatch) {
        const auto inputs = samples[group->getRank()].narrow(0, 0, batch[group->getRank()]);
        const auto loss = trainingLoss(model, inputs, torch::mv(inputs, weight), group);
        optimizer.zero_grad();
        loss.backward();
        std::vector<torch::Tensor> gradient{model->weight.grad()};
        group->allreduce(gradient)->wait();
        optimizer.step();
        losses.push_back(loss.detach());
      }
    }
    const devsan::AllowSync once_at_the_end;
    const auto history = torch::stack(losses).cpu();
    const std::lock_guard<std::mutex> lock(output);
    std::cout << "rank " << group->getRank() << ": loss " << history[0].item<float>() << " -> "
              << history[-1].item<float>() << "\n";
  });
}
