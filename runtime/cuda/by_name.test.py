# CUDA's functions that are asked for by name are seen too, of a library that is loaded for its caller alone.
# RUN: env CUDART=%cudart %status 0 %devsan run --report=%t.txt -- %python %s
# RUN: %file_check < %t.txt
import ctypes
import os

import torch

cudart = ctypes.CDLL(os.environ["CUDART"], mode=os.RTLD_LOCAL)
assert cudart.cudaSetDevice(0) == 0
host = torch.zeros(256)
memory = ctypes.c_void_p()
cudart.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(1024))
for _ in range(3):
    # CHECK-DAG: by_name.test.py:[[#@LINE+1]]: warning: the host waited for cuda:0 in cudaDeviceSynchronize, 3 times ({{.*}}) [device-host-sync]
    cudart.cudaDeviceSynchronize()
# CHECK-DAG: by_name.test.py:[[#@LINE+1]]: note: the host waited for cuda:0 in cudaMemcpy, once (1.0 KB cuda:0 → cpu, {{.*}}) [device-host-sync]
cudart.cudaMemcpy(ctypes.c_void_p(host.data_ptr()), memory, ctypes.c_size_t(1024), 2)
# CHECK-DAG: 2 findings
