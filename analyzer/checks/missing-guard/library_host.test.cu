// What cuBLAS and kin do on the host alone needs no guard, nor does work through a handle that was made under one.
// RUN: rm -rf %t && split-file %s %t
// RUN: not %devsan_check --checks=device-missing-guard --torch=none --no-cache --alone %t/x.cu -- -isystem %t/toolkit -isystem %mock -isystem %cuda_stubs | FileCheck %s --implicit-check-not=': error:'

//--- toolkit/more.h
#include <cublas_v2.h>
extern "C" {
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;
typedef struct { int algorithm; } cublasLtMatmulHeuristicResult_t;
cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, int count, cublasLtMatmulHeuristicResult_t *results, int *found);
typedef struct cudnnContext *cudnnHandle_t;
int cudnnCreate(cudnnHandle_t *handle);
int cudnnGetRNNLinLayerMatrixParams(cudnnHandle_t handle, const void *weights, void **matrix);
typedef struct cusolverDnContext *cusolverDnHandle_t;
int cusolverDnCreate(cusolverDnHandle_t *handle);
int cusolverDnSgetrf_bufferSize(cusolverDnHandle_t handle, int m, int n, float *a, int lda, int *size);
int cusolverDnSgetrf(cusolverDnHandle_t handle, int m, int n, float *a, int lda, float *workspace, int *pivots, int *info);
}

//--- x.cu
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>
#include <more.h>

void onHost(at::Tensor a, int *found, int *size, cublasLtMatmulDesc_t desc, cublasLtMatmulHeuristicResult_t *results) {
  cublasHandle_t handle;
  cublasCreate(&handle);
  cublasSetWorkspace(handle, a.data_ptr(), a.nbytes());
  cublasLtHandle_t lt;
  cublasLtCreate(&lt);
  cublasLtMatmulAlgoGetHeuristic(lt, desc, 1, results, found);
  cudnnHandle_t nn;
  cudnnCreate(&nn);
  void **matrix = nullptr;
  cudnnGetRNNLinLayerMatrixParams(nn, a.data_ptr(), matrix);
  cusolverDnHandle_t solver;
  cusolverDnCreate(&solver);
  cusolverDnSgetrf_bufferSize(solver, 2, 2, a.data_ptr<float>(), 2, size);
}

void madeUnderGuard(at::Tensor b, int *info) {
  cusolverDnHandle_t solver;
  {
    const c10::cuda::CUDAGuard guard(b.device());
    cusolverDnCreate(&solver);
  }
  cusolverDnSgetrf(solver, 2, 2, b.data_ptr<float>(), 2, nullptr, nullptr, info);
}

void made(at::Tensor c, int *info) {
  cusolverDnHandle_t solver;
  cusolverDnCreate(&solver);
  cusolverDnSgetrf(solver, 2, 2, c.data_ptr<float>(), 2, nullptr, nullptr, info);
  // CHECK: x.cu:[[#]]:3: error: {{.*}} 'c'
}

// Whose memory it is is not known.
void ofOther(at::Tensor d, float *memory, int *info) {
  cusolverDnHandle_t solver;
  cusolverDnCreate(&solver);
  cusolverDnSgetrf(solver, 2, 2, memory, 2, nullptr, nullptr, info);
}
