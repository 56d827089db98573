// CUDA's runtime on simulated devices, through the header that programs are compiled with.
#include <cuda_runtime.h>

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
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, "0000:7f:00.0"), cudaErrorInvalidDevice);
}

TEST_F(RuntimeApi, SwitchesPeersOnAndOffOnce) {
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
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
  EXPECT_EQ(cudaMemcpy(&value, to, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(cudaFree(to), cudaSuccess);
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
