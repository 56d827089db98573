#pragma once
#include "cufft.h"

#define MAX_CUDA_DESCRIPTOR_GPUS 64
// Written by script/update-cuda-stubs:
// clang-format off
enum cudaXtCopyType_t { LIB_XT_COPY_HOST_TO_DEVICE = 0, LIB_XT_COPY_DEVICE_TO_HOST = 1, LIB_XT_COPY_DEVICE_TO_DEVICE = 2 };
typedef enum cudaXtCopyType_t cudaLibXtCopyType;
enum libFormat_t { LIB_FORMAT_CUFFT = 0, LIB_FORMAT_UNDEFINED = 1 };
typedef enum libFormat_t libFormat;
struct cudaXtDesc_t { int version; int nGPUs; int GPUs[64]; void * data[64]; size_t size[64]; void *cudaXtState; };
typedef struct cudaXtDesc_t cudaXtDesc;
struct cudaLibXtDesc_t { int version; cudaXtDesc *descriptor; libFormat library; int subFormat; void *libDescriptor; };
typedef struct cudaLibXtDesc_t cudaLibXtDesc;
enum cufftXtSubFormat_t { CUFFT_XT_FORMAT_INPUT = 0, CUFFT_XT_FORMAT_OUTPUT = 1, CUFFT_XT_FORMAT_INPLACE = 2, CUFFT_XT_FORMAT_INPLACE_SHUFFLED = 3, CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED = 4, CUFFT_XT_FORMAT_DISTRIBUTED_INPUT = 5, CUFFT_XT_FORMAT_DISTRIBUTED_OUTPUT = 6, CUFFT_FORMAT_UNDEFINED = 7 };
typedef enum cufftXtSubFormat_t cufftXtSubFormat;
enum cufftXtCopyType_t { CUFFT_COPY_HOST_TO_DEVICE = 0, CUFFT_COPY_DEVICE_TO_HOST = 1, CUFFT_COPY_DEVICE_TO_DEVICE = 2, CUFFT_COPY_UNDEFINED = 3 };
typedef enum cufftXtCopyType_t cufftXtCopyType;
enum cufftXtQueryType_t { CUFFT_QUERY_1D_FACTORS = 0, CUFFT_QUERY_UNDEFINED = 1 };
typedef enum cufftXtQueryType_t cufftXtQueryType;
struct cufftXt1dFactors_t { long long size; long long stringCount; long long stringLength; long long substringLength; long long factor1; long long factor2; long long stringMask; long long substringMask; long long factor1Mask; long long factor2Mask; int stringShift; int substringShift; int factor1Shift; int factor2Shift; };
typedef struct cufftXt1dFactors_t cufftXt1dFactors;
enum cufftXtWorkAreaPolicy_t { CUFFT_WORKAREA_MINIMAL = 0, CUFFT_WORKAREA_USER = 1, CUFFT_WORKAREA_PERFORMANCE = 2 };
typedef enum cufftXtWorkAreaPolicy_t cufftXtWorkAreaPolicy;
enum cufftXtCallbackType_t { CUFFT_CB_LD_COMPLEX = 0, CUFFT_CB_LD_COMPLEX_DOUBLE = 1, CUFFT_CB_LD_REAL = 2, CUFFT_CB_LD_REAL_DOUBLE = 3, CUFFT_CB_ST_COMPLEX = 4, CUFFT_CB_ST_COMPLEX_DOUBLE = 5, CUFFT_CB_ST_REAL = 6, CUFFT_CB_ST_REAL_DOUBLE = 7, CUFFT_CB_UNDEFINED = 8 };
typedef enum cufftXtCallbackType_t cufftXtCallbackType;
typedef cufftComplex (*cufftCallbackLoadC)(void *, size_t, void *, void *);
typedef cufftDoubleComplex (*cufftCallbackLoadZ)(void *, size_t, void *, void *);
typedef cufftReal (*cufftCallbackLoadR)(void *, size_t, void *, void *);
typedef cufftDoubleReal (*cufftCallbackLoadD)(void *, size_t, void *, void *);
typedef void (*cufftCallbackStoreC)(void *, size_t, cufftComplex, void *, void *);
typedef void (*cufftCallbackStoreZ)(void *, size_t, cufftDoubleComplex, void *, void *);
typedef void (*cufftCallbackStoreR)(void *, size_t, cufftReal, void *, void *);
typedef void (*cufftCallbackStoreD)(void *, size_t, cufftDoubleReal, void *, void *);
typedef cufftComplex (*cufftJITCallbackLoadC)(void *, unsigned long long, void *, void *);
typedef cufftDoubleComplex (*cufftJITCallbackLoadZ)(void *, unsigned long long, void *, void *);
typedef cufftReal (*cufftJITCallbackLoadR)(void *, unsigned long long, void *, void *);
typedef cufftDoubleReal (*cufftJITCallbackLoadD)(void *, unsigned long long, void *, void *);
typedef void (*cufftJITCallbackStoreC)(void *, unsigned long long, cufftComplex, void *, void *);
typedef void (*cufftJITCallbackStoreZ)(void *, unsigned long long, cufftDoubleComplex, void *, void *);
typedef void (*cufftJITCallbackStoreR)(void *, unsigned long long, cufftReal, void *, void *);
typedef void (*cufftJITCallbackStoreD)(void *, unsigned long long, cufftDoubleReal, void *, void *);
#ifdef __cplusplus
extern "C" {
#endif
cufftResult cufftXtSetGPUs(cufftHandle, int, int *);
cufftResult cufftXtMalloc(cufftHandle, cudaLibXtDesc **, cufftXtSubFormat);
cufftResult cufftXtMemcpy(cufftHandle, void *, void *, cufftXtCopyType);
cufftResult cufftXtFree(cudaLibXtDesc *);
cufftResult cufftXtSetWorkArea(cufftHandle, void **);
cufftResult cufftXtExecDescriptorC2C(cufftHandle, cudaLibXtDesc *, cudaLibXtDesc *, int);
cufftResult cufftXtExecDescriptorR2C(cufftHandle, cudaLibXtDesc *, cudaLibXtDesc *);
cufftResult cufftXtExecDescriptorC2R(cufftHandle, cudaLibXtDesc *, cudaLibXtDesc *);
cufftResult cufftXtExecDescriptorZ2Z(cufftHandle, cudaLibXtDesc *, cudaLibXtDesc *, int);
cufftResult cufftXtExecDescriptorD2Z(cufftHandle, cudaLibXtDesc *, cudaLibXtDesc *);
cufftResult cufftXtExecDescriptorZ2D(cufftHandle, cudaLibXtDesc *, cudaLibXtDesc *);
cufftResult cufftXtQueryPlan(cufftHandle, void *, cufftXtQueryType);
cufftResult cufftXtSetCallback(cufftHandle, void **, cufftXtCallbackType, void **);
cufftResult cufftXtClearCallback(cufftHandle, cufftXtCallbackType);
cufftResult cufftXtSetCallbackSharedSize(cufftHandle, cufftXtCallbackType, size_t);
cufftResult cufftXtSetJITCallback(cufftHandle, const char *, const void *, size_t, cufftXtCallbackType, void **);
cufftResult cufftXtMakePlanMany(cufftHandle, int, long long *, long long *, long long, long long, cudaDataType, long long *, long long, long long, cudaDataType, long long, size_t *, cudaDataType);
cufftResult cufftXtGetSizeMany(cufftHandle, int, long long *, long long *, long long, long long, cudaDataType, long long *, long long, long long, cudaDataType, long long, size_t *, cudaDataType);
cufftResult cufftXtExec(cufftHandle, void *, void *, int);
cufftResult cufftXtExecDescriptor(cufftHandle, cudaLibXtDesc *, cudaLibXtDesc *, int);
cufftResult cufftXtSetWorkAreaPolicy(cufftHandle, cufftXtWorkAreaPolicy, size_t *);
#ifdef __cplusplus
}
#endif
// clang-format on
// By hand again:
