// at::cuda::cub, which sorts and sums memory of a device with CUB's kernels: by the names of its
// functions, as c10_cuda.cpp, for the types that LibTorch has instantiated. The host computes, at
// once. Any thread.
#include <algorithm>
#include <bit>
#include <climits>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include <c10/util/BFloat16.h>
#include <c10/util/Exception.h>
#include <c10/util/Half.h>

#include "runtime/cuda/standin/simulator.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/memory/arena.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/streams.h"

#define DEVSAN_EXPORT __attribute__((visibility("default")))

extern "C" const DevSanSimulator *devsan_sim_for_cuda();

namespace at::cuda::cub {

namespace {

using namespace devsan;

// A kernel of that name on the current stream.
void launch(const char *name, std::initializer_list<DevSanMemoryUse> uses) {
  const c10::Stream stream = sim::currentStream(sim::currentDevice());
  TORCH_CHECK_NOT_IMPLEMENTED(!sim::isInCapture(stream), "not simulated: ", name,
                              " in a CUDA graph");
  const DevSanSimulator *simulator = devsan_sim_for_cuda();
  simulator->finish_copies();
  simulator->stream_order->use(stream.device_index(), sim::streamHandle(stream), name, uses.begin(),
                               uses.size());
}

// What a kernel would read or write beyond the memory that is there.
template <typename Value>
void checkWithin(const char *name, const char *what, const Value *memory, std::int64_t n) {
  const void *begin;
  std::size_t size;
  TORCH_CHECK(memory || n == 0, name, ": ", what, " is null");
  if (!devsan_sim_for_cuda()->memory.find(memory, &begin, &size))
    return;
  const auto offset = static_cast<std::size_t>(reinterpret_cast<const char *>(memory) -
                                               static_cast<const char *>(begin));
  TORCH_CHECK(static_cast<std::size_t>(n) <= (size - offset) / sizeof(Value), name, ": ", n,
              " elements of ", sizeof(Value), " bytes are more than the memory of ", what, " has, ",
              size - offset, " bytes");
}

void checkCount(const char *name, std::int64_t n) {
  TORCH_CHECK(n >= 0, name, ": ", n, " elements");
  TORCH_CHECK(n <= INT_MAX, name, ": more than INT_MAX elements");
}

template <typename Value>
void checkApart(const char *name, const char *what, const Value *in, const Value *out,
                std::int64_t n) {
  const auto first = reinterpret_cast<std::uintptr_t>(in),
             second = reinterpret_cast<std::uintptr_t>(out);
  TORCH_CHECK((first < second ? second - first : first - second) >=
                  static_cast<std::uint64_t>(n) * sizeof(Value),
              name, ": ", what, "_out overlaps ", what);
}

// Sorts read all of what they are given while they write.
template <typename Value>
void checkSorted(const char *name, const char *what, const Value *in, const Value *out,
                 std::int64_t n) {
  checkWithin(name, what, in, n);
  checkWithin(name, (std::string(what) + "_out").c_str(), out, n);
  checkApart(name, what, in, out, n);
}

template <typename Key>
void checkBits(const char *name, std::int64_t begin_bit, std::int64_t end_bit) {
  TORCH_CHECK(0 <= begin_bit && begin_bit <= end_bit &&
                  end_bit <= static_cast<std::int64_t>(8 * sizeof(Key)),
              name, ": bits ", begin_bit, " to ", end_bit, " of keys of ", 8 * sizeof(Key),
              " bits");
}

template <typename Value> const Value *onHost(const Value *memory) {
  return static_cast<const Value *>(sim::kernelAddress(static_cast<const void *>(memory)));
}
template <typename Value> Value *onHost(Value *memory) {
  return static_cast<Value *>(sim::kernelAddress(static_cast<void *>(memory)));
}

// Bits whose order as a number is that of the keys.
template <typename Key> std::uint64_t orderedBits(Key key) {
  using Bits = std::conditional_t<
      sizeof(Key) == 1, std::uint8_t,
      std::conditional_t<sizeof(Key) == 2, std::uint16_t,
                         std::conditional_t<sizeof(Key) == 4, std::uint32_t, std::uint64_t>>>;
  constexpr Bits kSign = Bits(1) << (8 * sizeof(Key) - 1);
  if constexpr (std::is_unsigned_v<Key>) {
    return static_cast<std::uint64_t>(key);
  } else if constexpr (std::is_integral_v<Key>) {
    return Bits(std::bit_cast<Bits>(key) ^ kSign);
  } else {
    // Both zeros are one.
    const Bits bits = key == Key(0) ? Bits(0) : std::bit_cast<Bits>(key);
    return Bits(bits & kSign ? Bits(~bits) : Bits(bits | kSign));
  }
}

// The places of the keys in their order by some of their bits. Equal ones stay in theirs.
template <typename Key>
std::vector<std::int64_t> order(const Key *keys, std::int64_t n, bool descending,
                                std::int64_t begin_bit, std::int64_t end_bit) {
  const std::int64_t width = end_bit - begin_bit;
  const std::uint64_t mask = width >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << width) - 1;
  std::vector<std::uint64_t> bits(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    bits[i] = width == 0 ? 0 : (orderedBits(keys[i]) >> begin_bit & mask) ^ (descending ? mask : 0);
  std::vector<std::int64_t> places(static_cast<std::size_t>(n));
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, {}, [&](std::int64_t place) { return bits[place]; });
  return places;
}

template <typename Value>
void gather(const Value *values, Value *out, const std::vector<std::int64_t> &places) {
  for (std::size_t i = 0; i < places.size(); ++i)
    out[i] = values[places[i]];
}

// Sums wrap around.
template <typename Sum> Sum plus(Sum x, Sum y) {
  using Unsigned = std::make_unsigned_t<Sum>;
  return static_cast<Sum>(static_cast<Unsigned>(x) + static_cast<Unsigned>(y));
}

template <typename Input, typename Output>
void launchSum(const char *name, const Input *input, const Output *output, std::int64_t n) {
  checkCount(name, n);
  checkWithin(name, "input", input, n);
  checkWithin(name, "output", output, n);
  launch(name, {{input, kDevSanReads}, {output, kDevSanWrites}});
}

} // namespace

namespace detail {

template <int N> struct alignas(N) OpaqueType {
  unsigned char data[N];
};

template <typename Key, int size>
DEVSAN_EXPORT void
radix_sort_pairs_impl(const Key *keys, Key *keys_out, const OpaqueType<size> *values,
                      OpaqueType<size> *values_out, std::int64_t n, bool descending,
                      std::int64_t begin_bit, std::int64_t end_bit) {
  constexpr const char *kName = "at::cuda::cub::radix_sort_pairs";
  checkCount(kName, n);
  checkBits<Key>(kName, begin_bit, end_bit);
  if (keys_out)
    checkSorted(kName, "keys", keys, keys_out, n);
  else
    checkWithin(kName, "keys", keys, n);
  checkSorted(kName, "values", values, values_out, n);
  launch(kName, {{keys, kDevSanReads},
                 {values, kDevSanReads},
                 {keys_out, kDevSanWrites},
                 {values_out, kDevSanWrites}});
  const auto places = order(onHost(keys), n, descending, begin_bit, end_bit);
  if (keys_out)
    gather(onHost(keys), onHost(keys_out), places);
  gather(onHost(values), onHost(values_out), places);
}

} // namespace detail

template <typename Key>
DEVSAN_EXPORT void radix_sort_keys(const Key *keys, Key *keys_out, std::int64_t n, bool descending,
                                   std::int64_t begin_bit, std::int64_t end_bit) {
  constexpr const char *kName = "at::cuda::cub::radix_sort_keys";
  checkCount(kName, n);
  checkBits<Key>(kName, begin_bit, end_bit);
  checkSorted(kName, "keys", keys, keys_out, n);
  launch(kName, {{keys, kDevSanReads}, {keys_out, kDevSanWrites}});
  gather(onHost(keys), onHost(keys_out), order(onHost(keys), n, descending, begin_bit, end_bit));
}

template <typename Input, typename Output>
DEVSAN_EXPORT void inclusive_sum_truncating(const Input *input, Output *output, std::int64_t n) {
  launchSum("at::cuda::cub::inclusive_sum", input, output, n);
  Input sum = 0;
  for (std::int64_t i = 0; i < n; ++i)
    onHost(output)[i] = sum = plus(sum, onHost(input)[i]);
}

template <typename Input, typename Output>
DEVSAN_EXPORT void exclusive_sum_in_common_type(const Input *input, Output *output,
                                                std::int64_t n) {
  launchSum("at::cuda::cub::exclusive_sum", input, output, n);
  std::common_type_t<Input, Output> sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Input value = onHost(input)[i]; // the output may lie there
    onHost(output)[i] = sum;
    sum = plus(sum, static_cast<decltype(sum)>(value));
  }
}

DEVSAN_EXPORT void mask_exclusive_sum(const std::uint8_t *mask, std::int64_t *output,
                                      std::int64_t n) {
  launchSum("at::cuda::cub::mask_exclusive_sum", mask, output, n);
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    onHost(output)[i] = sum;
    sum += onHost(mask)[i] != 0;
  }
}

#define DEVSAN_SORT_PAIRS(Key, size)                                                               \
  template DEVSAN_EXPORT void detail::radix_sort_pairs_impl(                                       \
      const Key *, Key *, const OpaqueType<size> *, OpaqueType<size> *, std::int64_t, bool,        \
      std::int64_t, std::int64_t);
#define DEVSAN_SORT(Key)                                                                           \
  DEVSAN_SORT_PAIRS(Key, 8)                                                                        \
  template DEVSAN_EXPORT void radix_sort_keys(const Key *, Key *, std::int64_t, bool,              \
                                              std::int64_t, std::int64_t);
DEVSAN_SORT_PAIRS(std::int32_t, 1)
DEVSAN_SORT_PAIRS(std::int32_t, 2)
DEVSAN_SORT_PAIRS(std::int32_t, 4)
DEVSAN_SORT_PAIRS(std::int64_t, 1)
DEVSAN_SORT_PAIRS(std::int64_t, 2)
DEVSAN_SORT_PAIRS(std::int64_t, 4)
DEVSAN_SORT(bool)
DEVSAN_SORT(std::uint8_t)
DEVSAN_SORT(std::int8_t)
DEVSAN_SORT(std::int16_t)
DEVSAN_SORT(std::int32_t)
DEVSAN_SORT(std::int64_t)
DEVSAN_SORT(std::uint16_t)
DEVSAN_SORT(std::uint32_t)
DEVSAN_SORT(std::uint64_t)
DEVSAN_SORT(float)
DEVSAN_SORT(double)
DEVSAN_SORT(c10::Half)
DEVSAN_SORT(c10::BFloat16)

template DEVSAN_EXPORT void inclusive_sum_truncating(const std::int32_t *, std::int32_t *,
                                                     std::int64_t);
template DEVSAN_EXPORT void inclusive_sum_truncating(const std::int64_t *, std::int64_t *,
                                                     std::int64_t);
template DEVSAN_EXPORT void inclusive_sum_truncating(const std::int32_t *, std::int64_t *,
                                                     std::int64_t);
template DEVSAN_EXPORT void exclusive_sum_in_common_type(const std::int32_t *, std::int32_t *,
                                                         std::int64_t);
template DEVSAN_EXPORT void exclusive_sum_in_common_type(const std::int64_t *, std::int64_t *,
                                                         std::int64_t);
template DEVSAN_EXPORT void exclusive_sum_in_common_type(const bool *, std::int64_t *,
                                                         std::int64_t);
template DEVSAN_EXPORT void exclusive_sum_in_common_type(const std::uint8_t *, std::int64_t *,
                                                         std::int64_t);

} // namespace at::cuda::cub
