// CUDA graphs: what a captured stream is given is recorded, and run again over the same memory at
// each replay. As on a GPU, capturing computes nothing that lasts: memory that existed before has
// its content back when the capture ends, random generators their state, and what was made during
// the capture holds nothing until a replay fills it. What waits for the device cannot be captured,
// and invalidates the capture.
//
// What is made during a capture lies in the graph's pool, and the graph knows it by address alone:
// memory that is freed there is given to what is captured later, in this graph or in another one
// that shares the pool, and a replay writes to it whoever has it then. Memory from elsewhere is
// kept alive by the graph, which a GPU would not do.
//
// One graph of the process is captured at a time. Its calls come from one thread, as PyTorch's do.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "runtime/operators/effects.h"

namespace devsan::sim {

// c10::MempoolId_t, which LibTorch has under that name from 2.9 on.
using PoolId = std::pair<unsigned long long, unsigned long long>;

// A call of a kernel, and the results that its replay fills again.
struct RecordedCall {
  c10::OperatorHandle op;
  c10::DispatchKeySet keys;
  std::vector<c10::IValue> arguments;
  std::vector<std::pair<std::size_t, at::Tensor>> fills; // by their number among the results

  void replay() const;
};

// What graphs need in memory of the state of a generator.
struct SeedAndOffset;

class Graph {
public:
  // With `keep`, the program instantiates it itself.
  explicit Graph(bool keep) : keep_(keep) {}
  ~Graph();
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  // The one that is captured now; nullptr: none.
  static Graph *captured();

  void registerGenerator(const at::Generator &generator);
  // Into the pool, or one of its own where that is {0, 0}.
  void beginCapture(PoolId pool);
  // Returns whether anything was recorded.
  bool endCapture();
  // What ends a capture besides.
  void instantiateUnlessKept() { instantiated_ |= !keep_; }
  void instantiate();
  bool isInstantiated() const { return instantiated_; }
  void replay();
  void reset();
  PoolId pool() const;
  // In Graphviz's language, the operators one after the other, where a GPU has kernels; none where
  // nobody has asked for it.
  std::optional<std::string> dot() const;
  static void enableDebugging();

  // Of the captured graph, around a call on a captured stream.
  void keepContent(const c10::OperatorHandle &op, std::span<const c10::IValue> arguments);
  void record(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
              std::vector<c10::IValue> arguments, std::span<const c10::IValue> results);
  void invalidate() { invalid_ = true; }

private:
  struct Content {
    c10::Storage storage;
    std::vector<char> bytes;
  };

  void holdSeedAndOffset(const at::Generator &generator);
  bool isMade(const at::Tensor &tensor) const;
  at::Tensor asItIs(const at::Tensor &tensor) const;
  c10::IValue asItIs(const c10::IValue &value) const;
  void restore();
  void stopCapture();
  void forget();

  const bool keep_;
  std::vector<at::Generator> generators_;
  std::set<std::shared_ptr<SeedAndOffset>> seeds_and_offsets_;
  std::vector<RecordedCall> calls_;
  PoolId pool_ = {0, 0};
  bool holds_pool_ = false;
  bool captured_ = false, instantiated_ = false, invalid_ = false;
  std::optional<c10::Stream> stream_;

  // Until the capture ends.
  std::mutex recording_; // autograd's threads record too
  std::set<const c10::StorageImpl *> made_;
  std::vector<at::Tensor> written_;                     // of what was made
  std::map<const c10::StorageImpl *, Content> content_; // of older storages, before they changed
  std::vector<std::pair<at::Generator, at::Tensor>> states_;
};

// A name for a pool that captures may share.
PoolId newPool();

// CUDA's error where the host would wait for what is captured, which makes the capture invalid; all
// are without effect while nothing is.
void refuseToWait();
void refuseToWait(c10::Stream stream);
// For an operator whose CUDA code waits.
void refuseToWait(const runtime::Effect &effect);

} // namespace devsan::sim
