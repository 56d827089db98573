/* What both stand-ins share: that a test can ask which functions were reached. */
#ifndef DEVSAN_RUNTIME_CUDA_STANDIN_H
#define DEVSAN_RUNTIME_CUDA_STANDIN_H

#include <stddef.h>

enum { kMaxDevices = 64 };

enum {
  kDevSanStandinKernel = 0x6b65726e,
  /* One that belongs to another CUDA runtime: it can be launched, and this one does not know it. */
  kDevSanStandinForeignKernel = 0x666f7265,
  kDevSanStandinMaxParameters = 64
};

/* An A100's properties, as far as they are asked for. */
enum {
  kMajor = 8,
  kMinor = 0,
  kProcessors = 108,
  kWarp = 32,
  kThreadsPerBlock = 1024,
  kThreadsPerProcessor = 2048,
  kSharedPerBlock = 48 << 10,
  kSharedPerBlockOptIn = 163 << 10,
  kSharedPerProcessor = 164 << 10,
  kRegisters = 65536,
  kBlocksPerProcessor = 32,
  kCopyEngines = 3,
  kConstant = 64 << 10,
  kL2 = 40 << 20,
  kMostPitch = 2147483647,
  kTextureAlignment = 512,
  kTexturePitch = 32,
  kRegistersPerThread = 32 /* of any kernel, since its code is not looked at */
};

static const unsigned kDevSanLargestBlock[] = {1024, 1024, 64};
static const unsigned kDevSanLargestGrid[] = {2147483647, 65535, 65535};

/* What the driver knows of a kernel: name and parameters. On simulated devices the runtime's
   stand-in makes one of what a library registers; a program of the tests launches the address of
   one itself, and of any other address the driver then knows nothing. */
struct DevSanStandinKernel {
  int magic; /* one of the above */
  const char *name;
  size_t sizes[kDevSanStandinMaxParameters]; /* in bytes, 0 after the last */
};

/* Notes that the function of that name, without a suffix for the default stream, was entered.
   `devsan_standin_calls` of either library says how often; both are exported. */
void devsan_standin_count(const char *name);
int devsan_standin_calls(const char *name);

/* Notes a line about work that a test wants to see in its order: copies and waits of the driver.
   Lines are kept from the first `devsan_standin_take_notes` on, which the driver exports: it copies
   those that came since the last call, as many bytes as it says, and begins anew. */
void devsan_standin_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
size_t devsan_standin_take_notes(char *out, size_t size);

/* The result of what a simulated device has not, after it has been noted what that is. */
int devsan_standin_refuse(const char *what);
/* "not simulated: WHAT" of the thread's last refusal; NULL where there was none. */
const char *devsan_standin_refused(void);

/* Of the runtime's stand-in: whether its devices are simulated ones. */
int devsanIsSimulated(void);
/* Of the runtime's stand-in: the result of a function that simulated devices have not; says so once
   for each. */
int devsanRefuse(const char *what, int *is_said);

#endif
