// Functions and types of CUDA's libraries, of today's releases and of older ones, are known without a toolkit.
// RUN: not %check_mock --strict --checks=device-bare-cuda | %file_check
#include <torch/torch.h>

#include <cublasLt.h>
#include <cublas_api.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cufftXt.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse_v2.h>
#include <nvToolsExt.h>
#include <thrust/system_error.h>

void random(float *values, size_t count, cudaStream_t stream) {
  curandGenerator_t generator;
  curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
  curandSetStream(generator, stream);
  curandSetPseudoRandomGeneratorSeed(generator, 1234ULL);
  if (curandGenerateUniform(generator, values, count) != CURAND_STATUS_SUCCESS)
    curandGenerateNormal(generator, values, count, 0.f, 1.f);
}

void products(cublasHandle_t handle, const void *a, const void *b, void *c, const float *const *batch, float *const *out) {
  const float one = 1, zero = 0;
  const cublasDataType_t type = CUDA_R_16F;
  cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, 8, 8, 8, &one, a, type, 8, b, type, 8, &zero, c, type, 8, CUBLAS_COMPUTE_32F,
               CUBLAS_GEMM_DEFAULT_TENSOR_OP);
  cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, 8, 8, 8, &one, a, type, 8, b, type, 8, &zero, c, type, 8, CUDA_R_32F,
               CUBLAS_GEMM_ALGO0);
  cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, batch, 8, batch, 8, &zero, out, 8, 4);
  cublasSscal(handle, 64, &one, out[0], 1);
  cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_NOT_ALLOWED);
}

void matmul(cublasLtHandle_t handle, const float *a, float *c, cudaStream_t stream) {
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t layout;
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t result = {};
  cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
  cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
  cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 8, 8, 8);
  cublasLtMatmulPreferenceCreate(&preference);
  int found = 0;
  cublasLtMatmulAlgoGetHeuristic(handle, operation, layout, layout, layout, layout, preference, 1, &result, &found);
  const float one = 1;
  cublasLtMatmul(handle, operation, &one, a, layout, a, layout, &one, c, layout, c, layout, &result.algo, nullptr, 0, stream);
}

void sparse(cusparseHandle_t handle, int *rows, int *columns, float *values, cusparseDnMatDescr_t dense) {
  cusparseSpMatDescr_t matrix;
  const float one = 1;
  size_t bytes = 0;
  cusparseCreateCsr(&matrix, 8, 8, 16, rows, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                    CUDA_R_32F);
  cusparseSpMM_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, dense, &one,
                          dense, CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG1, &bytes);
  cusparseXcoo2csr(handle, rows, 16, 8, columns, CUSPARSE_INDEX_BASE_ZERO);
  cusparseMatDescr_t description;
  cusparseCreateMatDescr(&description);
  cusparseSetMatType(description, CUSPARSE_MATRIX_TYPE_GENERAL);
  cusparseScsrmm2(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE, 8, 8, 8, 16, &one, description, values,
                  rows, columns, values, 8, &one, values, 8);
}

void solve(cusolverDnHandle_t handle, float *a, int *info) {
  int size = 0;
  cusolverDnSpotrf_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, 8, a, 8, &size);
  cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, 8, a, 8, a, size, info);
  cusolverDnSsyevd_bufferSize(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, 8, a, 8, a, &size);
  syevjInfo_t parameters;
  cusolverDnCreateSyevjInfo(&parameters);
}

void transform(cufftHandle plan, cufftReal *in, cufftComplex *out) {
  size_t bytes = 0;
  cufftMakePlan2d(plan, 8, 8, CUFFT_R2C, &bytes);
  cufftEstimate1d(8, CUFFT_R2C, 1, &bytes);
  if (cufftExecR2C(plan, in, out) == CUFFT_PARSE_ERROR)
    cufftXtSetGPUs(plan, 1, nullptr);
}

void others(CUlinkState state, cudaGraph_t graph, cudaMemPool_t pool) {
  cuLinkAddData(state, CU_JIT_INPUT_PTX, nullptr, 0, "x", 0, nullptr, nullptr);
  cudaMemsetParams parameters = {};
  parameters.elementSize = sizeof(char);
  cudaGraphNode_t node;
  cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &parameters);
  cudaMemAccessDesc access = {};
  access.location.type = cudaMemLocationTypeDevice;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  cudaMemPoolSetAccess(pool, &access, 1);
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.colorType = NVTX_COLOR_ARGB;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "step";
  nvtxRangePushEx(&event);
  __nv_bfloat162_raw raw{1, 2};
  __nv_bfloat162 pair = raw;
  if (cudaGetLastError() != cudaSuccess)
    throw thrust::system_error(1, thrust::cuda_category(), "launch");
}

// CHECK: :[[@LINE+1]]:55: warning: {{.*}} [device-bare-cuda]
at::Tensor sum(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
