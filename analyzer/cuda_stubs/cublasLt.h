#pragma once
#include "cublas_v2.h"
#include <stdio.h>

// Written by script/update-cuda-stubs:
// clang-format off
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct { uint64_t data[8]; } cublasLtMatrixLayoutOpaque_t;
typedef cublasLtMatrixLayoutOpaque_t *cublasLtMatrixLayout_t;
typedef struct { uint64_t data[8]; } cublasLtMatmulAlgo_t;
typedef struct { uint64_t data[32]; } cublasLtMatmulDescOpaque_t;
typedef cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;
typedef struct { uint64_t data[8]; } cublasLtMatrixTransformDescOpaque_t;
typedef cublasLtMatrixTransformDescOpaque_t *cublasLtMatrixTransformDesc_t;
typedef struct { uint64_t data[8]; } cublasLtMatmulPreferenceOpaque_t;
typedef cublasLtMatmulPreferenceOpaque_t *cublasLtMatmulPreference_t;
typedef struct { uint64_t data[8]; } cublasLtEmulationDescOpaque_t;
typedef cublasLtEmulationDescOpaque_t *cublasLtEmulationDesc_t;
typedef enum { CUBLASLT_MATMUL_TILE_UNDEFINED = 0, CUBLASLT_MATMUL_TILE_8x8 = 1, CUBLASLT_MATMUL_TILE_8x16 = 2, CUBLASLT_MATMUL_TILE_16x8 = 3, CUBLASLT_MATMUL_TILE_8x32 = 4, CUBLASLT_MATMUL_TILE_16x16 = 5, CUBLASLT_MATMUL_TILE_32x8 = 6, CUBLASLT_MATMUL_TILE_8x64 = 7, CUBLASLT_MATMUL_TILE_16x32 = 8, CUBLASLT_MATMUL_TILE_32x16 = 9, CUBLASLT_MATMUL_TILE_64x8 = 10, CUBLASLT_MATMUL_TILE_32x32 = 11, CUBLASLT_MATMUL_TILE_32x64 = 12, CUBLASLT_MATMUL_TILE_64x32 = 13, CUBLASLT_MATMUL_TILE_32x128 = 14, CUBLASLT_MATMUL_TILE_64x64 = 15, CUBLASLT_MATMUL_TILE_128x32 = 16, CUBLASLT_MATMUL_TILE_64x128 = 17, CUBLASLT_MATMUL_TILE_128x64 = 18, CUBLASLT_MATMUL_TILE_64x256 = 19, CUBLASLT_MATMUL_TILE_128x128 = 20, CUBLASLT_MATMUL_TILE_256x64 = 21, CUBLASLT_MATMUL_TILE_64x512 = 22, CUBLASLT_MATMUL_TILE_128x256 = 23, CUBLASLT_MATMUL_TILE_256x128 = 24, CUBLASLT_MATMUL_TILE_512x64 = 25, CUBLASLT_MATMUL_TILE_32x256 = 34, CUBLASLT_MATMUL_TILE_256x32 = 35, CUBLASLT_MATMUL_TILE_8x128 = 36, CUBLASLT_MATMUL_TILE_8x256 = 38, CUBLASLT_MATMUL_TILE_8x512 = 42, CUBLASLT_MATMUL_TILE_16x64 = 47, CUBLASLT_MATMUL_TILE_16x128 = 48, CUBLASLT_MATMUL_TILE_16x256 = 50, CUBLASLT_MATMUL_TILE_16x512 = 54, CUBLASLT_MATMUL_TILE_32x512 = 75, CUBLASLT_MATMUL_TILE_64x16 = 312, CUBLASLT_MATMUL_TILE_128x8 = 393, CUBLASLT_MATMUL_TILE_128x16 = 394, CUBLASLT_MATMUL_TILE_128x512 = 447, CUBLASLT_MATMUL_TILE_256x8 = 486, CUBLASLT_MATMUL_TILE_256x16 = 487, CUBLASLT_MATMUL_TILE_256x256 = 513, CUBLASLT_MATMUL_TILE_512x8 = 573, CUBLASLT_MATMUL_TILE_512x16 = 574, CUBLASLT_MATMUL_TILE_512x32 = 576, CUBLASLT_MATMUL_TILE_512x128 = 587, CUBLASLT_MATMUL_TILE_256x512 = 631, CUBLASLT_MATMUL_TILE_256x1024 = 632, CUBLASLT_MATMUL_TILE_512x512 = 633, CUBLASLT_MATMUL_TILE_512x1024 = 634, CUBLASLT_MATMUL_TILE_END = 635 } cublasLtMatmulTile_t;
typedef enum { CUBLASLT_MATMUL_STAGES_UNDEFINED = 0, CUBLASLT_MATMUL_STAGES_16x1 = 1, CUBLASLT_MATMUL_STAGES_16x2 = 2, CUBLASLT_MATMUL_STAGES_16x3 = 3, CUBLASLT_MATMUL_STAGES_16x4 = 4, CUBLASLT_MATMUL_STAGES_16x5 = 5, CUBLASLT_MATMUL_STAGES_16x6 = 6, CUBLASLT_MATMUL_STAGES_32x1 = 7, CUBLASLT_MATMUL_STAGES_32x2 = 8, CUBLASLT_MATMUL_STAGES_32x3 = 9, CUBLASLT_MATMUL_STAGES_32x4 = 10, CUBLASLT_MATMUL_STAGES_32x5 = 11, CUBLASLT_MATMUL_STAGES_32x6 = 12, CUBLASLT_MATMUL_STAGES_64x1 = 13, CUBLASLT_MATMUL_STAGES_64x2 = 14, CUBLASLT_MATMUL_STAGES_64x3 = 15, CUBLASLT_MATMUL_STAGES_64x4 = 16, CUBLASLT_MATMUL_STAGES_64x5 = 17, CUBLASLT_MATMUL_STAGES_64x6 = 18, CUBLASLT_MATMUL_STAGES_128x1 = 19, CUBLASLT_MATMUL_STAGES_128x2 = 20, CUBLASLT_MATMUL_STAGES_128x3 = 21, CUBLASLT_MATMUL_STAGES_128x4 = 22, CUBLASLT_MATMUL_STAGES_128x5 = 23, CUBLASLT_MATMUL_STAGES_128x6 = 24, CUBLASLT_MATMUL_STAGES_32x10 = 25, CUBLASLT_MATMUL_STAGES_8x4 = 26, CUBLASLT_MATMUL_STAGES_16x10 = 27, CUBLASLT_MATMUL_STAGES_8x5 = 28, CUBLASLT_MATMUL_STAGES_8x3 = 31, CUBLASLT_MATMUL_STAGES_8xAUTO = 32, CUBLASLT_MATMUL_STAGES_16xAUTO = 33, CUBLASLT_MATMUL_STAGES_32xAUTO = 34, CUBLASLT_MATMUL_STAGES_64xAUTO = 35, CUBLASLT_MATMUL_STAGES_128xAUTO = 36, CUBLASLT_MATMUL_STAGES_256xAUTO = 37, CUBLASLT_MATMUL_STAGES_768xAUTO = 38, CUBLASLT_MATMUL_STAGES_END = 39 } cublasLtMatmulStages_t;
typedef enum { CUBLASLT_CLUSTER_SHAPE_AUTO = 0, CUBLASLT_CLUSTER_SHAPE_1x1x1 = 2, CUBLASLT_CLUSTER_SHAPE_2x1x1 = 3, CUBLASLT_CLUSTER_SHAPE_4x1x1 = 4, CUBLASLT_CLUSTER_SHAPE_1x2x1 = 5, CUBLASLT_CLUSTER_SHAPE_2x2x1 = 6, CUBLASLT_CLUSTER_SHAPE_4x2x1 = 7, CUBLASLT_CLUSTER_SHAPE_1x4x1 = 8, CUBLASLT_CLUSTER_SHAPE_2x4x1 = 9, CUBLASLT_CLUSTER_SHAPE_4x4x1 = 10, CUBLASLT_CLUSTER_SHAPE_8x1x1 = 11, CUBLASLT_CLUSTER_SHAPE_1x8x1 = 12, CUBLASLT_CLUSTER_SHAPE_8x2x1 = 13, CUBLASLT_CLUSTER_SHAPE_2x8x1 = 14, CUBLASLT_CLUSTER_SHAPE_16x1x1 = 15, CUBLASLT_CLUSTER_SHAPE_1x16x1 = 16, CUBLASLT_CLUSTER_SHAPE_END = 52 } cublasLtClusterShape_t;
typedef enum { CUBLASLT_MATMUL_INNER_SHAPE_UNDEFINED = 0, CUBLASLT_MATMUL_INNER_SHAPE_MMA884 = 1, CUBLASLT_MATMUL_INNER_SHAPE_MMA1684 = 2, CUBLASLT_MATMUL_INNER_SHAPE_MMA1688 = 3, CUBLASLT_MATMUL_INNER_SHAPE_MMA16816 = 4, CUBLASLT_MATMUL_INNER_SHAPE_END = 5 } cublasLtMatmulInnerShape_t;
typedef enum { CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F = 0, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3 = 1, CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 = 2, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F = 3, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F = 4, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F = 5, CUBLASLT_MATMUL_MATRIX_SCALE_END = 6 } cublasLtMatmulMatrixScale_t;
typedef enum { CUBLASLT_POINTER_MODE_HOST = 0, CUBLASLT_POINTER_MODE_DEVICE = 1, CUBLASLT_POINTER_MODE_DEVICE_VECTOR = 2, CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO = 3, CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST = 4 } cublasLtPointerMode_t;
typedef enum { CUBLASLT_POINTER_MODE_MASK_HOST = 1, CUBLASLT_POINTER_MODE_MASK_DEVICE = 2, CUBLASLT_POINTER_MODE_MASK_DEVICE_VECTOR = 4, CUBLASLT_POINTER_MODE_MASK_ALPHA_DEVICE_VECTOR_BETA_ZERO = 8, CUBLASLT_POINTER_MODE_MASK_ALPHA_DEVICE_VECTOR_BETA_HOST = 16 } cublasLtPointerModeMask_t;
typedef uint64_t cublasLtNumericalImplFlags_t;
typedef enum { CUBLASLT_ORDER_COL = 0, CUBLASLT_ORDER_ROW = 1, CUBLASLT_ORDER_COL32 = 2, CUBLASLT_ORDER_COL4_4R2_8C = 3, CUBLASLT_ORDER_COL32_2R_4R4 = 4 } cublasLtOrder_t;
typedef enum { CUBLASLT_BATCH_MODE_STRIDED = 0, CUBLASLT_BATCH_MODE_POINTER_ARRAY = 1 } cublasLtBatchMode_t;
typedef enum { CUBLASLT_MATRIX_LAYOUT_TYPE = 0, CUBLASLT_MATRIX_LAYOUT_ORDER = 1, CUBLASLT_MATRIX_LAYOUT_ROWS = 2, CUBLASLT_MATRIX_LAYOUT_COLS = 3, CUBLASLT_MATRIX_LAYOUT_LD = 4, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET = 7, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE = 8 } cublasLtMatrixLayoutAttribute_t;
typedef enum { CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0, CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1, CUBLASLT_MATMUL_DESC_POINTER_MODE = 2, CUBLASLT_MATMUL_DESC_TRANSA = 3, CUBLASLT_MATMUL_DESC_TRANSB = 4, CUBLASLT_MATMUL_DESC_TRANSC = 5, CUBLASLT_MATMUL_DESC_FILL_MODE = 6, CUBLASLT_MATMUL_DESC_EPILOGUE = 7, CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE = 10, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE = 13, CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE = 14, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET = 15, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER = 19, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER = 20, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER = 21, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE = 22, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER = 23, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER = 24, CUBLASLT_MATMUL_DESC_FAST_ACCUM = 25, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26, CUBLASLT_MATMUL_DESC_A_SCALE_MODE = 31, CUBLASLT_MATMUL_DESC_B_SCALE_MODE = 32, CUBLASLT_MATMUL_DESC_C_SCALE_MODE = 33, CUBLASLT_MATMUL_DESC_D_SCALE_MODE = 34, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE = 35, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER = 36, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE = 37, CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR = 38 } cublasLtMatmulDescAttributes_t;
typedef enum { CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE = 0, CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE = 1, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA = 2, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB = 3 } cublasLtMatrixTransformDescAttributes_t;
typedef enum { CUBLASLT_EMULATION_DESC_STRATEGY = 0, CUBLASLT_EMULATION_DESC_SPECIAL_VALUES_SUPPORT = 1, CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_CONTROL = 2, CUBLASLT_EMULATION_DESC_FIXEDPOINT_MAX_MANTISSA_BIT_COUNT = 3, CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_OFFSET = 4, CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_COUNT_POINTER = 5 } cublasLtEmulationDescAttributes_t;
typedef enum { CUBLASLT_REDUCTION_SCHEME_NONE = 0, CUBLASLT_REDUCTION_SCHEME_INPLACE = 1, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE = 4, CUBLASLT_REDUCTION_SCHEME_MASK = 7 } cublasLtReductionScheme_t;
typedef enum { CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_RELU = 2, CUBLASLT_EPILOGUE_RELU_AUX = 130, CUBLASLT_EPILOGUE_BIAS = 4, CUBLASLT_EPILOGUE_RELU_BIAS = 6, CUBLASLT_EPILOGUE_RELU_AUX_BIAS = 134, CUBLASLT_EPILOGUE_DRELU = 136, CUBLASLT_EPILOGUE_DRELU_BGRAD = 152, CUBLASLT_EPILOGUE_GELU = 32, CUBLASLT_EPILOGUE_GELU_AUX = 160, CUBLASLT_EPILOGUE_GELU_BIAS = 36, CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164, CUBLASLT_EPILOGUE_DGELU = 192, CUBLASLT_EPILOGUE_DGELU_BGRAD = 208, CUBLASLT_EPILOGUE_BGRADA = 256, CUBLASLT_EPILOGUE_BGRADB = 512 } cublasLtEpilogue_t;
typedef enum { CUBLASLT_SEARCH_BEST_FIT = 0, CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID = 1, CUBLASLT_SEARCH_RESERVED_02 = 2, CUBLASLT_SEARCH_RESERVED_03 = 3, CUBLASLT_SEARCH_RESERVED_04 = 4, CUBLASLT_SEARCH_RESERVED_05 = 5, CUBLASLT_SEARCH_RESERVED_06 = 6, CUBLASLT_SEARCH_RESERVED_07 = 7, CUBLASLT_SEARCH_RESERVED_08 = 8, CUBLASLT_SEARCH_RESERVED_09 = 9 } cublasLtMatmulSearch_t;
typedef enum { CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT = 9, CUBLASLT_MATMUL_PREF_IMPL_MASK = 12 } cublasLtMatmulPreferenceAttributes_t;
typedef struct { cublasLtMatmulAlgo_t algo; size_t workspaceSize; cublasStatus_t state; float wavesCount; int reserved[4]; } cublasLtMatmulHeuristicResult_t;
typedef enum { CUBLASLT_ALGO_CAP_SPLITK_SUPPORT = 0, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK = 1, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT = 2, CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT = 3, CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT = 4, CUBLASLT_ALGO_CAP_UPLO_SUPPORT = 5, CUBLASLT_ALGO_CAP_TILE_IDS = 6, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX = 7, CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER = 10, CUBLASLT_ALGO_CAP_POINTER_MODE_MASK = 11, CUBLASLT_ALGO_CAP_EPILOGUE_MASK = 12, CUBLASLT_ALGO_CAP_STAGES_IDS = 13, CUBLASLT_ALGO_CAP_LD_NEGATIVE = 14, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS = 15, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES = 16, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES = 17, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES = 18, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES = 19, CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT = 21, CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT = 22 } cublasLtMatmulAlgoCapAttributes_t;
typedef enum { CUBLASLT_ALGO_CONFIG_ID = 0, CUBLASLT_ALGO_CONFIG_TILE_ID = 1, CUBLASLT_ALGO_CONFIG_SPLITK_NUM = 2, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME = 3, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING = 4, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION = 5, CUBLASLT_ALGO_CONFIG_STAGES_ID = 6, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID = 7, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID = 8 } cublasLtMatmulAlgoConfigAttributes_t;
typedef void (*cublasLtLoggerCallback_t)(int, const char *, const char *);
#ifdef __cplusplus
extern "C" {
#endif
cublasStatus_t cublasLtCreate(cublasLtHandle_t *);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t);
const char *cublasLtGetStatusName(cublasStatus_t);
const char *cublasLtGetStatusString(cublasStatus_t);
size_t cublasLtGetVersion();
size_t cublasLtGetCudartVersion();
cublasStatus_t cublasLtGetProperty(libraryPropertyType, int *);
cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t *);
cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t);
unsigned int cublasLtDisableCpuInstructionsSetMask(unsigned int);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *, cublasLtMatrixLayout_t, const void *, cublasLtMatrixLayout_t, const void *, const void *, cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t);
cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t, cublasLtMatrixTransformDesc_t, const void *, const void *, cublasLtMatrixLayout_t, const void *, const void *, cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t, cudaStream_t);
cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t, cudaDataType, uint64_t, uint64_t, int64_t);
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *, cudaDataType, uint64_t, uint64_t, int64_t);
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t);
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, const void *, size_t);
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, void *, size_t, size_t *);
cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t, cublasComputeType_t, cudaDataType_t);
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType_t);
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *, size_t);
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, void *, size_t, size_t *);
cublasStatus_t cublasLtMatrixTransformDescInit(cublasLtMatrixTransformDesc_t, cudaDataType);
cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t *, cudaDataType);
cublasStatus_t cublasLtMatrixTransformDescDestroy(cublasLtMatrixTransformDesc_t);
cublasStatus_t cublasLtMatrixTransformDescSetAttribute(cublasLtMatrixTransformDesc_t, cublasLtMatrixTransformDescAttributes_t, const void *, size_t);
cublasStatus_t cublasLtMatrixTransformDescGetAttribute(cublasLtMatrixTransformDesc_t, cublasLtMatrixTransformDescAttributes_t, void *, size_t, size_t *);
cublasStatus_t cublasLtEmulationDescInit(cublasLtEmulationDesc_t);
cublasStatus_t cublasLtEmulationDescCreate(cublasLtEmulationDesc_t *);
cublasStatus_t cublasLtEmulationDescDestroy(cublasLtEmulationDesc_t);
cublasStatus_t cublasLtEmulationDescSetAttribute(cublasLtEmulationDesc_t, cublasLtEmulationDescAttributes_t, const void *, size_t);
cublasStatus_t cublasLtEmulationDescGetAttribute(cublasLtEmulationDesc_t, cublasLtEmulationDescAttributes_t, void *, size_t, size_t *);
cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t);
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *);
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void *, size_t);
cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, void *, size_t, size_t *);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *, int *);
cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t, int, int *, int *);
cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t, int, cublasLtMatmulAlgo_t *);
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *, cublasLtMatmulHeuristicResult_t *);
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *, cublasLtMatmulAlgoCapAttributes_t, void *, size_t, size_t *);
cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *, cublasLtMatmulAlgoConfigAttributes_t, const void *, size_t);
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *, cublasLtMatmulAlgoConfigAttributes_t, void *, size_t, size_t *);
#ifdef __cplusplus
}
#endif
// clang-format on
// By hand again:
