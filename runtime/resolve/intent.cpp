#include "runtime/resolve/intent.h"
#include "runtime/resolve/function_name.h"
#include "runtime/resolve/names.h"

#include <algorithm>
#include <array>
#include <string>

namespace devsan::runtime {
namespace {

template <std::size_t N>
bool isOneOf(std::string_view text, const std::array<std::string_view, N> &list) {
  return std::ranges::find(list, text) != list.end();
}

// Operators whose call in the program says "copy this to another device" or "read this value", by
// class in at::_ops.
constexpr auto kMoves = std::to_array<std::string_view>(
    {"to_device", "to_dtype_layout", "to_dtype", "to_other", "type_as", "_to_copy", "cpu", "cuda",
     "copy_", "copy", "clone", "pin_memory", "item", "is_nonzero", "_local_scalar_dense"});
constexpr auto kScalarReads =
    std::to_array<std::string_view>({"item", "is_nonzero", "_local_scalar_dense"});

// Functions that add nothing to what the user's line asked for, by the start of their names.
constexpr auto kWrappers = std::to_array<std::string_view>(
    {"at::Tensor::", "at::TensorBase::", "at::storage_copy", "torch::autograd::dispatch_",
     "torch::autograd::TypeError_to_NotImplemented_", "torch::autograd::VariableHooks::",
     "torch::utils::tensor_to_list", "torch::utils::recursive_to_list", "THPStorage_",
     // An extension on LibTorch's stable interface calls operators by their names.
     "torch::stable::", "aoti_torch_call_dispatcher", "torch_call_dispatcher",
     "c10::Dispatcher::callBoxed", "c10::impl::make_boxed_from_unboxed_functor",
     "c10::impl::call_functor_with_args_from_stack", "at::native::to"});

// Where the methods of Tensor stand, which have short names where they are inlined in a program
// with little debug information.
constexpr auto kMethodHeaders =
    std::to_array<std::string_view>({"/ATen/core/TensorBody.h", "/ATen/core/TensorBase.h"});

// Python's bindings that pass a call of the program straight on to the operator of the same
// meaning. The others (indexing, torch.tensor, a tensor in a condition) copy or read on their own
// account.
constexpr std::string_view kBinding = "torch::autograd::THPVariable_";
constexpr auto kBindings = std::to_array<std::string_view>(
    {"to", "cpu", "cuda", "xpu", "item", "copy_", "tolist", "float_scalar", "integral_scalar",
     "complex_scalar", "index_scalar", "type", "type_as"});

// Functions of torch's Python package by file and name; an empty name is every function of the
// file.
struct PythonFunction {
  std::string_view file_end;
  std::string_view function;
};
// The program calls them in order to move or read one tensor.
constexpr PythonFunction kPythonMoves[] = {
    {"/torch/_tensor.py", "__repr__"},
    {"/torch/_tensor.py", "__format__"},
    {"/torch/_tensor.py", "__deepcopy__"},
    {"/torch/_tensor.py", "__reduce_ex__"},
    {"/torch/_tensor.py", "_reduce_ex_internal"},
    {"/torch/storage.py", ""},
    {"/torch/_utils.py", ""},
};
// The program calls them in order to move all tensors of a module or of a file.
constexpr PythonFunction kPythonBulkMoves[] = {
    {"/torch/nn/modules/module.py", "_apply"},
    // What Module.to and Module.cuda hand to _apply, which a library may override.
    {"/torch/nn/modules/module.py", "convert"},
    {"/torch/nn/modules/module.py", "<lambda>"},
    {"/torch/nn/modules/module.py", "load_state_dict"},
    {"/torch/optim/optimizer.py", "load_state_dict"},
    {"/torch/serialization.py", ""},
};
constexpr auto kBulkMoves = std::to_array<std::string_view>(
    {"torch::nn::Module::to", "torch::nn::Module::to_impl", "torch::nn::Module::clone",
     "torch::nn::Cloneable::clone", "torch::nn::Cloneable::clone_", "torch::jit::Module::to",
     "torch::jit::Module::to_impl", "torch::jit::Object::to", "torch::jit::load",
     "torch::jit::import_ir_module", "torch::jit::Unpickler::readInstruction",
     // DistributedDataParallel takes up a module: it compares the ranks' parameters and buckets.
     "c10d::verify_params_across_processes", "c10d::Reducer::sync_bucket_indices", "torch::load",
     "torch::save", "torch::jit::save", "torch::serialize::InputArchive::read",
     "torch::serialize::InputArchive::load_from", "torch::serialize::OutputArchive::save_to"});

// DistributedDataParallel times its first iterations and one of a hundred later ones: the program
// cannot leave that out.
constexpr auto kOwnTimings =
    std::to_array<std::string_view>({"c10d::Logger::set_runtime_stats_and_log"});

// What PyTorch's own Python code does on its own account, once or where nobody can avoid it: the
// compiler tries its patterns, the state of random numbers is made the same on all ranks, a
// gradient scaler looks whether a step may be done. What compares tensors for a test is meant to.
constexpr PythonFunction kPythonOwnWork[] = {
    {"/torch/_inductor/pattern_matcher.py", ""},
    {"/torch/distributed/tensor/_random.py", ""},
    {"/torch/amp/grad_scaler.py", "<genexpr>"}, // of _maybe_opt_step()
    {"/torch/testing/_comparison.py", ""},
};

// Where a program that measures time reads the clock.
constexpr auto kClocks = std::to_array<std::string_view>(
    {"time.time(", "time_ns(", "perf_counter", "monotonic(", "timeit.", "default_timer(",
     "chrono::", "clock_gettime(", "omp_get_wtime(", "elapsed_time("});

// A tensor is made of host values. Lists become tensors within other calls too (indexing), so in
// Python the binding says it; a default device comes in through torch's own file.
constexpr auto kConstructors = std::to_array<std::string_view>(
    {"torch::tensor", "torch::detail::TensorDataContainer::convert_to_tensor", "at::tensor",
     "at::detail::tensor_backend", "at::detail::tensor_complex_backend"});
constexpr auto kConstructorBindings =
    std::to_array<std::string_view>({"tensor", "as_tensor", "new_tensor", "scalar_tensor"});
constexpr auto kConstructorHelpers =
    std::to_array<std::string_view>({"torch::utils::", "torch::handle_torch_function"});
constexpr PythonFunction kPythonDefaultDevice[] = {{"/torch/utils/_device.py", ""}};

// Autograd's nodes that undo a move which the program made in the forward.
constexpr auto kMovesBack =
    std::to_array<std::string_view>({"torch::autograd::generated::ToCopyBackward0::apply",
                                     "torch::autograd::CopyBackwards::apply"});

// The simulator's own work within a call of the program's that moves no data on a GPU: a storage
// that is sent to another process goes into memory that both map.
constexpr PythonFunction kPythonSimulator[] = {{"/python/devsan/sim/storage.py", "share"},
                                               {"/python/devsan/sim/storage.py", "open_shared"}};

// Communication: copies are what the program calls them for. Between the devices of one process
// (also within DataParallel), and of Python objects between ranks.
constexpr PythonFunction kPythonCommunication[] = {
    {"/torch/nn/parallel/comm.py", ""},
    {"/torch/cuda/nccl.py", ""},
    {"/torch/distributed/distributed_c10d.py", ""},
};
constexpr auto kCommunication = std::to_array<std::string_view>(
    {"torch::cuda::scatter", "torch::cuda::scatter_out", "torch::cuda::gather",
     "torch::cuda::gather_out", "torch::cuda::broadcast", "torch::cuda::broadcast_out",
     "torch::cuda::broadcast_coalesced", "torch::autograd::Scatter::apply",
     "torch::autograd::Gather::apply"});

template <std::size_t N>
bool isPython(const ResolvedFrame &frame, const PythonFunction (&functions)[N]) {
  return std::ranges::any_of(functions, [&](const PythonFunction &one) {
    return frame.frame.location.file.ends_with(one.file_end) &&
           (one.function.empty() || one.function == lastComponent(frame.function()));
  });
}

bool isDisplay(const ResolvedFrame &frame) {
  if (frame.interpreted)
    return frame.frame.location.file.ends_with("/torch/_tensor_str.py");
  return isOneOf(frame.function(),
                 std::to_array<std::string_view>({"at::print", "at::operator<<"}));
}

bool isBulkMove(const ResolvedFrame &frame) {
  if (frame.kind != FrameKind::kTorch)
    return false;
  return frame.interpreted ? isPython(frame, kPythonBulkMoves)
                           : isOneOf(frame.function(), kBulkMoves);
}

bool isCommunication(const ResolvedFrame &frame) {
  return frame.interpreted ? isPython(frame, kPythonCommunication)
                           : isOneOf(frame.function(), kCommunication);
}

// "to" of torch::autograd::THPVariable_to, empty for another function.
std::string_view calledBinding(std::string_view name) {
  const std::size_t at = name.find(kBinding);
  if (at == std::string_view::npos)
    return {};
  name.remove_prefix(at + kBinding.size());
  return name.substr(0, name.find("::"));
}

// True for a frame that adds nothing to what the user's line asked for.
bool passesOn(const ResolvedFrame &frame) {
  if (frame.kind != FrameKind::kTorch)
    return true;
  if (frame.interpreted)
    return isPython(frame, kPythonMoves);
  const std::string_view name = frame.function();
  if (const std::string_view binding = calledBinding(name); !binding.empty())
    return isOneOf(binding, kBindings);
  return std::ranges::any_of(kWrappers,
                             [&](std::string_view start) { return name.starts_with(start); }) ||
         std::ranges::any_of(kMethodHeaders, [&](std::string_view end) {
           return frame.frame.location.file.ends_with(end);
         });
}

// A function of LibTorch's that its caller tells a device, such as data_parallel(): what it copies
// is what it is called for. Nothing where the function's name does not say.
std::optional<bool> isToldADevice(const ResolvedFrame &frame) {
  if (frame.interpreted || frame.kind != FrameKind::kTorch || !frame.takes_device)
    return std::nullopt;
  const std::string_view name = lastComponent(frame.function());
  return *frame.takes_device || name == "cuda" || name == "cpu";
}

bool isConstructor(const ResolvedFrame &frame) {
  return !frame.interpreted && (isOneOf(frame.function(), kConstructors) ||
                                isOneOf(calledBinding(frame.function()), kConstructorBindings));
}

// True for a frame that may lie between a constructor and its copy, or around it.
bool passesOnConstruction(const ResolvedFrame &frame) {
  if (passesOn(frame) || isConstructor(frame))
    return true;
  if (frame.interpreted)
    return isPython(frame, kPythonDefaultDevice);
  return std::ranges::any_of(kConstructorHelpers, [&](std::string_view start) {
    return frame.function().starts_with(start);
  });
}

bool isMoveBack(const ResolvedFrame &frame) {
  return !frame.interpreted && isOneOf(frame.function(), kMovesBack);
}

// "item" of at::_ops::item::call, empty for another function.
std::string_view calledOperator(const ResolvedFrame &frame) {
  std::string_view name = frame.function();
  constexpr std::string_view kOps = "at::_ops::";
  constexpr std::string_view kCall = "::call";
  if (!name.starts_with(kOps) || !name.ends_with(kCall) || name.size() < kOps.size() + kCall.size())
    return {};
  name.remove_prefix(kOps.size());
  name.remove_suffix(kCall.size());
  return name;
}

// Where autograd's engine runs the node whose frames lie before; the number of frames where none
// does.
std::size_t innermostEngineFrame(const std::vector<ResolvedFrame> &frames) {
  const auto engine = std::ranges::find_if(frames, [](const ResolvedFrame &frame) {
    return !frame.interpreted && frame.function().starts_with("torch::autograd::Engine::");
  });
  return static_cast<std::size_t>(engine - frames.begin());
}

// The text up to the bracket that closes the one before it; nothing where the line ends first.
std::optional<std::string_view> argumentsOf(std::string_view text) {
  int depth = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' || text[i] == '{';
    depth -= text[i] == ')' || text[i] == ']' || text[i] == '}';
    if (depth == 0)
      return text.substr(0, i);
  }
  return std::nullopt;
}

// Does every `.cuda(…)` on this line of Python leave the device open? What cannot be read, because
// the source is not there or the call goes on in the next line, is taken to name one.
bool cudaCallsNameNoDevice(const core::Location &place, core::SourceText &sources) {
  constexpr std::string_view kCall = ".cuda(";
  const std::string line = sources.line(place.file, place.line).value_or("");
  std::string_view rest = line;
  bool found = false;
  for (std::size_t at; (at = rest.find(kCall)) != std::string_view::npos; found = true) {
    rest.remove_prefix(at + kCall.size());
    const std::optional<std::string_view> arguments = argumentsOf(rest);
    if (!arguments)
      return false;
    const std::size_t first = arguments->find_first_not_of(' ');
    if (first == std::string_view::npos)
      continue;
    // The device is the first argument; one that comes first by its name is another.
    const std::string_view text = arguments->substr(first);
    if (!(text.starts_with("non_blocking") || text.starts_with("memory_format")) ||
        text.find("device") != std::string_view::npos)
      return false;
  }
  return found;
}

bool readsClock(const core::Location &place, core::SourceText &sources) {
  constexpr unsigned kAround = 2; // lines
  for (unsigned line = place.line > kAround ? place.line - kAround : 1;
       line <= place.line + kAround; ++line) {
    const std::string text = sources.line(place.file, line).value_or("");
    if (std::ranges::any_of(
            kClocks, [&](std::string_view clock) { return text.find(clock) != std::string::npos; }))
      return true;
  }
  return false;
}

} // namespace

void readIntent(ResolvedStack &stack, core::SourceText &sources) {
  const std::size_t engine = innermostEngineFrame(stack.frames);
  for (std::size_t i = engine; i < stack.frames.size() && !stack.backward_start; ++i)
    if (stack.frames[i].kind == FrameKind::kUser)
      stack.backward_start = i;
  // Within a node, nothing is what the line that started the backward asked for.
  const std::size_t innermost = stack.innermost_user.value_or(stack.frames.size());
  const std::size_t user = std::min(innermost, engine);
  std::string_view outermost;
  std::size_t outside = 0; // the first frame outside the outermost operator
  bool moves_back = false;
  for (std::size_t i = 0; i < user; ++i) {
    const ResolvedFrame &frame = stack.frames[i];
    moves_back |= isMoveBack(frame) && isOneOf(outermost, kMoves);
    stack.of_simulator |= frame.interpreted && isPython(frame, kPythonSimulator);
    const std::string_view op = calledOperator(frame);
    if (op.empty())
      continue;
    outermost = op;
    stack.called = i;
    outside = i + 1;
    stack.reads_scalar |= isOneOf(op, kScalarReads);
  }
  if (!outermost.empty())
    stack.op = operatorName(outermost);
  bool straight = true;
  bool constructed = false;
  bool constructs_only = true;
  // Also where a module of the program's moves what it has in its own way, within Module.to().
  bool bulk_move =
      std::any_of(stack.frames.begin() + static_cast<std::ptrdiff_t>(outside),
                  stack.frames.begin() + static_cast<std::ptrdiff_t>(engine), isBulkMove);
  bool own_work = false;
  bool display = false;
  bool communication = false;
  bool calls_cuda = false;
  bool through_torch = false;
  bool says_wait = false;
  bool told_a_device = false; // by the user's line
  for (std::size_t i = outside; i < user; ++i) {
    const ResolvedFrame &frame = stack.frames[i];
    straight &= passesOn(frame);
    constructed |= isConstructor(frame);
    constructs_only &= passesOnConstruction(frame);
    own_work |= frame.interpreted ? isPython(frame, kPythonOwnWork)
                                  : isOneOf(frame.function(), kOwnTimings);
    display |= isDisplay(frame);
    communication |= isCommunication(frame);
    told_a_device = isToldADevice(frame).value_or(told_a_device);
    const std::string_view function = lastComponent(frame.function());
    calls_cuda |=
        frame.kind == FrameKind::kTorch && (function == "cuda" || function == "THPVariable_cuda");
    through_torch |= frame.kind == FrameKind::kTorch;
    says_wait |= frame.kind == FrameKind::kTorch &&
                 (frame.function().find("ynchronize") != std::string::npos ||
                  function == "empty_cache" || function == "emptyCache");
  }
  stack.spelled_out = straight && !bulk_move && isOneOf(outermost, kMoves);
  // In C++, cuda() takes no device.
  if (calls_cuda)
    stack.without_index = user == stack.frames.size() || !stack.frames[user].interpreted ||
                          cudaCallsNameNoDevice(stack.frames[user].frame.location, sources);
  if (display) {
    stack.intent = Intent::kDisplay;
    stack.op = "print";
  } else if (own_work || (bulk_move && !outermost.empty()))
    stack.intent = Intent::kBulkMove;
  // A wait that is no operator is spelled out where its name says so, as empty_cache() does; in C++
  // often no frame of torch's remains, because synchronize() does nothing after its call.
  else if (outermost.empty() && user < engine && stack.innermost_user &&
           (says_wait || !through_torch)) {
    stack.intent = Intent::kExplicit;
    stack.measures_time = readsClock(stack.frames[user].frame.location, sources);
  } else if (communication || moves_back || (straight && isOneOf(outermost, kMoves)))
    stack.intent = Intent::kExplicit;
  else if (constructed && constructs_only && isOneOf(outermost, kMoves) && !stack.reads_scalar)
    stack.intent = Intent::kConstructed;
  else if (told_a_device && isOneOf(outermost, kMoves) && !stack.reads_scalar)
    stack.intent = Intent::kExplicit;
}

} // namespace devsan::runtime
