// CUDA's runtime on simulated devices, through the header that programs are compiled with.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>

extern "C" void __cudaRegisterFunction(void **handle, const char *function, char *device_function,
                                       const char *name, int thread_limit, void *tid, void *bid,
                                       void *block, void *grid, int *warp);
extern "C" size_t devsan_standin_take_notes(char *out, size_t size);

namespace {

// What the driver was asked to copy and to wait for since the last call.
std::string notes() {
  std::string text(4096, '\0');
  text.resize(devsan_standin_take_notes(text.data(), text.size()));
  return text;
}

struct RuntimeApi : testing::Test {
  void SetUp() override {
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    cudaGetLastError();
    notes();
  }
};

std::vector<int> numbered(size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST_F(RuntimeApi, RefusesNullWhereAResultIsPut) {
  EXPECT_EQ(cudaMalloc(static_cast<void **>(nullptr), 8), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventCreate(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDeviceProperties(nullptr, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeApi, CopiesBoxesOfPitchedMemory) {
  const cudaExtent extent = make_cudaExtent(3 * sizeof(int), 2, 4);
  cudaPitchedPtr device;
  ASSERT_EQ(cudaMalloc3D(&device, extent), cudaSuccess);
  EXPECT_GE(device.pitch, extent.width);
  std::vector<int> values = numbered(24), back(24);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(values.data(), extent.width, 3, 2);
  copy.dstPtr = device;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  std::swap(copy.srcPtr, copy.dstPtr);
  copy.dstPtr.ptr = back.data();
  copy.kind = cudaMemcpyDeviceToHost;
  EXPECT_EQ(cudaMemcpy3DAsync(&copy, nullptr), cudaSuccess);
  EXPECT_EQ(back, values);
  EXPECT_EQ(notes(), "copy pageable cuda:0 96 wait\ncopy cuda:0 pageable 96 wait\n");
  // One row of the last layer.
  std::fill(back.begin(), back.end(), 0);
  copy.srcPos = make_cudaPos(sizeof(int), 1, 3);
  copy.extent = make_cudaExtent(2 * sizeof(int), 1, 1);
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  EXPECT_EQ(back[0], 23);
  EXPECT_EQ(back[1], 24);
  EXPECT_EQ(back[2], 0);
  EXPECT_EQ(cudaMemset3D(device, 1, extent), cudaSuccess);
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  EXPECT_EQ(back[1], 0x01010101);
  copy.extent = extent;
  copy.srcPos = make_cudaPos(0, 0, 0);
  copy.dstPtr.pitch = 4;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaFree(device.ptr), cudaSuccess);
}

TEST_F(RuntimeApi, CopiesToArraysInElements) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int2>();
  EXPECT_EQ(format.y, 32);
  EXPECT_EQ(format.z, 0);
  EXPECT_EQ(format.f, cudaChannelFormatKindSigned);
  EXPECT_EQ(cudaCreateChannelDesc<float>().f, cudaChannelFormatKindFloat);
  EXPECT_EQ(cudaCreateChannelDesc<uchar4>().w, 8);
  cudaArray_t array;
  ASSERT_EQ(cudaMalloc3DArray(&array, &format, make_cudaExtent(2, 3, 2)), cudaSuccess);
  std::vector<int> values = numbered(24), back(24);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(values.data(), 16, 2, 3);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(2, 3, 2);
  copy.kind = cudaMemcpyHostToDevice;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2DFromArray(back.data(), 8, array, 8, 1, 8, 2, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(back[0], 7);
  EXPECT_EQ(back[3], 12);
  EXPECT_EQ(notes(), "copy pageable cuda:0 96 wait\ncopy cuda:0 pageable 16 wait\n");

  cudaExtent extent;
  EXPECT_EQ(cudaArrayGetInfo(nullptr, &extent, nullptr, array), cudaSuccess);
  EXPECT_EQ(extent.height, 3u);
  cudaResourceDesc resource = {}, told = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture = {};
  cudaTextureObject_t object;
  EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &texture, nullptr), cudaSuccess);
  EXPECT_EQ(cudaGetTextureObjectResourceDesc(&told, object), cudaSuccess);
  EXPECT_EQ(told.res.array.array, array);
  EXPECT_EQ(cudaDestroyTextureObject(object), cudaSuccess);
  EXPECT_EQ(cudaGetTextureObjectResourceDesc(&told, object), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
  EXPECT_EQ(cudaFreeArray(array), cudaErrorInvalidValue);
}

TEST_F(RuntimeApi, KeepsWhatIsSetOfADevice) {
  size_t limit;
  EXPECT_EQ(cudaDeviceSetLimit(cudaLimitStackSize, 4096), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetLimit(&limit, cudaLimitStackSize), cudaSuccess);
  EXPECT_EQ(limit, 4096u);
  EXPECT_EQ(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, SIZE_MAX), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize), cudaSuccess);
  EXPECT_EQ(limit, SIZE_MAX);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetLimit(&limit, cudaLimitStackSize), cudaSuccess);
  EXPECT_EQ(limit, 1024u);
  EXPECT_EQ(cudaDeviceGetLimit(&limit, static_cast<cudaLimit>(99)), cudaErrorUnsupportedLimit);
  unsigned flags;
  EXPECT_EQ(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceFlags(&flags), cudaSuccess);
  EXPECT_EQ(flags & cudaDeviceScheduleMask, unsigned(cudaDeviceScheduleBlockingSync));
  EXPECT_EQ(cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceScheduleYield),
            cudaErrorInvalidValue);
  char bus[32];
  int device;
  EXPECT_EQ(cudaDeviceGetPCIBusId(bus, sizeof bus, 1), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, bus), cudaSuccess);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, "01:00.0"), cudaSuccess);
  EXPECT_EQ(device, 0);
  for (const char *other : {"0000:7f:00.0", "0000:02:05.3", "0001:01:00.0", "01", "none"})
    EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, other), cudaErrorInvalidDevice) << other;
}

TEST_F(RuntimeApi, HasNoPeers) {
  int can;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 7), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessUnsupported);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
}

TEST_F(RuntimeApi, TellsAStreamsFlagsAndDevice) {
  cudaStream_t stream;
  unsigned flags;
  int device, priority;
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -2), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned(cudaStreamNonBlocking));
  EXPECT_EQ(cudaStreamGetDevice(stream, &device), cudaSuccess);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, -2);
  EXPECT_EQ(cudaStreamGetFlags(nullptr, &flags), cudaSuccess);
  EXPECT_EQ(flags, 0u);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(RuntimeApi, GivesTheDevicesPointerOfHostMemory) {
  int *pinned, *device, pageable;
  ASSERT_EQ(cudaHostAlloc(&pinned, sizeof(int), cudaHostAllocMapped), cudaSuccess);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, pinned, 0), cudaSuccess);
  EXPECT_EQ(device, pinned);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, &pageable, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(RuntimeApi, AllocatesOnTheDeviceOfAPool) {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 1};
  cudaMemPool_t pool, current;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  unsigned long long threshold = 1 << 20, told = 0;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaSuccess);
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &told), cudaSuccess);
  EXPECT_EQ(told, threshold);
  EXPECT_EQ(cudaDeviceSetMemPool(0, pool), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSetMemPool(1, pool), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetMemPool(&current, 1), cudaSuccess);
  EXPECT_EQ(current, pool);
  float *memory;
  EXPECT_EQ(cudaMallocFromPoolAsync(&memory, 64, pool, nullptr), cudaSuccess);
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, memory), cudaSuccess);
  EXPECT_EQ(attributes.device, 1);
  int device;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaFreeAsync(memory, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
}

TEST_F(RuntimeApi, HasRoomForACooperativeLaunchOrRefusesIt) {
  static const char kKernel[] = "_Z4waitv";
  __cudaRegisterFunction(nullptr, kKernel, nullptr, kKernel, 0, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
  const void *kernel = kKernel;
  int blocks, processors;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0), cudaSuccess);
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  const dim3 all(blocks * processors), more(blocks * processors + 1);
  void *none[] = {nullptr};
  EXPECT_EQ(cudaLaunchCooperativeKernel(kernel, all, dim3(256), none, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaLaunchCooperativeKernel(kernel, more, dim3(256), none, 0, nullptr),
            cudaErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(cudaLaunchKernel(kernel, more, dim3(256), none, 0, nullptr), cudaSuccess);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config = {more, dim3(256), 0, nullptr, &attribute, 1};
  EXPECT_EQ(cudaLaunchKernelExC(&config, kernel, none), cudaErrorCooperativeLaunchTooLarge);
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  EXPECT_EQ(cudaLaunchKernelExC(&config, kernel, none), cudaErrorNotSupported);
  attribute.val.clusterDim = {1, 1, 1};
  EXPECT_EQ(cudaLaunchKernelExC(&config, kernel, none), cudaSuccess);
  config.attrs = nullptr;
  EXPECT_EQ(cudaLaunchKernelExC(&config, kernel, none), cudaErrorInvalidValue);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, SIZE_MAX - 1023),
            cudaSuccess);
  EXPECT_EQ(blocks, 0);
}

TEST_F(RuntimeApi, HasTheDefaultsAndFormsOfCpp) {
  void *function = nullptr;
  EXPECT_EQ(cudaGetDriverEntryPoint("cuInit", &function, cudaEnableDefault), cudaSuccess);
  EXPECT_NE(function, nullptr);
  function = nullptr;
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuInit", &function, 12000, cudaEnableDefault),
            cudaSuccess);
  EXPECT_NE(function, nullptr);
  int value = 7, *to;
  ASSERT_EQ(cudaMalloc(&to, sizeof value), cudaSuccess);
  const int *from = &value;
  size_t bytes = sizeof value, failed = 0;
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  EXPECT_EQ(cudaMemcpyBatchAsync(&to, &from, &bytes, 1, attributes, &failed, nullptr), cudaSuccess);
  int *both[] = {to, nullptr};
  const int *sources[] = {from, from};
  size_t sizes[] = {bytes, bytes};
  EXPECT_EQ(cudaMemcpyBatchAsync(both, sources, sizes, 2, attributes, &failed, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(failed, 1u);
  EXPECT_EQ(cudaMemcpy(&value, to, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(cudaFree(to), cudaSuccess);
}

TEST_F(RuntimeApi, RefusesSizesBeyondAllMemory) {
  void *memory;
  size_t pitch;
  EXPECT_EQ(cudaMallocPitch(&memory, &pitch, SIZE_MAX - 8, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocPitch(&memory, &pitch, 512, SIZE_MAX / 512 + 2), cudaErrorMemoryAllocation);
  cudaPitchedPtr pitched;
  EXPECT_EQ(cudaMalloc3D(&pitched, make_cudaExtent(512, SIZE_MAX / 2 + 1, 2)),
            cudaErrorMemoryAllocation);
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
  EXPECT_EQ(cudaMalloc3DArray(&array, &format, make_cudaExtent(SIZE_MAX / 16 + 2, 1, 1)),
            cudaErrorMemoryAllocation);
  format.x = 7;
  EXPECT_EQ(cudaMallocArray(&array, &format, 8, 8), cudaErrorInvalidValue);
  format = {-8, 32, 0, 0, cudaChannelFormatKindSigned};
  EXPECT_EQ(cudaMallocArray(&array, &format, 8, 8), cudaErrorInvalidValue);
  format = {10, 10, 10, 2, cudaChannelFormatKindUnsignedNormalized1010102};
  EXPECT_EQ(cudaMallocArray(&array, &format, 8, 8), cudaSuccess);
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

TEST_F(RuntimeApi, RefusesCopiesBeyondAnArray) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaArray_t array;
  ASSERT_EQ(cudaMalloc3DArray(&array, &format, make_cudaExtent(4, 4, 2)), cudaSuccess);
  std::vector<int> host(64);
  int *memory = host.data();
  const auto kind = cudaMemcpyHostToDevice;
  EXPECT_EQ(cudaMemcpy2DToArray(array, 0, 0, memory, 16, 16, 4, kind), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2DToArray(array, 4, 0, memory, 16, 16, 4, kind), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DToArray(array, 0, 1, memory, 16, 16, 4, kind), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DToArrayAsync(array, 0, SIZE_MAX, memory, 16, 16, 4, kind, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DFromArray(memory, 16, array, 0, 4, 16, 1, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DArrayToArray(array, 0, 0, array, 0, 2, 16, 3), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToArray(array, 8, 3, memory, 8, kind), cudaSuccess);
  EXPECT_EQ(cudaMemcpyToArray(array, 8, 3, memory, 12, kind), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToArray(array, 0, 0, memory, SIZE_MAX, kind), cudaErrorInvalidValue);

  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(memory, 16, 4, 4);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(4, 4, 2);
  copy.kind = kind;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  for (const cudaPos position : {make_cudaPos(1, 0, 0), make_cudaPos(0, 1, 0),
                                 make_cudaPos(0, 0, 1), make_cudaPos(SIZE_MAX, 0, 0)}) {
    copy.dstPos = position;
    EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy3DAsync(&copy, nullptr), cudaErrorInvalidValue);
  }
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

TEST_F(RuntimeApi, ChecksBoxesOfLinearMemory) {
  std::vector<char> host(4096);
  cudaMemcpy3DParms right = {};
  right.srcPtr = make_cudaPitchedPtr(host.data(), 16, 16, 4);
  right.dstPtr = make_cudaPitchedPtr(host.data() + 2048, 16, 16, 4);
  right.extent = make_cudaExtent(8, 4, 2);
  right.kind = cudaMemcpyDefault;
  EXPECT_EQ(cudaMemcpy3D(&right), cudaSuccess);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<char>();
  cudaMemcpy3DParms copy = right;
  ASSERT_EQ(cudaMalloc3DArray(&copy.dstArray, &format, make_cudaExtent(8, 4, 2)), cudaSuccess);
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeArray(copy.dstArray), cudaSuccess);
  copy = right;
  copy.srcPos.x = 9;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidPitchValue);
  copy = right;
  copy.dstPos.y = 1;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
  copy = right;
  copy.dstPos.z = SIZE_MAX;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
  copy = right;
  copy.srcPtr.ysize = copy.dstPtr.ysize = copy.extent.height = SIZE_MAX / 2 + 1;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
  copy = right;
  copy.kind = static_cast<cudaMemcpyKind>(9);
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidMemcpyDirection);
  cudaMemcpy3DPeerParms peer = {};
  peer.srcPtr = right.srcPtr;
  peer.dstPtr = right.dstPtr;
  peer.extent = right.extent;
  peer.dstDevice = 1;
  EXPECT_EQ(cudaMemcpy3DPeer(&peer), cudaSuccess);
  peer.dstDevice = 7;
  EXPECT_EQ(cudaMemcpy3DPeer(&peer), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMemcpyPeer(host.data(), 0, host.data() + 8, -1, 8), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMemcpyPeerAsync(host.data(), 7, host.data() + 8, 0, 8, nullptr),
            cudaErrorInvalidDevice);
}

TEST_F(RuntimeApi, ChecksRowsAndDirections) {
  char from[64] = {}, to[64] = {};
  const auto none = static_cast<cudaMemcpyKind>(-1);
  const auto kind = cudaMemcpyDefault;
  EXPECT_EQ(cudaMemcpy2D(to, 8, from, 8, 8, 2, kind), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(to, 8, from, 16, 9, 2, kind), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy2DAsync(to, 16, from, 8, 9, 2, kind, nullptr), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy2D(to, 8, from, 8, 8, 2, none), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy(to, from, 8, none), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpyAsync(to, from, 8, none, nullptr), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpyToSymbol(to, from, 8, 0, none), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset2D(to, 8, 1, 9, 2), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset2D(to, 8, 1, 8, 2), cudaSuccess);
  EXPECT_EQ(cudaMemset(nullptr, 0, 8), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(nullptr, 0, 8), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset2D(nullptr, 8, 0, 8, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(nullptr, 0, 0), cudaSuccess);
}

TEST_F(RuntimeApi, RefusesWhatItHasNot) {
  cudaGraph_t graph;
  EXPECT_EQ(cudaGraphCreate(&graph, 0), cudaErrorNotSupported);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorNotSupported),
               "not simulated: CUDA graphs that C++ captures (cudaGraphCreate)");
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorCooperativeLaunchTooLarge),
               "cudaErrorCooperativeLaunchTooLarge");
}

} // namespace
