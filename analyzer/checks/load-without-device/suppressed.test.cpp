// RUN: %check_mock | %file_check --allow-empty
#include <torch/script.h>
#include <torch/torch.h>

void script(const std::string &path, torch::Device device) {
  auto embedder = torch::jit::load(path); // NOLINT(device-load-without-device): this process saved it from this device
  embedder.forward({torch::ones({2, 8}, device)});
}
