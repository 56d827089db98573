// Average precision of a binary classifier, computed reproducibly.
#include <iostream>
#include <string>

#include <devsan/devsan.h>
#include <torch/torch.h>

namespace {

// LibTorch scans on the device, and reproducibly so where deterministic algorithms are asked for.
// The explicit dtype is kept under autocast too, which would otherwise widen the result of a half
// precision input.
torch::Tensor cumulativeSum(const torch::Tensor &x, int64_t dim) {
  return x.cumsum(dim, x.scalar_type());
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

  const devsan::AllowSync once_at_the_end;
  std::cout << "scores on " << scores.device() << ", average precision on " << result.device()
            << ": " << result.item<float>() << "\n";
}
