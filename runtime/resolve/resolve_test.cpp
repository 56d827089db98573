#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

using namespace testing;

const ResolvedStack &stackOf(const Recording &recording) {
  return *recording.events().front().stack;
}

Recording recordingOf(std::initializer_list<TestFrame> frames) {
  LogBuilder log;
  Event event;
  event.stack = log.stack(frames);
  return replay(log.add(event));
}

TestFrame torchPython(const char *function, const char *file) {
  return python(function, 1, std::string("/venv/lib/python3.11/site-packages/torch/") + file);
}

TEST(Location, IsTheInnermostFrameOutsideTorch) {
  const Recording recording =
      recordingOf({op("copy_"), op("to_device"), user("helper(at::Tensor)", 7), user("main", 20)});
  const core::Location place = stackOf(recording).location();
  EXPECT_EQ(place.file, "train.cpp");
  EXPECT_EQ(place.line, 7u);
  EXPECT_EQ(place.function, "helper");
}

TEST(Location, IsALibraryOnTopOfTorchInPython) {
  const Recording recording =
      recordingOf({op("item"), torchPython("Tensor.norm", "_tensor.py"),
                   python("_safe_divide", 57,
                          "/venv/lib/python3.11/site-packages/torchmetrics/utilities/compute.py"),
                   python("train", 9)});
  EXPECT_EQ(stackOf(recording).location().line, 57u);
  // The operator, torch's Python code and the callers.
  EXPECT_EQ(stackOf(recording).shown().size(), 4u);
}

TEST(Location, IsPythonsLineWhereAnExtensionHasNone) {
  const TestFrame extension{"/cache/sq.so", "sq(at::Tensor)", "", 0};
  const core::Location place =
      stackOf(recordingOf({op("item"), extension, python("train", 9)})).location();
  EXPECT_EQ(place.file, "train.py");
  EXPECT_EQ(place.line, 9u);
  const core::Location alone =
      stackOf(recordingOf({op("item"), TestFrame{"/build/a.out", "step(at::Tensor)", "", 0}}))
          .location();
  EXPECT_EQ(alone.file, "/build/a.out");
  EXPECT_EQ(alone.function, "step");
}

TEST(Shown, LeavesOutHowTorchWorksInside) {
  const Recording recording = recordingOf(
      {op("copy_"), torch("at::native::_to_copy(at::Tensor const&)"), op("to_device"),
       torch("torch::autograd::THPVariable_to(_object*, _object*, _object*)"), python("train", 9)});
  const std::vector<core::Frame> shown = stackOf(recording).shown();
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(shown[0].location.function, "at::_ops::to_device::call");
  EXPECT_EQ(shown[1].location.function, "torch::autograd::THPVariable_to");
  EXPECT_EQ(shown[2].location.function, "train");
}

TEST(Resolve, SimulatedDevicesTellNoTime) {
  LogBuilder log;
  log.header.simulated_devices = 2;
  Event event;
  event.blocked_ns = 1000;
  EXPECT_EQ(replay(log.add(event)).events().front().event.blocked_ns, 0u);
}

TEST(Location, IsTheOperatorWhereTheUserIsNotOnTheStack) {
  const Recording recording =
      recordingOf({op("copy_"), op("mul_Tensor"), torch("torch::autograd::Engine::thread_main()")});
  EXPECT_EQ(stackOf(recording).location().file, "");
  EXPECT_EQ(stackOf(recording).location().function, "aten::mul");
}

std::string functionOfLaunch(const char *kernel, std::initializer_list<TestFrame> frames) {
  LogBuilder log;
  Event context, launch;
  context.kind = EventKind::kContext; // which the launch has made
  launch.kind = EventKind::kLaunch;
  context.stack = launch.stack = log.stack(frames);
  launch.operand = log.string(kernel);
  log.add(context);
  return stackOf(replay(log.add(launch))).location().function;
}

TEST(Location, IsTheLaunchAndNotTheKernel) {
  const TestFrame launch = user("launch(float*)", 7), main = user("main", 20);
  constexpr const char *kScale = "_Z5scalePf"; // scale(float*)
  // nvcc's, for a kernel of C++ and for one with C's name.
  EXPECT_EQ(functionOfLaunch(kScale, {user("__device_stub__Z5scalePf(float*)", 3),
                                      user("scale(float*)", 3), launch, main}),
            "launch");
  EXPECT_EQ(functionOfLaunch(
                "scale", {user("__device_stub__scale(float*)", 3), user("scale", 3), launch, main}),
            "launch");
  // nvcc's, for a template.
  EXPECT_EQ(
      functionOfLaunch("_Z5scaleIfEvPT_", {user("__device_stub__Z5scaleIfEvPT_(float*&)", 3),
                                           user("__wrapper__device_stub_scale<float>(float*&)", 3),
                                           user("void scale<float>(float*)", 3), launch, main}),
      "launch");
  // clang's, with symbols and with debug information.
  EXPECT_EQ(functionOfLaunch(kScale, {user("__device_stub__scale(float*)", 3), launch, main}),
            "launch");
  EXPECT_EQ(functionOfLaunch(kScale, {user("scale", 3), launch, main}), "launch");
  // Launched by a function of the kernel's name.
  EXPECT_EQ(functionOfLaunch(kScale, {user("scale", 3), user("scale", 7), main}), "scale");
  EXPECT_EQ(functionOfLaunch("", {user("scale", 3), main}), "scale");
}

TEST(Location, IsTheBinaryWithoutDebugInformation) {
  const Recording recording = recordingOf({op("item"), user("step()", 0, "")});
  EXPECT_EQ(stackOf(recording).location().file, "/src/train");
}

TEST(Intent, IsExplicitForMovesAndReads) {
  for (const char *name :
       {"to_device", "to_dtype_layout", "to_other", "type_as", "cpu", "cuda", "copy_", "item"})
    EXPECT_EQ(stackOf(recordingOf({op("_to_copy"), op(name), user("main", 1)})).intent,
              Intent::kExplicit)
        << name;
}

TEST(Intent, IsImplicitInsideAnotherOperator) {
  const Recording recording =
      recordingOf({op("copy_"), op("to_device"), op("where_self"), user("main", 1)});
  EXPECT_EQ(stackOf(recording).intent, Intent::kImplicit);
  EXPECT_EQ(stackOf(recording).op, "aten::where");
}

TEST(Intent, IsImplicitInsideAnotherFunctionOfTorch) {
  const Recording recording =
      recordingOf({op("to_dtype_layout"),
                   {"/src/train", "torch::nn::functional::embedding(at::Tensor const&)",
                    "/venv/torch/include/torch/nn/functional/embedding.h", 3},
                   user("main", 1)});
  EXPECT_EQ(stackOf(recording).intent, Intent::kImplicit);
}

TEST(Intent, KnowsATensorOfHostValues) {
  const TestFrame from_values =
      torch("torch::utils::(anonymous namespace)::internal_new_from_data()");
  const TestFrame binding =
      torch("torch::autograd::THPVariable_tensor(_object*, _object*, _object*)");
  EXPECT_EQ(
      stackOf(recordingOf(
                  {op("to_dtype_layout"),
                   {"/src/train", "torch::detail::TensorDataContainer::convert_to_tensor()",
                    "/venv/torch/include/torch/detail/TensorDataContainer.h", 3},
                   {"/src/train", "torch::tensor(torch::detail::TensorDataContainer)",
                    "/venv/torch/include/torch/csrc/autograd/generated/variable_factories.h", 5},
                   user("main", 1)}))
          .intent,
      Intent::kConstructed);
  EXPECT_EQ(stackOf(recordingOf({op("to_device"), from_values, torch("torch::utils::tensor_ctor()"),
                                 binding, python("main", 3)}))
                .intent,
            Intent::kConstructed);
  // With torch.device("cuda"):
  EXPECT_EQ(
      stackOf(recordingOf({op("to_device"), from_values, binding,
                           torchPython("DeviceContext.__torch_function__", "utils/_device.py"),
                           torch("torch::handle_torch_function(_object*)"), binding,
                           python("main", 3)}))
          .intent,
      Intent::kConstructed);
  // Not the program's constructor: of a list that indexes, and within torch.
  EXPECT_EQ(stackOf(recordingOf({op("to_device"), from_values,
                                 torch("torch::autograd::THPVariable_getitem(_object*, _object*)"),
                                 python("main", 3)}))
                .intent,
            Intent::kImplicit);
  EXPECT_EQ(stackOf(recordingOf({op("to_device"), from_values, binding,
                                 torchPython("clip_grad_norm_", "nn/utils/clip_grad.py"),
                                 python("main", 3)}))
                .intent,
            Intent::kImplicit);
  // Its elements are read one by one.
  EXPECT_EQ(stackOf(recordingOf({op("item"), from_values, binding, python("main", 3)})).intent,
            Intent::kImplicit);
}

TEST(Intent, TheBackwardOfAMoveIsAskedFor) {
  const TestFrame engine = torch("torch::autograd::Engine::thread_main()");
  const TestFrame node = torch("torch::autograd::Node::operator()()");
  for (const char *apply :
       {"torch::autograd::generated::ToCopyBackward0::apply(std::vector<int>&&)",
        "torch::autograd::CopyBackwards::apply(std::vector<int>&&)"}) {
    EXPECT_EQ(
        stackOf(recordingOf({op("_to_copy"), op("to_dtype_layout"), torch(apply), node, engine}))
            .intent,
        Intent::kExplicit)
        << apply;
    // On the thread that called backward().
    EXPECT_EQ(
        stackOf(recordingOf({op("to_dtype_layout"), torch(apply), node, python("main", 3)})).intent,
        Intent::kExplicit)
        << apply;
    EXPECT_EQ(stackOf(recordingOf({op("_to_copy"), op("mul_Tensor"), torch(apply), engine})).intent,
              Intent::kImplicit)
        << apply;
  }
  EXPECT_EQ(
      stackOf(recordingOf({op("to_dtype_layout"),
                           torch("torch::autograd::generated::MulBackward0::apply()"), engine}))
          .intent,
      Intent::kImplicit);
}

TEST(Intent, KnowsThatAnOptimizerIsLoaded) {
  EXPECT_EQ(
      stackOf(recordingOf(
                  {op("to_device"),
                   torch("torch::autograd::THPVariable_to(_object*, _object*, _object*)"),
                   torchPython("Optimizer.load_state_dict.<locals>._cast", "optim/optimizer.py"),
                   torchPython("Optimizer.load_state_dict", "optim/optimizer.py"),
                   torchPython("DisableContext.__call__.<locals>._fn", "_dynamo/eval_frame.py"),
                   python("main", 3)}))
          .intent,
      Intent::kBulkMove);
  EXPECT_EQ(
      stackOf(recordingOf({op("to_device"), torchPython("Optimizer.step", "optim/optimizer.py"),
                           python("main", 3)}))
          .intent,
      Intent::kImplicit);
}

TEST(Resolve, LeavesOutWhatTheSimulatorCopiesForItself) {
  const std::string file = "/opt/devsan/python/devsan/sim/storage.py";
  const auto sharing = [&](const char *function) {
    return recordingOf({op("copy_"), torch("at::storage_copy(c10::Storage&)"),
                        torchPython("_StorageBase.cpu", "storage.py"), python(function, 38, file),
                        torchPython("reduce_tensor", "multiprocessing/reductions.py")})
        .events()
        .size();
  };
  EXPECT_EQ(sharing("extend.<locals>.share"), 0u);
  // What the program asks of a storage stays.
  EXPECT_EQ(sharing("extend.<locals>.make"), 1u);
}

TEST(Intent, IsReadThroughInlinedMethods) {
  const Recording recording = recordingOf(
      {op("to_dtype_layout"),
       {"/src/train", "at::Tensor::cuda() const", "/venv/torch/include/ATen/core/TensorBody.h", 3},
       user("main", 1)});
  EXPECT_EQ(stackOf(recording).intent, Intent::kExplicit);
  EXPECT_TRUE(stackOf(recording).without_index);
}

TEST(Intent, IsReadThroughInlinedMethodsOfLittleDebugInformation) {
  const Recording recording =
      recordingOf({op("to_device"),
                   {"/src/train", "to", "/venv/torch/include/ATen/core/TensorBody.h", 3},
                   user("main", 1)});
  EXPECT_EQ(stackOf(recording).intent, Intent::kExplicit);
}

TEST(Intent, IsThatOfACallWhichNamesADevice) {
  const auto through = [](const char *function) {
    return stackOf(recordingOf({op("to_device"), torch("torch::nn::helper(at::Tensor)"),
                                torch(function), user("main", 1)}))
        .intent;
  };
  EXPECT_EQ(through("at::Tensor torch::nn::parallel::data_parallel<Net>(Net, at::Tensor, "
                    "std::optional<std::vector<c10::Device, std::allocator<c10::Device> > >, "
                    "std::optional<c10::Device>, long)"),
            Intent::kExplicit);
  EXPECT_EQ(through("torch::nn::utils::rnn::PackedSequence::cuda() const"), Intent::kExplicit);
  EXPECT_EQ(through("torch::nn::utils::clip_grad_norm_(std::vector<at::Tensor>, double)"),
            Intent::kImplicit);
  EXPECT_EQ(through("c10::Device torch::f(c10::DeviceGuard, int)"), Intent::kImplicit);
  EXPECT_EQ(through("torch::nn::Cloneable<Net>::clone(std::optional<c10::Device> const&) const"),
            Intent::kBulkMove);
}

TEST(Intent, KnowsThatAModuleIsMoved) {
  EXPECT_EQ(
      stackOf(
          recordingOf(
              {op("to_dtype_layout"),
               torch("void torch::nn::Module::to_impl<c10::Device&, bool&>(c10::Device&, bool&)"),
               torch("torch::nn::Module::to(c10::Device, bool)"), user("main", 1)}))
          .intent,
      Intent::kBulkMove);
  EXPECT_EQ(
      stackOf(recordingOf({op("to_dtype_layout"),
                           torch("torch::autograd::THPVariable_to(_object*, _object*, _object*)"),
                           torchPython("Module.to.<locals>.convert", "nn/modules/module.py"),
                           torchPython("Module._apply", "nn/modules/module.py"),
                           torchPython("Module.to", "nn/modules/module.py"), python("main", 3)}))
          .intent,
      Intent::kBulkMove);
}

TEST(Intent, KnowsThatALibraryMovesAModuleItsOwnWay) {
  EXPECT_EQ(
      stackOf(recordingOf({op("to_dtype_layout"),
                           torch("torch::autograd::THPVariable_to(_object*, _object*, _object*)"),
                           torchPython("Module.to.<locals>.convert", "nn/modules/module.py"),
                           python("Metric._apply", 897,
                                  "/venv/lib/python3.11/site-packages/torchmetrics/metric.py"),
                           torchPython("Module.to", "nn/modules/module.py"), python("main", 3)}))
          .intent,
      Intent::kBulkMove);
}

TEST(Intent, KnowsThatAModuleMovesWhatItHasWithinATo) {
  const std::string library = "/venv/lib/python3.11/site-packages/kornia/augmentation/base.py";
  EXPECT_EQ(
      stackOf(recordingOf({op("to_device"),
                           torch("torch::autograd::THPVariable_as_tensor(_object*, _object*)"),
                           python("Generator._apply", 85, library),
                           torchPython("Module._apply", "nn/modules/module.py"),
                           torchPython("Module.to", "nn/modules/module.py"), python("main", 3)}))
          .intent,
      Intent::kBulkMove);
  EXPECT_EQ(
      stackOf(recordingOf({op("to_device"),
                           torch("torch::autograd::THPVariable_as_tensor(_object*, _object*)"),
                           python("Generator.forward", 85, library),
                           torchPython("Module._call_impl", "nn/modules/module.py"),
                           python("main", 3)}))
          .intent,
      Intent::kConstructed);
}

TEST(Intent, KnowsThatAFileIsLoaded) {
  EXPECT_EQ(stackOf(recordingOf({op("to_device"), torch("torch::jit::Unpickler::readInstruction()"),
                                 torch("torch::jit::load(std::string const&)"), user("main", 1)}))
                .intent,
            Intent::kBulkMove);
  EXPECT_EQ(stackOf(recordingOf({op("copy_"), torch("at::storage_copy(c10::Storage&)"),
                                 torch("THPStorage_copy_(_object*, _object*, _object*)"),
                                 torchPython("_StorageBase.to", "storage.py"),
                                 torchPython("_load", "serialization.py"), python("main", 3)}))
                .intent,
            Intent::kBulkMove);
}

TEST(Intent, KnowsCommunicationBetweenDevices) {
  EXPECT_EQ(
      stackOf(recordingOf({op("to_device"),
                           torch("torch::autograd::THPVariable_to(_object*, _object*, _object*)"),
                           torchPython("scatter", "nn/parallel/comm.py"),
                           torchPython("DataParallel.forward", "nn/parallel/data_parallel.py"),
                           python("main", 3)}))
          .intent,
      Intent::kExplicit);
  EXPECT_EQ(
      stackOf(recordingOf({op("item"), torch("at::Tensor::item() const"),
                           torch("c10d::verify_params_across_processes()"), python("main", 3)}))
          .intent,
      Intent::kBulkMove);
}

TEST(Intent, KnowsWhereDistributedDataParallelTimesItself) {
  EXPECT_EQ(stackOf(recordingOf({torch("c10d::Logger::set_runtime_stats_and_log()"),
                                 torchPython("_pre_forward", "nn/parallel/distributed.py"),
                                 python("main", 3)}))
                .intent,
            Intent::kBulkMove);
}

TEST(Intent, TellsPythonsBindingsApart) {
  auto through = [](const char *binding, const char *name) {
    return stackOf(recordingOf({op(name),
                                torch(std::string("torch::autograd::THPVariable_") + binding +
                                      "(_object*, _object*)"),
                                python("main", 3)}))
        .intent;
  };
  EXPECT_EQ(through("item", "item"), Intent::kExplicit);
  EXPECT_EQ(through("float_scalar", "item"), Intent::kExplicit);
  EXPECT_EQ(through("to", "to_dtype_layout"), Intent::kExplicit);
  EXPECT_EQ(through("type_as", "type_as"), Intent::kExplicit);
  EXPECT_EQ(through("is_nonzero", "is_nonzero"), Intent::kImplicit); // `if tensor:`
  EXPECT_EQ(through("setitem", "copy_"), Intent::kImplicit);
  EXPECT_EQ(through("tensor", "to_device"), Intent::kConstructed);
}

TEST(Intent, KnowsThatATensorIsPrinted) {
  const Recording recording =
      recordingOf({op("item"), op("is_nonzero"),
                   torch("torch::autograd::THPVariable_is_nonzero(_object*, _object*)"),
                   torchPython("_Formatter.__init__", "_tensor_str.py"),
                   torchPython("Tensor.__repr__", "_tensor.py"), python("main", 3)});
  EXPECT_EQ(stackOf(recording).intent, Intent::kDisplay);
  EXPECT_EQ(stackOf(recording).op, "print");
}

TEST(Intent, IsExplicitForMovesByTheStableInterface) {
  const auto through = [](const char *function) {
    return stackOf(recordingOf({op("_to_copy"), torch("at::native::to(at::Tensor const&)"),
                                torch("c10::Dispatcher::callBoxed(c10::OperatorHandle const&)"),
                                torch("torch_call_dispatcher"), torch(function), user("main", 1)}))
        .intent;
  };
  EXPECT_EQ(through("torch::stable::to(torch::stable::Tensor const&)"), Intent::kExplicit);
  EXPECT_EQ(through("torch::nn::helper()"), Intent::kImplicit);
}

TEST(Intent, IsExplicitForSynchronizeWithoutAFrameOfTorch) {
  EXPECT_EQ(stackOf(recordingOf({user("main", 1)})).intent, Intent::kExplicit);
  EXPECT_EQ(stackOf(recordingOf({torch("torch::utils::helper()"), user("main", 1)})).intent,
            Intent::kImplicit);
}

TEST(Intent, IsExplicitForSynchronize) {
  EXPECT_EQ(stackOf(recordingOf({torch("torch::cuda::synchronize(long)"), user("main", 1)})).intent,
            Intent::kExplicit);
  EXPECT_EQ(stackOf(recordingOf({torch("c10::something()"), user("main", 1)})).intent,
            Intent::kImplicit);
}

TEST(Resolve, DanglingIdsGiveEmptyStacks) {
  LogBuilder log;
  Event event;
  event.stack = 77;
  event.related = 78;
  event.op = 79;
  const Recording recording = replay(log.add(event));
  EXPECT_TRUE(stackOf(recording).frames.empty());
  EXPECT_EQ(recording.events().front().op, "");
}

TEST(Resolve, AddressesAreAskedOnceAndNotForTheInterpreter) {
  LogBuilder log;
  Event event;
  event.stack = log.stack({op("item"), {"/usr/bin/python3.11", "PyEval", "", 0}, user("main", 1)});
  log.add(event, 3);
  const ProcessLog parsed = parseLog(log.bytes(), "x").value();
  EXPECT_EQ(Recording::addresses(parsed).size(), 2u);
}

TEST(Backward, StartsAtTheUsersLineOutsideTheEngine) {
  const Recording recording = recordingOf(
      {op("nonzero"), torch("torch::autograd::generated::ProdBackward0::apply(at::Tensor)"),
       torch("torch::autograd::Engine::evaluate_function(int)"),
       torch("torch::autograd::Engine::thread_main(int)"), op("_backward"), user("train", 31)});
  const ResolvedStack &stack = stackOf(recording);
  EXPECT_EQ(stack.op, "aten::nonzero"); // not aten::_backward, which the line itself calls
  EXPECT_EQ(stack.intent, Intent::kImplicit);
  EXPECT_EQ(stack.location().line, 31u);
  ASSERT_TRUE(stack.backward_start);
  EXPECT_EQ(stack.backward_start, stack.innermost_user);
}

TEST(Backward, MoveWithinANodeIsNotTheStartsIntent) {
  const Recording recording =
      recordingOf({op("copy_"), torch("torch::autograd::generated::IndexBackward0::apply(int)"),
                   torch("torch::autograd::Engine::thread_main(int)"), user("train", 31)});
  EXPECT_EQ(stackOf(recording).intent, Intent::kImplicit);
}

TEST(Steps, AreNumberedAsTheProgramDoes) {
  LogBuilder log;
  Event optimizer, said, event;
  optimizer.kind = said.kind = EventKind::kStep;
  optimizer.flags = kRecognizedStep;
  event.stack = log.stack({op("item"), user("main", 1)});
  const auto at = [](Event what, std::uint32_t step) {
    what.step = step;
    return what;
  };
  log.add(at(event, 0)).add(at(optimizer, 0)); // the program has not said anything yet
  log.add(at(event, 1)).add(at(said, 1)).add(at(event, 2)).add(at(said, 2)).add(at(event, 3));
  const Recording recording = replay(log);
  EXPECT_EQ(recording.steps(), 2u);
  for (const ResolvedEvent &one : recording.events()) {
    if (one.event.kind == EventKind::kStep)
      continue;
    EXPECT_EQ(one.total_steps, 2u);
    EXPECT_EQ(one.occurrences.first_step, 0u);
    EXPECT_EQ(one.occurrences.last_step, 2u);
    EXPECT_EQ(one.occurrences.steps, 3u);
  }
}

} // namespace
} // namespace devsan::runtime
