// at::cuda::CUDAGraph for programs that are built for a CPU build of LibTorch, by the names of its
// functions, as c10_cuda.cpp. The object that the header declares lies in the program's memory and
// is another one by release: it is known by its address alone.
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include "runtime/sim/graphs/graph.h"

#define DEVSAN_EXPORT __attribute__((visibility("default")))

enum cudaStreamCaptureMode : int;

namespace at::cuda {

class DEVSAN_EXPORT CUDAGraph {
public:
  explicit CUDAGraph(bool keep_graph);
  ~CUDAGraph();
  CUDAGraph(const CUDAGraph &) = delete;
  CUDAGraph &operator=(const CUDAGraph &) = delete;
  void register_generator_state(const at::Generator &generator);
  void capture_begin(c10::MempoolId_t pool, cudaStreamCaptureMode mode);
  void capture_end();
  void instantiate();
  void replay();
  void reset();
  c10::MempoolId_t pool();
  void enable_debug_mode();
  void debug_dump(const std::string &path);
  static CUDAGraph *get_currently_capturing_graph();
};

namespace {

using devsan::sim::Graph;

class Graphs {
public:
  static Graphs &all() {
    static auto *graphs = new Graphs;
    return *graphs;
  }
  void make(CUDAGraph *key, bool keep) {
    std::lock_guard lock(mutex_);
    graphs_[key] = std::make_unique<Graph>(keep);
  }
  void drop(CUDAGraph *key) {
    std::unique_ptr<Graph> dropped;
    std::lock_guard lock(mutex_);
    dropped = std::move(graphs_.at(key));
    graphs_.erase(key);
  }
  Graph &of(CUDAGraph *key) {
    std::lock_guard lock(mutex_);
    return *graphs_.at(key);
  }
  CUDAGraph *captured() {
    std::lock_guard lock(mutex_);
    for (const auto &[key, graph] : graphs_)
      if (graph.get() == Graph::captured())
        return key;
    return nullptr;
  }

private:
  std::mutex mutex_;
  std::map<CUDAGraph *, std::unique_ptr<Graph>> graphs_;
};

Graph &of(CUDAGraph *graph) {
  return Graphs::all().of(graph);
}

} // namespace

CUDAGraph::CUDAGraph(bool keep_graph) {
  Graphs::all().make(this, keep_graph);
}
CUDAGraph::~CUDAGraph() {
  Graphs::all().drop(this);
}
void CUDAGraph::register_generator_state(const at::Generator &generator) {
  of(this).registerGenerator(generator);
}
void CUDAGraph::capture_begin(c10::MempoolId_t pool, cudaStreamCaptureMode) {
  of(this).beginCapture(pool);
}
void CUDAGraph::capture_end() {
  if (!of(this).endCapture())
    TORCH_WARN("The CUDA Graph is empty. This usually means that the graph was attempted to be "
               "captured on wrong device or stream.");
  of(this).instantiateUnlessKept();
}
void CUDAGraph::instantiate() {
  of(this).instantiate();
}
void CUDAGraph::replay() {
  of(this).replay();
}
void CUDAGraph::reset() {
  of(this).reset();
}
c10::MempoolId_t CUDAGraph::pool() {
  return of(this).pool();
}
void CUDAGraph::enable_debug_mode() {
  Graph::enableDebugging();
}
void CUDAGraph::debug_dump(const std::string &path) {
  const std::optional<std::string> text = of(this).dot();
  if (text)
    std::ofstream(path) << *text;
  else
    TORCH_WARN("CUDA Graphs debug not enabled, set with [graph].enable_debug_mode()");
}
CUDAGraph *CUDAGraph::get_currently_capturing_graph() {
  CUDAGraph *graph = Graphs::all().captured();
  TORCH_CHECK(graph, "There is no graph being captured on the current stream");
  return graph;
}

DEVSAN_EXPORT c10::MempoolId_t graph_pool_handle() {
  return devsan::sim::newPool();
}

} // namespace at::cuda
