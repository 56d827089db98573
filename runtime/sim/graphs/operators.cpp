// Graphs as devsan/sim/graphs.py calls them. As operators their errors are Python's of the same
// kind. A graph is the number that graph_make gives.
#include <torch/library.h>

#include "graph.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

Graph &graphOf(int64_t number) {
  return *reinterpret_cast<Graph *>(number);
}

int64_t numberOf(const Graph *graph) {
  return reinterpret_cast<int64_t>(graph);
}

std::vector<int64_t> listOf(PoolId pool) {
  return {static_cast<int64_t>(pool.first), static_cast<int64_t>(pool.second)};
}

PoolId poolOf(at::IntArrayRef list) {
  return {static_cast<PoolId::first_type>(list[0]), static_cast<PoolId::second_type>(list[1])};
}

} // namespace

DEVSAN_SIM_AT_LOAD(DEVSAN_SIM_KERNELS) {
  auto &m =
      *new torch::Library(torch::Library::FRAGMENT, "devsan_sim", std::nullopt, __FILE__, __LINE__);
  m.def("graph_make(bool keep) -> int", [](bool keep) { return numberOf(new Graph(keep)); });
  m.def("graph_delete(int graph) -> ()", [](int64_t graph) { delete &graphOf(graph); });
  m.def("graph_captured() -> int", [] { return numberOf(Graph::captured()); });
  m.def("graph_new_pool() -> int[]", [] { return listOf(newPool()); });
  m.def("graph_register_generator(int graph, Generator? generator) -> ()",
        [](int64_t graph, const std::optional<at::Generator> &generator) {
          graphOf(graph).registerGenerator(generator.value());
        });
  m.def("graph_begin_capture(int graph, int[] pool) -> ()",
        [](int64_t graph, at::IntArrayRef pool) { graphOf(graph).beginCapture(poolOf(pool)); });
  m.def("graph_end_capture(int graph) -> bool",
        [](int64_t graph) { return graphOf(graph).endCapture(); });
  m.def("graph_instantiate_unless_kept(int graph) -> ()",
        [](int64_t graph) { graphOf(graph).instantiateUnlessKept(); });
  m.def("graph_instantiate(int graph) -> ()", [](int64_t graph) { graphOf(graph).instantiate(); });
  m.def("graph_is_instantiated(int graph) -> bool",
        [](int64_t graph) { return graphOf(graph).isInstantiated(); });
  m.def("graph_replay(int graph) -> ()", [](int64_t graph) { graphOf(graph).replay(); });
  m.def("graph_reset(int graph) -> ()", [](int64_t graph) { graphOf(graph).reset(); });
  m.def("graph_pool(int graph) -> int[]",
        [](int64_t graph) { return listOf(graphOf(graph).pool()); });
  m.def("graph_enable_debugging() -> ()", [] { Graph::enableDebugging(); });
  m.def("graph_dot(int graph) -> str?", [](int64_t graph) { return graphOf(graph).dot(); });
}

} // namespace devsan::sim
