#pragma once
#include "cuda_runtime_api.h"

// OpenGL's GLuint and GLenum are `unsigned int`.
#ifdef __cplusplus
extern "C" {
#endif
enum cudaGLDeviceList { cudaGLDeviceListAll = 1, cudaGLDeviceListCurrentFrame = 2, cudaGLDeviceListNextFrame = 3 };
cudaError_t cudaGLGetDevices(unsigned int *count, int *devices, unsigned int size, enum cudaGLDeviceList list);
cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource, unsigned int buffer, unsigned int flags);
cudaError_t cudaGraphicsGLRegisterImage(struct cudaGraphicsResource **resource, unsigned int image, unsigned int target, unsigned int flags);
#ifdef __cplusplus
}
#endif
