#pragma once
#include "cuda_runtime.h"

namespace cooperative_groups {

struct thread_group {
  __device__ unsigned long long size() const;
  __device__ unsigned long long thread_rank() const;
  __device__ void sync() const;
};
struct thread_block : thread_group {
  __device__ dim3 group_index() const;
  __device__ dim3 thread_index() const;
};
struct grid_group : thread_group {};
struct coalesced_group : thread_group {};
template <unsigned int Size, typename Parent = void> struct thread_block_tile : thread_group {};
__device__ thread_block this_thread_block();
__device__ grid_group this_grid();
__device__ coalesced_group coalesced_threads();
template <unsigned int Size, typename Parent> __device__ thread_block_tile<Size, Parent> tiled_partition(const Parent &parent);
template <typename T> struct plus {};
template <typename T> struct less {};
template <typename T> struct greater {};

} // namespace cooperative_groups
