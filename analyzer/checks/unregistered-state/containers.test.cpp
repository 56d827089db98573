// Modules in containers of the standard library, which register nothing.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(int64_t width) { register_parameter("w", torch::ones({width})); }
  torch::Tensor forward(torch::Tensor x) { return x; }
};
TORCH_MODULE(Block);

struct StackImpl : torch::nn::Module {
  explicit StackImpl(int depth) {
    for (int i = 0; i < depth; ++i)
      // CHECK: :[[@LINE+1]]:15: error: the modules in 'layers_' of module 'StackImpl' are not registered, so they do not follow .to(), and their parameters are not among the module's [device-unregistered-state]
      layers_.emplace_back(torch::nn::Linear(8, 8));
    // CHECK: remedy: give each to `register_module`, or keep them in a `ModuleList`
    auto block = std::make_shared<BlockImpl>(4);
    // CHECK: :[[@LINE+1]]:13: error: the modules in 'shared_' {{.*}} [device-unregistered-state]
    shared_.push_back(block);
    // CHECK: :[[@LINE+1]]:15: error: the modules in 'in_place_' {{.*}} [device-unregistered-state]
    in_place_.emplace_back(8, 8);
    // CHECK: :[[@LINE+1]]:5: error: the modules in 'listed_' {{.*}} [device-unregistered-state]
    listed_ = {Block(1), Block(2)};
    // CHECK: :[[@LINE+1]]:5: error: the modules in 'named_' {{.*}} [device-unregistered-state]
    named_["head"] = torch::nn::Linear(8, 2);
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto &layer : layers_)
      x = layer->forward(x);
    return x;
  }
  std::vector<torch::nn::Linear> layers_;
  std::vector<std::shared_ptr<BlockImpl>> shared_;
  std::vector<torch::nn::Linear> in_place_;
  std::vector<Block> listed_;
  std::map<std::string, torch::nn::Linear> named_;
};

struct FixedImpl : torch::nn::Module {
  // CHECK: :[[@LINE+1]]:22: error: the modules in 'pair_' of module 'FixedImpl' {{.*}} [device-unregistered-state]
  FixedImpl() : pair_{{Block(1), Block(2)}} {}
  std::array<Block, 2> pair_;
};

// Registered one by one, before or after, by name, through a reference, a loop or an algorithm; or kept in a list beside.
struct RegisteredImpl : torch::nn::Module {
  explicit RegisteredImpl(int depth) {
    for (int i = 0; i < depth; ++i) {
      first_.push_back(register_module("first" + std::to_string(i), torch::nn::Linear(8, 8)));
      second_.emplace_back(8, 8);
      register_module("second" + std::to_string(i), second_.back());
      auto third = Block(8);
      third_.push_back(third);
      register_module("third" + std::to_string(i), third);
      auto fourth = register_module("fourth" + std::to_string(i), Block(8));
      fourth_.push_back(fourth);
      torch::nn::Linear fifth(8, 8);
      list_->push_back(fifth);
      fifth_.push_back(fifth);
    }
    register_module("list", list_);
    sixth_ = {Block(1), Block(2)};
    for (auto &block : sixth_)
      register_module("sixth", block);
    seventh_ = {Block(1), Block(2)};
    std::for_each(seventh_.begin(), seventh_.end(), [this](Block &block) { register_module("seventh", block); });
    eighth_.push_back(Block(1));
    adopt(eighth_);
  }
  void adopt(std::vector<Block> &blocks) {
    for (std::size_t i = 0; i < blocks.size(); ++i)
      register_module("eighth" + std::to_string(i), blocks[i]);
  }
  std::vector<torch::nn::Linear> first_, second_, fifth_;
  std::vector<Block> third_, fourth_, sixth_, seventh_, eighth_;
  torch::nn::ModuleList list_;
};

// Moved by hand; somebody else's; made by a function that is kept.
struct OthersImpl : torch::nn::Module {
  explicit OthersImpl(const std::vector<Block> &given) : given_(given) {
    moved_.push_back(Block(3));
    for (const Block &block : given)
      copied_.push_back(block);
    makers_.push_back([] { return Block(3); });
    raw_.push_back(given[0].ptr().get());
  }
  void moveTo(torch::Device device) {
    for (auto &block : moved_)
      block->to(device);
  }
  std::vector<Block> moved_, given_, copied_;
  std::vector<std::function<Block()>> makers_;
  std::vector<BlockImpl *> raw_;
};

// No module itself.
struct Registry {
  Registry() { blocks_.push_back(Block(3)); }
  std::vector<Block> blocks_;
};
