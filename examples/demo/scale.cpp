#include <torch/extension.h>

torch::Tensor scale(torch::Tensor x, const torch::Tensor &weight) {
  return x.cuda() * weight;
}
