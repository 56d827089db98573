// Devices, guards, streams, events and memory as a C++ program sees them.
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace {

const at::Device kFirst(at::kCUDA, 0), kSecond(at::kCUDA, 1);

TEST(Devices, AreCounted) {
  EXPECT_TRUE(torch::cuda::is_available());
  EXPECT_EQ(torch::cuda::device_count(), 2);
  EXPECT_TRUE(torch::cuda::cudnn_is_available());
}

TEST(Devices, GuardsNestAndRestore) {
  EXPECT_EQ(at::empty({1}, at::kCUDA).device(), kFirst);
  {
    c10::DeviceGuard outer(kSecond);
    EXPECT_EQ(at::empty({1}, at::kCUDA).device(), kSecond);
    {
      c10::DeviceGuard inner(kFirst);
      EXPECT_EQ(at::ones({1}).to(at::kCUDA).device(), kFirst);
    }
    EXPECT_EQ(at::ones({1}).cuda().device(), kSecond);
  }
  EXPECT_EQ(at::empty({1}, at::kCUDA).device(), kFirst);
}

TEST(Devices, OperatorsLeaveTheCurrentDevice) {
  at::Tensor tensor = at::ones({4}, kSecond);
  (void)tensor.sum().item<float>();
  EXPECT_EQ(at::empty({1}, at::kCUDA).device(), kFirst);
}

TEST(Devices, CurrentDeviceIsPerThread) {
  c10::DeviceGuard guard(kSecond);
  at::Device seen = kSecond;
  std::thread([&] { seen = at::empty({1}, at::kCUDA).device(); }).join();
  EXPECT_EQ(seen, kFirst);
}

TEST(Streams, AreCurrentPerDevice) {
  c10::impl::VirtualGuardImpl impl(at::kCUDA);
  c10::Stream stream = impl.getNewStream(kSecond);
  EXPECT_NE(stream, impl.getDefaultStream(kSecond));
  {
    c10::StreamGuard guard(stream);
    EXPECT_EQ(impl.getStream(kSecond), stream);
    EXPECT_EQ(impl.getStream(kFirst), impl.getDefaultStream(kFirst));
    EXPECT_EQ(at::empty({1}, at::kCUDA).device(), kSecond);
  }
  EXPECT_EQ(impl.getStream(kSecond), impl.getDefaultStream(kSecond));
  at::ones({1}, kSecond).record_stream(stream);
  stream.synchronize();
  EXPECT_TRUE(stream.query());
}

TEST(Streams, EventsHaveTimes) {
  c10::impl::VirtualGuardImpl impl(at::kCUDA);
  c10::Event start(at::kCUDA, c10::EventFlag::BACKEND_DEFAULT),
      end(at::kCUDA, c10::EventFlag::BACKEND_DEFAULT);
  start.record(impl.getDefaultStream(kSecond));
  end.record(impl.getDefaultStream(kSecond));
  impl.getNewStream(kSecond).wait(start);
  end.synchronize();
  EXPECT_TRUE(end.query());
  EXPECT_GE(start.elapsedTime(end), 0.0);
}

TEST(Memory, PinnedMemoryIsKnown) {
  at::Tensor pageable = at::ones({16});
  EXPECT_FALSE(pageable.is_pinned());
  at::Tensor pinned = pageable.pin_memory();
  EXPECT_TRUE(pinned.is_pinned());
  EXPECT_TRUE(pinned.slice(0, 8).is_pinned());
  EXPECT_EQ(pinned.device(), at::Device(at::kCPU));
  EXPECT_TRUE(at::empty({4}, at::TensorOptions().pinned_memory(true)).is_pinned());
}

TEST(Memory, ExceptionsInsideKernelsLeaveNothingBehind) {
  at::Tensor tensor = at::ones({2, 2}, kSecond);
  EXPECT_THROW(tensor.reshape({3}), c10::Error);
  EXPECT_THROW(at::linalg_cholesky(-tensor), c10::Error);
  EXPECT_TRUE(at::empty({8}).is_cpu());
  EXPECT_EQ(at::empty({8}).storage().device(), at::Device(at::kCPU));
  EXPECT_EQ(tensor.sum().item<float>(), 4.0f);
}

} // namespace
