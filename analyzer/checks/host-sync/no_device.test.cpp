// In a program that deals with no device, tensors from nowhere in particular are the host's.
// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

torch::Tensor nextBatch();

int main() {
  torch::nn::Linear model(2, 2);
  for (int i = 0; i < 10; ++i) {
    auto batch = nextBatch();
    auto loss = model->forward(batch).sum();
    float shown = loss.item<float>() + batch.sum().item<float>();
  }
}
