#include "runtime/record/autograd_state.h"

#include <c10/util/Exception.h>
#include <cstring>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/function.h> // node.h came later
#include <torch/csrc/autograd/graph_task.h>
#include <typeinfo>

namespace devsan::runtime {

namespace {

// LibTorch prints the traceback as a warning; to read it otherwise needs Python's headers.
class TextOfWarnings : public c10::WarningHandler {
public:
  void process(const c10::Warning &warning) override { text += warning.msg(); }
  std::string text;
};

} // namespace

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

std::string forwardTraceback() {
  if (!torch::autograd::AnomalyMode::is_enabled())
    return {};
  auto node = torch::autograd::get_current_node();
  if (!node)
    return {};
  TextOfWarnings warnings;
  c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  node->metadata()->print_stack(node->name());
  return std::move(warnings.text);
}

} // namespace devsan::runtime
