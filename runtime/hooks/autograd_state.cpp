#include "runtime/hooks/autograd_state.h"

#include <cstring>
#include <torch/csrc/autograd/function.h> // node.h came later
#include <torch/csrc/autograd/graph_task.h>
#include <typeinfo>

namespace devsan::runtime {

bool inBackward() {
  return torch::autograd::get_current_graph_task_id() >= 0;
}

std::string currentNodeName() {
  auto node = torch::autograd::get_current_node();
  if (!node)
    return {};
  const torch::autograd::Node &current = *node;
  if (std::strstr(typeid(current).name(), "PyNode"))
    return {};
  return current.name();
}

} // namespace devsan::runtime
