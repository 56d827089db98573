// The address range of the simulated devices' memory, one equal part for each device, so that the
// device of any address is known. With protection it is one sparse memfd mapped twice: the device
// addresses, which no host code may touch (PROT_NONE), and at a fixed distance the kernel
// addresses, which the simulator's CPU kernels use. Without protection both are the same addresses.
//
// Made when the first block is asked for, never given back: tensors outlive everything. Any thread.
// caching_allocator.h divides the parts. Nothing is kept in device memory itself: a table beside it
// has a place for each address at which a block can begin, so that an address is all that
// LibTorch's allocators need to pass around (kernels take memory "raw").
#pragma once

#include <cstddef>
#include <cstdint>

#include <c10/core/Device.h>

namespace devsan::sim {

struct Block;

struct ArenaLayout {
  std::uintptr_t begin = 0;    // of the device addresses
  std::uintptr_t size = 0;     // 0 until the arena is made
  std::uintptr_t distance = 0; // kernel address - device address
  std::uintptr_t per_device = 0;
  Block **blocks = nullptr; // one for each kBlockUnit bytes
};
// Constant once a device address exists.
extern ArenaLayout arena_layout;

inline bool isDeviceAddress(const void *address) {
  return reinterpret_cast<std::uintptr_t>(address) - arena_layout.begin < arena_layout.size;
}

// Where kernels find what lies at a device address; other addresses stay as they are.
inline void *kernelAddress(void *address) {
  return isDeviceAddress(address) ? static_cast<char *>(address) + arena_layout.distance : address;
}
inline const void *kernelAddress(const void *address) {
  return kernelAddress(const_cast<void *>(address));
}

// The way back.
inline void *deviceAddress(void *address) {
  auto *at = static_cast<char *>(address) - arena_layout.distance;
  return isDeviceAddress(at) ? at : address;
}

inline constexpr std::uintptr_t kBlockUnit = 512;

// The block that begins at a device address, as caching_allocator.cpp has last noted it.
inline Block *&blockBeginningAt(const void *address) {
  return arena_layout
      .blocks[(reinterpret_cast<std::uintptr_t>(address) - arena_layout.begin) / kBlockUnit];
}

// The device whose memory a device address is in.
inline c10::DeviceIndex deviceOfAddress(const void *address) {
  return static_cast<c10::DeviceIndex>(
      (reinterpret_cast<std::uintptr_t>(address) - arena_layout.begin) / arena_layout.per_device);
}

// Makes the arena where it is not made yet. Throws where there is no room for it.
void makeArena();

// Takes a range that somebody else has made; `distance` is 0 where it is not protected.
void adoptArena(std::uintptr_t begin, std::uintptr_t size, std::uintptr_t distance,
                std::uintptr_t per_device);

bool arenaIsProtected();

// Lets the host read and write the pages of [begin, end), device addresses; takes that back.
void openToHost(std::uintptr_t begin, std::uintptr_t end);
void closeToHost(std::uintptr_t begin, std::uintptr_t end);

// Gives the pages that lie wholly in [begin, end), device addresses, back to the machine. They read
// as zero when they are used again.
void releasePages(std::uintptr_t begin, std::uintptr_t end);

} // namespace devsan::sim
