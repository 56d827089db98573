#pragma once
#include <stdint.h>

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
// NVIDIA's headers define these in themselves, too; nothing listens.
static inline int nvtxRangePushA(const char *message) { return (void)message, 0; }
static inline int nvtxRangePop(void) { return 0; }
static inline void nvtxMarkA(const char *message) { (void)message; }
static inline nvtxRangeId_t nvtxRangeStartA(const char *message) { return (void)message, 0; }
static inline void nvtxRangeEnd(nvtxRangeId_t id) { (void)id; }
#define nvtxRangePush nvtxRangePushA
#define nvtxMark nvtxMarkA
#define nvtxRangeStart nvtxRangeStartA
