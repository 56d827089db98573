#include "runtime/offline/intent.h"
#include "runtime/offline/function_name.h"
#include "runtime/offline/names.h"

#include <algorithm>
#include <array>

namespace devsan::runtime {
namespace {

template <std::size_t N>
bool isOneOf(std::string_view text, const std::array<std::string_view, N> &list) {
  return std::ranges::find(list, text) != list.end();
}

// Operators whose call in the program says "copy this to another device" or "read this value", by
// class in at::_ops.
constexpr std::array<std::string_view, 15> kMoves = {"to_device",
                                                     "to_dtype_layout",
                                                     "to_dtype",
                                                     "to_other",
                                                     "_to_copy",
                                                     "cpu",
                                                     "cuda",
                                                     "copy_",
                                                     "item",
                                                     "is_nonzero",
                                                     "_local_scalar_dense",
                                                     "copy",
                                                     "pin_memory",
                                                     "_copy_from",
                                                     "clone"};
constexpr std::array<std::string_view, 3> kScalarReads = {"item", "is_nonzero",
                                                          "_local_scalar_dense"};

// Python's bindings that pass a call of the program straight on to the operator of the same
// meaning. The others (indexing, torch.tensor, bool(tensor)) copy or read on their own account.
constexpr std::array<std::string_view, 13> kPythonBindings = {"to",
                                                              "cpu",
                                                              "cuda",
                                                              "xpu",
                                                              "item",
                                                              "copy_",
                                                              "tolist",
                                                              "is_nonzero",
                                                              "float_scalar",
                                                              "integral_scalar",
                                                              "complex_scalar",
                                                              "index_scalar",
                                                              "type"};
constexpr std::string_view kBinding = "torch::autograd::THPVariable_";

// Functions of torch's Python package that the program calls in order to move or read, by file and
// function.
struct PythonFunction {
  std::string_view file_end;
  std::string_view function; // last component; empty: every function of the file
};
constexpr PythonFunction kPythonMoves[] = {
    {"/torch/_tensor_str.py", ""},
    {"/torch/_tensor.py", "__repr__"},
    {"/torch/_tensor.py", "__format__"},
    {"/torch/_tensor.py", "__deepcopy__"},
    {"/torch/_tensor.py", "__reduce_ex__"},
    {"/torch/_tensor.py", "_reduce_ex_internal"},
    {"/torch/serialization.py", ""},
    {"/torch/storage.py", ""},
    {"/torch/_utils.py", ""},
};
constexpr std::array<std::string_view, 8> kModuleMoves = {"to",     "cuda",    "cpu",      "xpu",
                                                          "_apply", "convert", "<lambda>", "type"};

bool isModuleMove(const ResolvedFrame &frame) {
  const std::string_view function = lastComponent(frame.qualified);
  if (frame.interpreted)
    return frame.frame.location.file.ends_with("/torch/nn/modules/module.py") &&
           isOneOf(function, kModuleMoves);
  return (frame.qualified.starts_with("torch::nn::") ||
          frame.qualified.starts_with("torch::jit::")) &&
         (frame.qualified.ends_with("Module::to") || frame.qualified.ends_with("Module::to_impl") ||
          frame.qualified.ends_with("Module::_to") || frame.qualified.ends_with("::clone"));
}

bool isPythonMove(const ResolvedFrame &frame) {
  return std::ranges::any_of(kPythonMoves, [&](const PythonFunction &move) {
    return frame.frame.location.file.ends_with(move.file_end) &&
           (move.function.empty() || move.function == lastComponent(frame.qualified));
  });
}

// True for a frame that adds nothing to what the user's line asked for.
bool passesOn(const ResolvedFrame &frame) {
  if (frame.kind == FrameKind::kInterpreter || frame.kind == FrameKind::kSystem ||
      frame.kind == FrameKind::kDevSan)
    return true;
  if (isModuleMove(frame))
    return true;
  if (frame.interpreted)
    return isPythonMove(frame);
  const std::string_view name = frame.qualified;
  if (const std::size_t at = name.find(kBinding); at != std::string_view::npos) {
    std::string_view binding = name.substr(at + kBinding.size());
    binding = binding.substr(0, binding.find("::"));
    return isOneOf(binding, kPythonBindings);
  }
  for (std::string_view prefix : {"at::Tensor::", "at::TensorBase::", "torch::autograd::dispatch_",
                                  "torch::utils::tensor_to_list", "torch::utils::recursive_to_list",
                                  "torch::autograd::TypeError_to_NotImplemented_", "at::print",
                                  "at::operator<<", "torch::print", "torch::operator<<",
                                  "torch::nn::Module::", "torch::autograd::VariableHooks::"})
    if (name.starts_with(prefix))
      return true;
  return name.empty() || name.ends_with("::operator<<");
}

// "item" of at::_ops::item::call, empty for another function.
std::string_view calledOperator(const ResolvedFrame &frame) {
  std::string_view name = frame.qualified;
  constexpr std::string_view kOps = "at::_ops::";
  constexpr std::string_view kCall = "::call";
  if (!name.starts_with(kOps) || !name.ends_with(kCall) || name.size() < kOps.size() + kCall.size())
    return {};
  name.remove_prefix(kOps.size());
  name.remove_suffix(kCall.size());
  return name;
}

} // namespace

void readIntent(ResolvedStack &stack) {
  const std::size_t user = stack.innermost_user.value_or(stack.frames.size());
  std::string_view outermost;
  std::size_t outside = 0; // the first frame outside the outermost operator
  for (std::size_t i = 0; i < user; ++i) {
    const std::string_view op = calledOperator(stack.frames[i]);
    if (op.empty())
      continue;
    outermost = op;
    outside = i + 1;
    stack.reads_scalar |= isOneOf(op, kScalarReads);
  }
  if (!outermost.empty())
    stack.op = operatorName(outermost);
  bool straight = true;
  bool module_move = false;
  for (std::size_t i = outside; i < user; ++i) {
    const ResolvedFrame &frame = stack.frames[i];
    straight &= passesOn(frame);
    module_move |= isModuleMove(frame);
    const std::string_view function = lastComponent(frame.qualified);
    if (frame.kind == FrameKind::kTorch && (function == "cuda" || function == "THPVariable_cuda"))
      stack.without_index = true;
    // A wait that is no operator is spelled out where its name says so.
    if (outermost.empty() && frame.kind == FrameKind::kTorch &&
        frame.qualified.find("ynchronize") != std::string::npos)
      stack.intent = Intent::kExplicit;
  }
  if (module_move && !outermost.empty())
    stack.intent = Intent::kModuleMove;
  else if (straight && isOneOf(outermost, kMoves))
    stack.intent = Intent::kExplicit;
}

} // namespace devsan::runtime
