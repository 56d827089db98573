#pragma once
constexpr bool kInHeader = false;
const bool kClosed = false;
inline torch::Tensor ofHeader(const torch::Tensor &x) {
  return kClosed ? x + torch::zeros({3}) : x;
}
