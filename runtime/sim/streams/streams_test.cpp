// Streams, events and what arrives when, as a C++ program sees them without CUDA's own headers; and
// what the observers of streams are told.
#include <dlfcn.h>

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "runtime/sim/api/observers.h"

namespace {

const at::Device kFirst(at::kCUDA, 0), kSecond(at::kCUDA, 1);

c10::impl::VirtualGuardImpl impl() {
  return c10::impl::VirtualGuardImpl(at::kCUDA);
}
c10::Stream newStream(at::Device device, int priority = 0) {
  return impl().getNewStream(device, priority);
}
c10::Event recorded(c10::Stream stream) {
  c10::Event event(at::kCUDA);
  event.record(stream);
  return event;
}
void orderAfter(c10::Stream later, c10::Stream earlier) {
  later.wait(recorded(earlier));
}

at::Tensor pinnedZeros() {
  return at::zeros({3}).pin_memory();
}

template <typename Function> Function simulatorFunction(const char *name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

struct Told {
  std::string first, second;
  DevSanStreamRace race;
};
std::vector<Told> races, lifetimes;
std::uint64_t place = 0;

class StreamRaces : public testing::Test {
protected:
  void SetUp() override {
    races.clear();
    lifetimes.clear();
    simulatorFunction<void (*)(DevSanPlaceObserver, DevSanStreamRaceObserver)>(
        "devsan_sim_set_stream_race_observer")([] { return ++place; },
                                               [](const DevSanStreamRace *race) {
                                                 races.push_back(
                                                     {race->first.op, race->second.op, *race});
                                               });
    simulatorFunction<void (*)(DevSanStreamRaceObserver)>(
        "devsan_sim_set_stream_lifetime_observer")([](const DevSanStreamRace *race) {
      lifetimes.push_back({race->first.op, race->second.op, *race});
    });
    impl().synchronizeDevice(0);
    impl().synchronizeDevice(1);
  }
  void TearDown() override {
    simulatorFunction<void (*)(DevSanPlaceObserver, DevSanStreamRaceObserver)>(
        "devsan_sim_set_stream_race_observer")(nullptr, nullptr);
    simulatorFunction<void (*)(DevSanStreamRaceObserver)>(
        "devsan_sim_set_stream_lifetime_observer")(nullptr);
  }

  c10::Stream main_ = impl().getDefaultStream(kSecond);
  c10::Stream side_ = newStream(kSecond), third_ = newStream(kSecond);
};

TEST(StreamIds, AreThoseOfCuda) {
  std::set<c10::StreamId> ids;
  for (int i = 0; i < 64; ++i) {
    c10::StreamId id = newStream(kSecond).id();
    EXPECT_EQ(id & 31, 3); // from the pool of priority 0
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 32u);
  EXPECT_EQ(newStream(kSecond, -1).id() & 31, 5);
  EXPECT_EQ(impl().getStreamFromGlobalPool(kSecond, true).id() & 31, 9);
  EXPECT_EQ(impl().getDefaultStream(kSecond).id(), 0);
  EXPECT_EQ(impl().getDefaultStream(kSecond).native_handle(), nullptr);
  EXPECT_NE(newStream(kSecond).native_handle(), newStream(kSecond).native_handle());
}

TEST(LateCopies, ArriveWithTheirStream) {
  c10::Stream stream = newStream(kSecond), other = newStream(kSecond);
  at::Tensor host = pinnedZeros();
  {
    c10::StreamGuard guard(stream);
    host.copy_(at::ones({3}, kSecond), true);
  }
  other.synchronize();
  impl().synchronizeDevice(0);
  EXPECT_EQ(host.sum().item<float>(), 0);
  stream.synchronize();
  EXPECT_EQ(host.sum().item<float>(), 3);
}

TEST(LateCopies, ArriveThroughEventsOverThreeStreams) {
  c10::Stream first = newStream(kSecond), second = newStream(kFirst), third = newStream(kSecond);
  at::Tensor host = pinnedZeros();
  c10::Event before = recorded(first);
  {
    c10::StreamGuard guard(first);
    host.copy_(at::ones({3}, kSecond), true);
  }
  before.synchronize();
  orderAfter(second, first);
  c10::Event between = recorded(second);
  EXPECT_EQ(host.sum().item<float>(), 0);
  third.wait(between);
  third.synchronize();
  EXPECT_EQ(host.sum().item<float>(), 3);
}

TEST(LateCopies, QueriesEnd) {
  at::Tensor host = pinnedZeros();
  c10::Stream stream = impl().getDefaultStream(kSecond);
  host.copy_(at::ones({3}, kSecond), true);
  c10::Event event = recorded(stream);
  EXPECT_FALSE(event.query());
  EXPECT_EQ(host.sum().item<float>(), 0);
  EXPECT_TRUE(stream.query());
  EXPECT_EQ(host.sum().item<float>(), 3);
}

int early_accesses = 0;

TEST(LateCopies, TouchedEarlyAreToldOnce) {
  auto set = simulatorFunction<void (*)(DevSanEarlyAccessObserver)>(
      "devsan_sim_set_early_access_observer");
  early_accesses = 0;
  set([](const DevSanEarlyAccess *access) {
    ++early_accesses;
    EXPECT_EQ(access->device, 1);
    EXPECT_EQ(access->bytes, 12u);
    EXPECT_EQ(access->kind, DEVSAN_SIM_READ);
  });
  at::Tensor host = pinnedZeros();
  host.copy_(at::ones({3}, kSecond), true);
  EXPECT_EQ(host.sum().item<float>(), 0);
  EXPECT_EQ(host.sum().item<float>(), 0);
  EXPECT_EQ(early_accesses, std::getenv("DEVSAN_SIM_PROTECT") == nullptr ? 0 : 1);
  impl().synchronizeDevice(1);
  EXPECT_EQ(host.sum().item<float>(), 3);
  set(nullptr);
}

TEST(LateCopies, SurviveTheirTensors) {
  {
    at::Tensor host = pinnedZeros();
    host.copy_(at::ones({3}, kSecond), true);
    at::Tensor device = at::ones({3}).pin_memory().to(kSecond, at::kFloat, true);
  }
  impl().synchronizeDevice(1);
}

TEST_F(StreamRaces, WorkWithoutAnEventIsTold) {
  at::Tensor x = at::empty({1024}, kSecond);
  x.fill_(1);
  {
    c10::StreamGuard guard(side_);
    (void)x.add(1);
  }
  ASSERT_EQ(races.size(), 1u);
  const DevSanStreamRace &race = races[0].race;
  EXPECT_EQ(races[0].first, "aten::fill_");
  EXPECT_EQ(races[0].second, "aten::add");
  EXPECT_TRUE(race.first.writes);
  EXPECT_FALSE(race.second.writes);
  EXPECT_EQ(race.first.stream, 0);
  EXPECT_EQ(race.second.stream, side_.id());
  EXPECT_EQ(race.second.device, 1);
  EXPECT_EQ(race.bytes, 4096u);
  EXPECT_EQ(race.storage, x.storage().data());
  EXPECT_LT(race.first.place, race.second.place);
}

TEST_F(StreamRaces, EveryPairWithAWriteCounts) {
  at::Tensor x = at::ones({4}, kSecond);
  orderAfter(side_, main_);
  orderAfter(third_, main_);
  {
    c10::StreamGuard guard(side_);
    (void)x.add(1); // read
  }
  {
    c10::StreamGuard guard(third_);
    (void)x.add(1); // two reads are no race
  }
  EXPECT_TRUE(races.empty());
  x.mul_(2); // a write after reads
  ASSERT_EQ(races.size(), 1u);
  EXPECT_TRUE(races[0].race.second.writes);
  {
    c10::StreamGuard guard(side_);
    x.mul_(2); // a write after a write
  }
  EXPECT_EQ(races.size(), 2u);
}

TEST_F(StreamRaces, EventsOrder) {
  at::Tensor x = at::ones({4}, kSecond);
  orderAfter(side_, main_);
  {
    c10::StreamGuard guard(side_);
    x.mul_(2);
  }
  orderAfter(third_, side_);
  {
    c10::StreamGuard guard(third_);
    x.mul_(2);
  }
  orderAfter(main_, third_);
  x.mul_(2);
  EXPECT_TRUE(races.empty());
}

TEST_F(StreamRaces, AnEventBeforeTheWorkOrdersNothing) {
  c10::Event early = recorded(main_);
  at::Tensor x = at::ones({4}, kSecond);
  side_.wait(early);
  c10::StreamGuard guard(side_);
  x.mul_(2);
  EXPECT_EQ(races.size(), 1u);
}

TEST_F(StreamRaces, WaitsOfTheHostOrder) {
  const std::function<void(at::Tensor)> waits[] = {
      [&](const at::Tensor &) { main_.synchronize(); },
      [&](const at::Tensor &) { impl().synchronizeDevice(1); },
      [&](const at::Tensor &) { recorded(main_).synchronize(); },
      [&](const at::Tensor &) { EXPECT_TRUE(main_.query()); },
      [&](const at::Tensor &x) { (void)x.sum().item<float>(); },
      [&](const at::Tensor &x) { (void)x.cpu(); },
  };
  for (const auto &wait : waits) {
    at::Tensor x = at::ones({4}, kSecond);
    wait(x);
    c10::StreamGuard guard(newStream(kSecond));
    x.mul_(2);
    EXPECT_TRUE(races.empty());
    impl().synchronizeDevice(1);
  }
}

TEST_F(StreamRaces, ViewsShareTheirMemory) {
  at::Tensor x = at::ones({4, 4}, kSecond);
  at::Tensor part = x.t().slice(0, 1, 2);
  EXPECT_TRUE(races.empty());
  c10::StreamGuard guard(side_);
  at::Tensor view = part.view({4}).unsqueeze(0); // starts no work
  EXPECT_TRUE(races.empty());
  view.mul_(2);
  EXPECT_EQ(races.size(), 1u);
}

TEST_F(StreamRaces, OtherStoragesOverABlockShareIt) {
  at::Tensor x = at::ones({1000}, kSecond);
  float *middle = x.data_ptr<float>() + 500;
  at::Tensor other = at::from_blob(middle, {500}, at::TensorOptions().device(kSecond));
  c10::StreamGuard guard(side_);
  other.mul_(2);
  EXPECT_EQ(races.size(), 1u);
}

TEST_F(StreamRaces, CopiesAreWork) {
  at::Tensor x, host = at::ones({3}).pin_memory();
  {
    c10::StreamGuard guard(side_);
    x = host.to(kSecond, at::kFloat, true);
  }
  (void)x.cpu();
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(races[0].first, "aten::copy_");
  EXPECT_EQ(races[0].race.first.stream, side_.id());
}

TEST_F(StreamRaces, CopiesBetweenDevicesOrderBothStreams) {
  at::Tensor x = at::ones({4}, kSecond);
  at::Tensor y = x.to(kFirst);
  y.mul_(2);
  x.mul_(2);
  EXPECT_TRUE(races.empty());
}

TEST_F(StreamRaces, BackwardRunsOnTheForwardStream) {
  at::Tensor x = torch::ones({4}, at::TensorOptions(kSecond).requires_grad(true));
  orderAfter(side_, main_);
  at::Tensor loss;
  {
    c10::StreamGuard guard(side_);
    loss = (x * x).sum();
  }
  orderAfter(main_, side_);
  loss.backward();
  (void)x.grad().sum().item<float>();
  EXPECT_TRUE(races.empty());
}

TEST_F(StreamRaces, NewMemoryAtTheSamePlaceIsNew) {
  for (int i = 0; i < 50; ++i) {
    c10::StreamGuard guard(i % 2 ? side_ : third_);
    (void)at::ones({1024}, kSecond).add(1);
  }
  EXPECT_TRUE(races.empty());
  EXPECT_TRUE(lifetimes.empty());
}

TEST_F(StreamRaces, MemoryReleasedInUseIsTold) {
  auto useAndRelease = [&](bool keep) {
    at::Tensor x = at::ones({1024}, kSecond);
    orderAfter(side_, main_);
    c10::StreamGuard guard(side_);
    (void)x.add(1);
    if (keep)
      x.record_stream(side_);
  };
  useAndRelease(true);
  (void)at::ones({1024}, kSecond);
  EXPECT_TRUE(lifetimes.empty());

  useAndRelease(false);
  orderAfter(main_, side_);
  (void)at::ones({1024}, kSecond);
  EXPECT_TRUE(lifetimes.empty());

  useAndRelease(false);
  (void)at::ones({1 << 20}, kSecond); // does not fit
  EXPECT_TRUE(lifetimes.empty());
  (void)at::ones({512}, kSecond);
  ASSERT_EQ(lifetimes.size(), 1u);
  EXPECT_EQ(lifetimes[0].first, "aten::add");
  EXPECT_EQ(lifetimes[0].second, "allocation");
  EXPECT_EQ(lifetimes[0].race.first.stream, side_.id());
  EXPECT_EQ(lifetimes[0].race.second.stream, 0);
  EXPECT_EQ(lifetimes[0].race.bytes, 4096u);
  EXPECT_TRUE(races.empty());
}

TEST_F(StreamRaces, AreTheSameInEveryRun) {
  for (int run = 0; run < 20; ++run) {
    races.clear();
    at::Tensor x = at::ones({4}, kSecond);
    {
      c10::StreamGuard guard(side_);
      x.mul_(2);
    }
    (void)x.add(1);
    EXPECT_EQ(races.size(), 2u);
    impl().synchronizeDevice(1);
  }
}

} // namespace
