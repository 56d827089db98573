// Thrust as host code sees it: execution policies, pointers, containers and algorithms. Every other header of the library
// includes this one. Only what an algorithm is given matters, so all of them take anything.
#pragma once
#include "../cuda_runtime.h"

#include <cstddef>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace thrust {

using std::error_category;
using std::error_code;
using std::error_condition;
using std::generic_category;
using std::system_category;
using std::system_error;
inline const error_category &cuda_category() { return std::system_category(); }
namespace system {
using thrust::cuda_category;
using thrust::error_category;
using thrust::error_code;
using thrust::generic_category;
using thrust::system_category;
using thrust::system_error;
} // namespace system
namespace detail {
struct host_t {};
struct device_t {};
} // namespace detail
constexpr detail::host_t host{};
constexpr detail::device_t device{};
struct host_system_tag {};
struct device_system_tag {};

namespace cuda_cub {
struct execute_on_stream {};
struct execute_with_allocator {
  execute_on_stream on(cudaStream_t stream) const;
};
struct par_t {
  execute_on_stream on(cudaStream_t stream) const;
  template <typename Allocator> execute_with_allocator operator()(Allocator &&allocator) const;
};
constexpr par_t par{};
constexpr par_t par_nosync{};
} // namespace cuda_cub
namespace cuda {
using cuda_cub::par;
using cuda_cub::par_nosync;
using cuda_cub::par_t;
} // namespace cuda
namespace system::cuda {
using cuda_cub::par;
using cuda_cub::par_nosync;
} // namespace system::cuda

template <typename T> struct device_reference {
  operator T() const;
  device_reference &operator=(const T &value);
};
template <typename T> struct device_ptr {
  using value_type = T;
  device_ptr() = default;
  explicit device_ptr(T *pointer);
  T *get() const;
  device_reference<T> operator*() const;
  device_reference<T> operator[](std::ptrdiff_t index) const;
  device_ptr operator+(std::ptrdiff_t offset) const;
  device_ptr operator-(std::ptrdiff_t offset) const;
  std::ptrdiff_t operator-(device_ptr other) const;
  device_ptr &operator++();
  bool operator==(device_ptr other) const;
};
template <typename T> device_ptr<T> device_pointer_cast(T *pointer);
template <typename T> T *raw_pointer_cast(device_ptr<T> pointer);
template <typename T> T *raw_pointer_cast(T *pointer);
template <typename T> device_ptr<T> device_malloc(std::size_t count);
template <typename T> void device_free(device_ptr<T> pointer);

template <typename T> struct device_allocator {
  using value_type = T;
};
template <typename T> using device_malloc_allocator = device_allocator<T>;
template <typename T> struct vector_base {
  using value_type = T;
  using iterator = device_ptr<T>;
  vector_base() = default;
  explicit vector_base(std::size_t count);
  vector_base(std::size_t count, const T &value);
  template <typename Iterator> vector_base(Iterator first, Iterator last);
  template <typename Other> vector_base(const vector_base<Other> &other);
  iterator begin() const;
  iterator end() const;
  device_ptr<T> data() const;
  std::size_t size() const;
  bool empty() const;
  void resize(std::size_t count);
  void resize(std::size_t count, const T &value);
  void reserve(std::size_t count);
  void push_back(const T &value);
  void clear();
  template <typename Iterator> void assign(Iterator first, Iterator last);
  device_reference<T> operator[](std::size_t index) const;
  device_reference<T> front() const;
  device_reference<T> back() const;
};
template <typename T, typename Allocator = device_allocator<T>> struct device_vector : vector_base<T> {
  using vector_base<T>::vector_base;
};
template <typename T> struct universal_vector : vector_base<T> {
  using vector_base<T>::vector_base;
};
template <typename T> struct host_vector : std::vector<T> {
  using std::vector<T>::vector;
  template <typename Other> host_vector(const device_vector<Other> &other);
};

using std::get;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::swap;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;
template <int Index, typename Tuple> using tuple_element_t = std::tuple_element_t<Index, Tuple>;

// An iterator that computes what it points to.
template <typename T> struct fancy_iterator {
  using value_type = T;
  T operator*() const;
  T operator[](std::ptrdiff_t index) const;
  fancy_iterator operator+(std::ptrdiff_t offset) const;
  std::ptrdiff_t operator-(fancy_iterator other) const;
};
template <typename T> struct counting_iterator : fancy_iterator<T> {
  counting_iterator() = default;
  explicit counting_iterator(T first);
};
template <typename T> struct constant_iterator : fancy_iterator<T> {
  explicit constant_iterator(T value);
};
template <typename T = void> struct discard_iterator {};
template <typename Function, typename Iterator, typename... Rest> struct transform_iterator {
  transform_iterator(Iterator iterator, Function function);
};
template <typename Tuple> struct zip_iterator {
  explicit zip_iterator(Tuple iterators);
  zip_iterator operator+(std::ptrdiff_t offset) const;
  std::ptrdiff_t operator-(zip_iterator other) const;
};
template <typename First, typename Second> struct permutation_iterator {
  permutation_iterator(First values, Second indices);
};
template <typename T> struct reverse_iterator {
  explicit reverse_iterator(T iterator);
};
template <typename T> counting_iterator<T> make_counting_iterator(T first);
template <typename T> constant_iterator<T> make_constant_iterator(T value);
inline discard_iterator<> make_discard_iterator() { return {}; }
template <typename Iterator, typename Function>
transform_iterator<Function, Iterator> make_transform_iterator(Iterator iterator, Function function);
template <typename Tuple> zip_iterator<Tuple> make_zip_iterator(Tuple iterators);
template <typename First, typename Second>
permutation_iterator<First, Second> make_permutation_iterator(First values, Second indices);
template <typename T> reverse_iterator<T> make_reverse_iterator(T iterator);

#define DEVSAN_FUNCTOR(name)                                                                       \
  template <typename T = void> struct name {                                                       \
    template <typename A, typename B> __host__ __device__ auto operator()(A a, B b) const {        \
      return a;                                                                                    \
    }                                                                                              \
  };
DEVSAN_FUNCTOR(plus)
DEVSAN_FUNCTOR(minus)
DEVSAN_FUNCTOR(multiplies)
DEVSAN_FUNCTOR(divides)
DEVSAN_FUNCTOR(maximum)
DEVSAN_FUNCTOR(minimum)
DEVSAN_FUNCTOR(less)
DEVSAN_FUNCTOR(greater)
DEVSAN_FUNCTOR(less_equal)
DEVSAN_FUNCTOR(greater_equal)
DEVSAN_FUNCTOR(equal_to)
DEVSAN_FUNCTOR(not_equal_to)
DEVSAN_FUNCTOR(logical_and)
DEVSAN_FUNCTOR(logical_or)
DEVSAN_FUNCTOR(bit_or)
#undef DEVSAN_FUNCTOR
template <typename T = void> struct identity {
  template <typename A> __host__ __device__ A operator()(A a) const { return a; }
};
template <typename Argument, typename Result> struct unary_function {
  using argument_type = Argument;
  using result_type = Result;
};
template <typename First, typename Second, typename Result> struct binary_function {
  using result_type = Result;
};
namespace placeholders {
constexpr identity<> _1{}, _2{};
}

// The result is the iterator or pair that the algorithm is known to return, or close to it.
#define DEVSAN_ALGORITHM(name)                                                                     \
  template <typename First, typename... Rest> auto name(First &&first, Rest &&...rest) {           \
    return devsan_last_iterator(rest...);                                                          \
  }
template <typename T> T devsan_last_iterator(T only);
template <typename A, typename B, typename... Rest> A devsan_last_iterator(A first, B second, Rest... rest);
inline int devsan_last_iterator() { return 0; }
DEVSAN_ALGORITHM(sort)
DEVSAN_ALGORITHM(stable_sort)
DEVSAN_ALGORITHM(copy)
DEVSAN_ALGORITHM(copy_n)
DEVSAN_ALGORITHM(copy_if)
DEVSAN_ALGORITHM(fill)
DEVSAN_ALGORITHM(fill_n)
DEVSAN_ALGORITHM(for_each)
DEVSAN_ALGORITHM(for_each_n)
DEVSAN_ALGORITHM(gather)
DEVSAN_ALGORITHM(generate)
DEVSAN_ALGORITHM(exclusive_scan)
DEVSAN_ALGORITHM(inclusive_scan)
DEVSAN_ALGORITHM(transform_exclusive_scan)
DEVSAN_ALGORITHM(transform_inclusive_scan)
DEVSAN_ALGORITHM(adjacent_difference)
DEVSAN_ALGORITHM(lower_bound)
DEVSAN_ALGORITHM(upper_bound)
DEVSAN_ALGORITHM(binary_search)
DEVSAN_ALGORITHM(max_element)
DEVSAN_ALGORITHM(min_element)
DEVSAN_ALGORITHM(find)
DEVSAN_ALGORITHM(find_if)
DEVSAN_ALGORITHM(merge)
DEVSAN_ALGORITHM(partition)
DEVSAN_ALGORITHM(stable_partition)
DEVSAN_ALGORITHM(remove)
DEVSAN_ALGORITHM(remove_if)
DEVSAN_ALGORITHM(replace)
DEVSAN_ALGORITHM(replace_if)
DEVSAN_ALGORITHM(reverse)
DEVSAN_ALGORITHM(scatter)
DEVSAN_ALGORITHM(sequence)
DEVSAN_ALGORITHM(set_difference)
DEVSAN_ALGORITHM(set_intersection)
DEVSAN_ALGORITHM(swap_ranges)
DEVSAN_ALGORITHM(tabulate)
DEVSAN_ALGORITHM(transform)
DEVSAN_ALGORITHM(unique)
DEVSAN_ALGORITHM(unique_copy)
DEVSAN_ALGORITHM(uninitialized_copy)
DEVSAN_ALGORITHM(uninitialized_fill)
#undef DEVSAN_ALGORITHM
// Keys and values: pairs of ends.
#define DEVSAN_ALGORITHM(name)                                                                     \
  template <typename First, typename... Rest> auto name(First &&first, Rest &&...rest) {           \
    return std::make_pair(devsan_last_iterator(rest...), devsan_last_iterator(rest...));           \
  }
DEVSAN_ALGORITHM(sort_by_key)
DEVSAN_ALGORITHM(stable_sort_by_key)
DEVSAN_ALGORITHM(unique_by_key)
DEVSAN_ALGORITHM(unique_by_key_copy)
DEVSAN_ALGORITHM(reduce_by_key)
DEVSAN_ALGORITHM(exclusive_scan_by_key)
DEVSAN_ALGORITHM(inclusive_scan_by_key)
DEVSAN_ALGORITHM(minmax_element)
DEVSAN_ALGORITHM(mismatch)
#undef DEVSAN_ALGORITHM
// Values on the host.
#define DEVSAN_ALGORITHM(name, Result)                                                             \
  template <typename First, typename... Rest> Result name(First &&first, Rest &&...rest);
DEVSAN_ALGORITHM(reduce, double)
DEVSAN_ALGORITHM(transform_reduce, double)
DEVSAN_ALGORITHM(inner_product, double)
DEVSAN_ALGORITHM(count, long)
DEVSAN_ALGORITHM(count_if, long)
DEVSAN_ALGORITHM(distance, long)
DEVSAN_ALGORITHM(all_of, bool)
DEVSAN_ALGORITHM(any_of, bool)
DEVSAN_ALGORITHM(none_of, bool)
DEVSAN_ALGORITHM(equal, bool)
DEVSAN_ALGORITHM(is_sorted, bool)
#undef DEVSAN_ALGORITHM

struct default_random_engine {
  explicit default_random_engine(unsigned seed = 0);
  void discard(unsigned long long count);
};
template <typename T> struct uniform_real_distribution {
  uniform_real_distribution(T low = 0, T high = 1);
  template <typename Engine> T operator()(Engine &engine);
};

} // namespace thrust
