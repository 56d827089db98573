// at::cuda::CUDAGraph in a program that is built as users build it: against a CPU LibTorch and
// DevSan::cuda_api. Run by ctest as `devsan run --sim=2` would.
#include <torch/torch.h>

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/Event.h>
#include <c10/cuda/CUDAGuard.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>

namespace {

using at::cuda::CUDAGraph;

const torch::Device kSecond(torch::kCUDA, 1);

std::string refusal(const std::function<void()> &call) {
  try {
    call();
  } catch (const c10::Error &error) {
    return error.what_without_backtrace();
  }
  return "nothing refused";
}

bool isRefused(const std::function<void()> &call, const char *words) {
  const std::string said = refusal(call);
  EXPECT_NE(said.find(words), std::string::npos) << said;
  return said.find(words) != std::string::npos;
}

bool isCapturing() {
  return c10::cuda::currentStreamCaptureStatusMayInitCtx() == c10::cuda::CaptureStatus::Active;
}

class Graphs : public testing::Test {
protected:
  // On another stream than the default one, as they have to be, and always the same: memory is
  // used again by the stream that it was made for.
  static void capture(CUDAGraph &graph, const std::function<void()> &work,
                      at::cuda::MempoolId_t pool = {0, 0}) {
    static const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool(false, 1);
    const c10::cuda::CUDAStreamGuard on(stream);
    graph.capture_begin(pool);
    try {
      work();
    } catch (...) {
      EXPECT_TRUE(isRefused([&] { graph.capture_end(); }, "previous error during capture"));
      throw;
    }
    graph.capture_end();
  }

private:
  const c10::cuda::CUDAGuard on_second_{1};
};

TEST_F(Graphs, ReadTheirInputsAnew) {
  const auto x = torch::zeros({4}, kSecond);
  torch::Tensor y;
  CUDAGraph graph;
  capture(graph, [&] { y = (x * 2 + 1).view({2, 2}).sum(0); });
  EXPECT_TRUE(y.isnan().all().item<bool>());
  for (const float value : {1.f, 5.f}) {
    x.fill_(value);
    graph.replay();
    EXPECT_TRUE(torch::equal(y, torch::full({2}, 2 * (2 * value + 1), kSecond)));
  }
}

TEST_F(Graphs, ComputeNothingWhileCaptured) {
  const auto counter = torch::zeros({1}, kSecond);
  const auto state = at::globalContext().defaultGenerator(kSecond).get_state();
  torch::Tensor drawn, made;
  CUDAGraph graph;
  capture(graph, [&] {
    counter.add_(1);
    drawn = torch::rand({8}, kSecond);
    made = torch::zeros({2}, kSecond);
  });
  EXPECT_EQ(counter.item<float>(), 0);
  EXPECT_TRUE(drawn.isnan().all().item<bool>());
  EXPECT_TRUE(made.isnan().all().item<bool>());
  EXPECT_TRUE(torch::equal(at::globalContext().defaultGenerator(kSecond).get_state(), state));
  graph.replay();
  graph.replay();
  EXPECT_EQ(counter.item<float>(), 2);
  EXPECT_TRUE(torch::equal(made, torch::zeros({2}, kSecond)));
}

struct NetImpl : torch::nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    first = register_module("first", torch::nn::Linear(3, 4));
    norm = register_module("norm", torch::nn::BatchNorm1d(4));
    second = register_module("second", torch::nn::Linear(4, 1));
  }
  torch::Tensor forward(torch::Tensor x) { return second(torch::relu(norm(first(x)))); }
  torch::nn::Linear first = nullptr, second = nullptr;
  torch::nn::BatchNorm1d norm = nullptr;
};
TORCH_MODULE(Net);

TEST_F(Graphs, TrainAsWithoutThem) {
  torch::manual_seed(0);
  Net net;
  net->to(kSecond);
  Net plain(std::dynamic_pointer_cast<NetImpl>(net->clone()));
  const auto x = torch::randn({5, 3}, kSecond);
  const auto step = [&x](Net &trained) {
    auto loss = trained->forward(x).square().mean();
    for (auto &parameter : trained->parameters())
      parameter.mutable_grad() = torch::Tensor();
    loss.backward();
    torch::NoGradGuard no_grad;
    for (auto &parameter : trained->parameters())
      parameter.add_(parameter.grad(), -0.1);
    return loss.detach();
  };
  torch::Tensor loss;
  CUDAGraph graph;
  capture(graph, [&] { loss = step(net); });
  for (int i = 0; i < 3; ++i) {
    x.copy_(torch::randn({5, 3}, kSecond));
    graph.replay();
    const auto expected = step(plain);
    EXPECT_TRUE(torch::allclose(loss, expected, 1e-5, 1e-6)) << i;
  }
  EXPECT_EQ(net->norm->num_batches_tracked.item<int64_t>(), 3);
  for (const auto &buffer : net->named_buffers())
    EXPECT_TRUE(torch::allclose(buffer.value(), plain->named_buffers()[buffer.key()]));
  for (const auto &parameter : net->named_parameters())
    EXPECT_TRUE(
        torch::allclose(parameter.value(), plain->named_parameters()[parameter.key()], 1e-5, 1e-6))
        << parameter.key();
}

TEST_F(Graphs, DrawAnewAndMoveTheGeneratorOn) {
  const auto x = torch::ones({64}, kSecond);
  const auto generator = at::globalContext().defaultGenerator(kSecond);
  torch::Tensor y;
  CUDAGraph graph;
  capture(graph, [&] { y = torch::dropout(x, 0.5, true); });
  const auto before = generator.get_offset();
  graph.replay();
  const auto first = y.clone();
  const auto between = generator.get_offset();
  graph.replay();
  EXPECT_FALSE(torch::equal(first, y));
  EXPECT_GT(between, before);
  EXPECT_GT(generator.get_offset(), between);
  EXPECT_EQ(generator.get_offset() - between, between - before);
}

TEST_F(Graphs, DrawFromTheStateThatAGeneratorHad) {
  auto generator = at::detail::getCUDAHooks().getNewGenerator(1);
  generator.set_current_seed(5);
  const auto expected = torch::rand({3}, generator.clone(), kSecond);
  torch::Tensor y;
  CUDAGraph graph;
  graph.register_generator_state(generator);
  capture(graph, [&] { y = torch::rand({3}, generator, kSecond); });
  auto other = at::detail::getCUDAHooks().getNewGenerator(1);
  generator.graphsafe_set_state(other.graphsafe_get_state());
  graph.replay();
  EXPECT_TRUE(torch::equal(y, expected));
}

// What one of them frees during its capture, the next one gets: replays in another order overwrite
// it.
TEST_F(Graphs, ShareAPool) {
  for (const bool shared : {false, true}) {
    const auto a = torch::ones({4}, kSecond);
    torch::Tensor c, d, e, f;
    CUDAGraph one, two, three;
    const auto handle = at::cuda::graph_pool_handle();
    capture(
        one,
        [&] {
          c = a + 1;
          d = a + 2;
        },
        shared ? handle : at::cuda::MempoolId_t{0, 0});
    EXPECT_EQ(one.pool() == handle, shared);
    capture(
        two,
        [&] {
          e = c + 3;
          c = torch::Tensor();
        },
        shared ? one.pool() : at::cuda::MempoolId_t{0, 0});
    capture(three, [&] { f = d + 4; }, shared ? one.pool() : at::cuda::MempoolId_t{0, 0});
    for (CUDAGraph *graph : {&one, &two, &three})
      graph->replay();
    EXPECT_TRUE(torch::equal(e, torch::full({4}, 5., kSecond)));
    for (CUDAGraph *graph : {&one, &three, &two})
      graph->replay();
    EXPECT_TRUE(torch::equal(e, torch::full({4}, shared ? 10. : 5., kSecond)));
    EXPECT_TRUE(torch::equal(f, torch::full({4}, 7., kSecond)));
  }
}

TEST_F(Graphs, HoldTheirMemoryUntilTheyAreReset) {
  const auto x = torch::ones({4}, kSecond);
  const void *address = nullptr;
  CUDAGraph graph;
  capture(graph, [&] { address = (x + 1).data_ptr(); });
  const auto other = torch::zeros({4}, kSecond);
  EXPECT_NE(other.data_ptr(), address);
  graph.replay();
  EXPECT_TRUE(torch::equal(other, torch::zeros({4}, kSecond)));
  graph.reset();
  EXPECT_TRUE(isRefused([&] { graph.replay(); }, "without a preceding successful capture"));
  torch::Tensor y;
  capture(graph, [&] { y = x + 2; });
  graph.replay();
  EXPECT_TRUE(torch::equal(y, torch::full({4}, 3., kSecond)));
}

TEST_F(Graphs, RefuseToWait) {
  const auto x = torch::ones({2}, kSecond);
  at::cuda::CUDAEvent event;
  const std::function<void()> waits[] = {
      [&] { x.sum().item<float>(); },
      [&] { x.cpu(); },
      [&] { x.nonzero(); },
      [&] { torch::ones({1}).to(kSecond); },
      [] { c10::cuda::device_synchronize(); },
      [] { c10::cuda::getCurrentCUDAStream().synchronize(); },
      [] {
        c10::Event recorded(torch::kCUDA);
        recorded.record(c10::cuda::getCurrentCUDAStream().unwrap());
        recorded.synchronize();
      },
  };
  for (const auto &wait : waits) {
    CUDAGraph graph;
    EXPECT_TRUE(isRefused([&] { capture(graph, wait); },
                          "CUDA error: operation not permitted when stream is capturing"));
    EXPECT_TRUE(isRefused([&] { graph.replay(); }, "without a preceding successful capture"));
    EXPECT_FALSE(isCapturing());
  }
  EXPECT_EQ(x.sum().item<float>(), 2);
  const auto pinned = torch::full({2}, 3.).pin_memory();
  CUDAGraph graph;
  capture(graph, [&] { x.copy_(pinned, /*non_blocking=*/true); });
  EXPECT_EQ(x.sum().item<float>(), 2);
  graph.replay();
  EXPECT_EQ(x.sum().item<float>(), 6);
}

TEST_F(Graphs, RefuseWrongUse) {
  CUDAGraph graph;
  EXPECT_TRUE(isRefused([&] { graph.replay(); }, "without a preceding successful capture"));
  EXPECT_TRUE(isRefused([&] { graph.pool(); }, "without a preceding successful capture"));
  EXPECT_TRUE(isRefused([&] { graph.instantiate(); }, "capture_end() must have been called"));
  EXPECT_TRUE(
      isRefused([&] { graph.capture_begin(); }, "must be captured on a non-default stream"));
  EXPECT_TRUE(isRefused([&] { graph.capture_end(); }, "CUDA error: operation not permitted"));
  EXPECT_TRUE(isRefused([] { CUDAGraph::get_currently_capturing_graph(); },
                        "no graph being captured on the current stream"));
  capture(graph, [&] {
    torch::ones({1}, kSecond);
    EXPECT_EQ(CUDAGraph::get_currently_capturing_graph(), &graph);
  });
  EXPECT_TRUE(isRefused([&] { capture(graph, [] {}); }, "already owns a captured graph"));
}

TEST_F(Graphs, CaptureTheStreamsThatJoin) {
  const auto x = torch::ones({4}, kSecond);
  const auto side = c10::cuda::getStreamFromPool(false, 1);
  const auto forked = c10::cuda::getStreamFromPool(false, 1);
  const auto apart = torch::zeros({1}, kSecond);
  torch::Tensor y, z;
  CUDAGraph graph;
  capture(graph, [&] {
    EXPECT_TRUE(isCapturing());
    at::cuda::CUDAEvent fork, join;
    fork.record();
    fork.block(forked);
    {
      const c10::cuda::CUDAStreamGuard on(forked);
      EXPECT_TRUE(isCapturing());
      y = x + 1;
      join.record();
    }
    {
      const c10::cuda::CUDAStreamGuard on(side);
      EXPECT_FALSE(isCapturing());
      apart.add_(1); // done at once
    }
    join.block(c10::cuda::getCurrentCUDAStream());
    z = y * 2;
  });
  EXPECT_FALSE(isCapturing());
  EXPECT_EQ(apart.item<float>(), 1);
  x.fill_(4);
  graph.replay();
  EXPECT_TRUE(torch::equal(z, torch::full({4}, 10., kSecond)));
  EXPECT_EQ(apart.item<float>(), 1);
}

TEST_F(Graphs, AreInstantiatedByWhoKeepsThem) {
  const auto x = torch::zeros({2}, kSecond);
  CUDAGraph kept(/*keep_graph=*/true), own;
  for (CUDAGraph *graph : {&kept, &own})
    capture(*graph, [&] { x.add_(1); });
  kept.instantiate();
  kept.replay();
  EXPECT_EQ(x.sum().item<float>(), 2);
  EXPECT_TRUE(isRefused([&] { own.instantiate(); }, "only when keep_graph=true"));
}

TEST_F(Graphs, ShowTheirOperators) {
  const auto x = torch::zeros({2}, kSecond);
  CUDAGraph graph(/*keep_graph=*/true);
  capture(graph, [&] { (x + 1) * 2; });
  const std::string path = testing::TempDir() + "devsan_graph.dot";
  graph.debug_dump(path);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_EQ(text.str(), "digraph cuda_graph {\nnode_0 [label=\"aten.add.Tensor\"];\nnode_1 "
                        "[label=\"aten.mul.Tensor\"];\nnode_0 -> node_1\n}\n");
}

TEST_F(Graphs, LeaveNoTraceInAutograd) {
  auto x = torch::ones({2}, torch::device(kSecond).requires_grad(true));
  const auto buffer = torch::zeros({2}, kSecond);
  torch::Tensor y;
  CUDAGraph graph;
  capture(graph, [&] {
    buffer.add_(1);
    y = x * buffer;
  });
  const auto version = buffer._version();
  graph.replay();
  EXPECT_EQ(buffer._version(), version);
  EXPECT_TRUE(torch::equal(y, torch::ones({2}, kSecond)));
  y.sum().backward();
  EXPECT_TRUE(torch::equal(x.grad(), torch::ones({2}, kSecond)));
}

} // namespace
