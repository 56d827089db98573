// Average precision of a binary classifier, computed reproducibly.
#include <iostream>
#include <string>

#include <torch/torch.h>

namespace {

torch::Tensor cumulativeSum(const torch::Tensor &x, int64_t dim) {
  if (at::globalContext().deterministicAlgorithms() && x.is_floating_point() && !x.is_cpu()) {
    return x.cpu().cumsum(dim).cuda();
  }
  return x.cumsum(dim);
}

torch::Tensor averagePrecision(const torch::Tensor &scores, const torch::Tensor &target) {
  const auto order = scores.argsort(/*dim=*/0, /*descending=*/true);
  const auto hits = target.index_select(0, order);
  const auto true_positives = cumulativeSum(hits, 0);
  const auto false_positives = cumulativeSum(1 - hits, 0);
  const auto precision = true_positives / (true_positives + false_positives);
  const auto recall = true_positives / true_positives.amax();
  const auto steps = torch::diff(recall, 1, 0, torch::zeros({1}, recall.options()));
  return (precision * steps).sum();
}

} // namespace

int main(int argc, char **argv) {
  const torch::Device device(argc > 1 ? argv[1] : "cuda:1");
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  torch::manual_seed(0);

  const auto target = torch::randint(0, 2, {4096}, torch::dtype(torch::kFloat).device(device));
  const auto scores = (target + torch::randn({4096}, target.options())).sigmoid();
  const auto result = averagePrecision(scores, target);

  std::cout << "scores on " << scores.device() << ", average precision on " << result.device()
            << ": " << result.item<float>() << "\n";
}
