// CUB as host code sees it: the algorithms for a whole device, each with the place of its stream, and the names that
// kernels' declarations use. Every other header of the library includes this one.
#pragma once
#include "../cuda_runtime.h"

#include <cstddef>
#include <utility>

#define CUB_VERSION 200800
#ifdef CUB_WRAPPED_NAMESPACE
#define CUB_NS_PREFIX namespace CUB_WRAPPED_NAMESPACE {
#define CUB_NS_POSTFIX }
#define CUB_NS_QUALIFIER ::CUB_WRAPPED_NAMESPACE::cub
#else
#define CUB_NS_PREFIX
#define CUB_NS_POSTFIX
#define CUB_NS_QUALIFIER ::cub
#endif

CUB_NS_PREFIX
namespace cub {

template <typename T> struct DoubleBuffer {
  DoubleBuffer() = default;
  DoubleBuffer(T *current, T *alternate);
  T *Current();
  T *Alternate();
  T *d_buffers[2];
  int selector;
};
template <typename Key, typename Value> struct KeyValuePair {
  Key key;
  Value value;
};
#define DEVSAN_ITERATOR(name)                                                                      \
  template <typename... T> struct name {                                                           \
    template <typename... A> explicit name(A... arguments);                                        \
  };
DEVSAN_ITERATOR(ArgIndexInputIterator)
DEVSAN_ITERATOR(CacheModifiedInputIterator)
DEVSAN_ITERATOR(ConstantInputIterator)
DEVSAN_ITERATOR(CountingInputIterator)
DEVSAN_ITERATOR(DiscardOutputIterator)
DEVSAN_ITERATOR(TransformInputIterator)
#undef DEVSAN_ITERATOR
#define DEVSAN_FUNCTOR(name)                                                                       \
  struct name {                                                                                    \
    template <typename T> __host__ __device__ T operator()(const T &a, const T &b) const { return a; } \
  };
DEVSAN_FUNCTOR(Sum)
DEVSAN_FUNCTOR(Max)
DEVSAN_FUNCTOR(Min)
DEVSAN_FUNCTOR(Equality)
DEVSAN_FUNCTOR(ArgMax)
DEVSAN_FUNCTOR(ArgMin)
#undef DEVSAN_FUNCTOR

// A value that a kernel before has written.
template <typename T, typename Iterator = T *> struct FutureValue {
  explicit FutureValue(Iterator place);
};

struct CachingDeviceAllocator {
  template <typename... A> explicit CachingDeviceAllocator(A... arguments);
  template <typename T> cudaError_t DeviceAllocate(T **pointer, std::size_t bytes, cudaStream_t active_stream = 0);
  cudaError_t DeviceFree(void *pointer);
};

// The parts of the argument lists: what comes before the stream, by its number.
#define DEVSAN_3 A a, B b, C c
#define DEVSAN_4 DEVSAN_3, D d
#define DEVSAN_5 DEVSAN_4, E e
#define DEVSAN_6 DEVSAN_5, F f
#define DEVSAN_7 DEVSAN_6, G g
#define DEVSAN_8 DEVSAN_7, H h
#define DEVSAN_T3 typename A, typename B, typename C
#define DEVSAN_T4 DEVSAN_T3, typename D
#define DEVSAN_T5 DEVSAN_T4, typename E
#define DEVSAN_T6 DEVSAN_T5, typename F
#define DEVSAN_T7 DEVSAN_T6, typename G
#define DEVSAN_T8 DEVSAN_T7, typename H
#define DEVSAN_METHOD(name, n)                                                                     \
  template <DEVSAN_T##n>                                                                           \
  static cudaError_t name(void *d_temp_storage, std::size_t &temp_storage_bytes, DEVSAN_##n,       \
                          cudaStream_t stream = 0, bool debug_synchronous = false);
#define DEVSAN_SORT(name, n)                                                                       \
  template <DEVSAN_T##n>                                                                           \
  static cudaError_t name(void *d_temp_storage, std::size_t &temp_storage_bytes, DEVSAN_##n,       \
                          int begin_bit = 0, int end_bit = 64, cudaStream_t stream = 0,            \
                          bool debug_synchronous = false);

struct DeviceScan {
  DEVSAN_METHOD(ExclusiveSum, 3)
  DEVSAN_METHOD(InclusiveSum, 3)
  DEVSAN_METHOD(ExclusiveScan, 5)
  DEVSAN_METHOD(InclusiveScan, 4)
  DEVSAN_METHOD(ExclusiveSumByKey, 4)
  DEVSAN_METHOD(InclusiveSumByKey, 4)
  DEVSAN_METHOD(ExclusiveScanByKey, 6)
  DEVSAN_METHOD(InclusiveScanByKey, 5)
};
struct DeviceReduce {
  DEVSAN_METHOD(Sum, 3)
  DEVSAN_METHOD(Max, 3)
  DEVSAN_METHOD(Min, 3)
  DEVSAN_METHOD(ArgMax, 3)
  DEVSAN_METHOD(ArgMin, 3)
  DEVSAN_METHOD(Reduce, 5)
  DEVSAN_METHOD(ReduceByKey, 7)
};
struct DeviceSegmentedReduce {
  DEVSAN_METHOD(Sum, 5)
  DEVSAN_METHOD(Max, 5)
  DEVSAN_METHOD(Min, 5)
  DEVSAN_METHOD(Reduce, 7)
};
struct DeviceSelect {
  DEVSAN_METHOD(Flagged, 5)
  DEVSAN_METHOD(If, 5)
  DEVSAN_METHOD(Unique, 4)
  DEVSAN_METHOD(UniqueByKey, 6)
};
struct DevicePartition {
  DEVSAN_METHOD(Flagged, 5)
  DEVSAN_METHOD(If, 5)
};
struct DeviceRunLengthEncode {
  DEVSAN_METHOD(Encode, 5)
  DEVSAN_METHOD(NonTrivialRuns, 5)
};
struct DeviceRadixSort {
  DEVSAN_SORT(SortKeys, 3)
  DEVSAN_SORT(SortKeysDescending, 3)
  template <typename K, typename V, typename N>
  static cudaError_t SortPairs(void *d_temp_storage, std::size_t &temp_storage_bytes, const K *d_keys_in, K *d_keys_out,
                               const V *d_values_in, V *d_values_out, N num_items, int begin_bit = 0, int end_bit = 64,
                               cudaStream_t stream = 0, bool debug_synchronous = false);
  template <typename K, typename V, typename N>
  static cudaError_t SortPairs(void *d_temp_storage, std::size_t &temp_storage_bytes, DoubleBuffer<K> &d_keys,
                               DoubleBuffer<V> &d_values, N num_items, int begin_bit = 0, int end_bit = 64,
                               cudaStream_t stream = 0, bool debug_synchronous = false);
  DEVSAN_SORT(SortPairsDescending, 5)
};
struct DeviceSegmentedRadixSort {
  DEVSAN_SORT(SortKeys, 6)
  DEVSAN_SORT(SortKeysDescending, 6)
  DEVSAN_SORT(SortPairs, 8)
  DEVSAN_SORT(SortPairsDescending, 8)
};
struct DeviceMergeSort {
  DEVSAN_METHOD(SortKeys, 3)
  DEVSAN_METHOD(SortPairs, 4)
  DEVSAN_METHOD(StableSortPairs, 4)
};
struct DeviceHistogram {
  DEVSAN_METHOD(HistogramEven, 6)
};
struct DeviceFor {
  template <typename Iterator, typename Function>
  static cudaError_t ForEachN(Iterator first, std::size_t count, Function function, cudaStream_t stream = 0);
};
#undef DEVSAN_SORT
#undef DEVSAN_METHOD
#undef DEVSAN_3
#undef DEVSAN_4
#undef DEVSAN_5
#undef DEVSAN_6
#undef DEVSAN_7
#undef DEVSAN_8
#undef DEVSAN_T3
#undef DEVSAN_T4
#undef DEVSAN_T5
#undef DEVSAN_T6
#undef DEVSAN_T7
#undef DEVSAN_T8

// Of these only their names and nested types appear outside of kernels' bodies.
#define DEVSAN_PRIMITIVE(name)                                                                     \
  template <typename T, int... Values> struct name {                                               \
    struct TempStorage {};                                                                         \
  };
DEVSAN_PRIMITIVE(BlockReduce)
DEVSAN_PRIMITIVE(BlockScan)
DEVSAN_PRIMITIVE(WarpReduce)
DEVSAN_PRIMITIVE(WarpScan)
#undef DEVSAN_PRIMITIVE

#define DEVSAN_MOVER(name, kind)                                                                   \
  enum kind##Algorithm {                                                                           \
    kind##_DIRECT,                                                                                 \
    kind##_STRIPED,                                                                                \
    kind##_VECTORIZE,                                                                              \
    kind##_TRANSPOSE,                                                                              \
    kind##_WARP_TRANSPOSE,                                                                         \
    kind##_WARP_TRANSPOSE_TIMESLICED                                                               \
  };                                                                                               \
  template <typename T, int Threads, int Items, kind##Algorithm Algorithm = kind##_DIRECT,         \
            int... Sizes>                                                                          \
  struct name {                                                                                    \
    struct TempStorage {};                                                                         \
  };
DEVSAN_MOVER(BlockLoad, BLOCK_LOAD)
DEVSAN_MOVER(BlockStore, BLOCK_STORE)
#undef DEVSAN_MOVER
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING, BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_WARP_REDUCTIONS };

} // namespace cub
CUB_NS_POSTFIX
