# A synchronisation that the program spells out is a note, and a warning where it is repeated; inside ExpectNoSync an error.
# RUN: %status 3 %sim --report=%t.txt -- %python %s
# RUN: %file_check < %t.txt
import time

import devsan
import torch

stream, event = torch.cuda.Stream(1), torch.cuda.Event()
event.record(stream)
# CHECK-DAG: synchronize.test.py:[[#@LINE+1]]: note: the host waited for cuda:0 in cudaDeviceSynchronize, once [device-host-sync]
torch.cuda.synchronize()
# CHECK-DAG: synchronize.test.py:[[#@LINE+1]]: note: the host waited for cuda:1 in cudaDeviceSynchronize, once [device-host-sync]
torch.accelerator.synchronize(1)
# CHECK-DAG: synchronize.test.py:[[#@LINE+1]]: note: the host waited for cuda:1 in cudaStreamSynchronize, once [device-host-sync]
stream.synchronize()
# CHECK-DAG: synchronize.test.py:[[#@LINE+1]]: note: the host waited for cuda:1 in cudaEventSynchronize, once [device-host-sync]
event.synchronize()
for _ in range(3):  # not asynchronous, and no monotonic or chronological order is measured
    # CHECK-DAG: synchronize.test.py:[[#@LINE+1]]: warning: the host waited for cuda:0 in cudaStreamSynchronize, 3 times [device-host-sync]
    torch.cuda.current_stream().synchronize()
# Times are measured by waiting.
for _ in range(3):
    begin = time.perf_counter()
    # CHECK-DAG: synchronize.test.py:[[#@LINE+1]]: note: the host waited for cuda:0 in cudaDeviceSynchronize, 3 times [device-host-sync]
    torch.cuda.synchronize()
    taken = time.perf_counter() - begin
with devsan.allow_sync():
    torch.cuda.synchronize()
with devsan.expect_no_sync():
    # CHECK-DAG: synchronize.test.py:[[#@LINE+1]]: error: the host waited for cuda:0 in cudaDeviceSynchronize where waiting is disallowed, once [device-host-sync]
    torch.cuda.synchronize()
# CHECK-DAG: 7 findings
