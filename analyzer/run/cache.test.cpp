// Unchanged files answer from the cache; it counts content, flags and the headers that were read. What is damaged is made
// again, and what cannot be written does not matter.
// DEFINE: %{check} = env XDG_CACHE_HOME=%t/cache %devsan_check --checks=device-raw-set-device --torch=none
// DEFINE: %{flags} = -I %t/include -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t && mkdir -p %t/include %t/cache && cp %s %t/x.cpp && echo '#define DEVICE x.get_device()' > %t/include/device.h
// RUN: not %{check} %t/x.cpp -- %{flags} > %t/first
// RUN: FileCheck %s --input-file=%t/first
// RUN: not %{check} %t/x.cpp -- %{flags} > %t/second
// RUN: diff %t/first %t/second

// The second one has read it: what the entry says is believed, as long as its checksum fits.
// RUN: %python -c "import glob, sys; f = glob.glob(sys.argv[1])[0]; t = open(f).read(); assert t.startswith('devsan-result/1 ') and sys.argv[2] in t" "%t/cache/devsan/results/*" %t/include/device.h

// Another content of the header, of the file, or other flags are analysed again.
// RUN: echo '#define DEVICE' > %t/include/device.h
// RUN: %{check} %t/x.cpp -- %{flags} -DNOTHING
// RUN: not %{check} --strict %t/x.cpp -- %{flags} | FileCheck %s --check-prefix=HEADER
// HEADER: x.cpp: parsed in part; 1 error
// RUN: echo '#define DEVICE x.get_device()' > %t/include/device.h
// RUN: echo '// changed' >> %t/x.cpp
// RUN: not %{check} %t/x.cpp -- %{flags} | FileCheck %s

// A header that was missing and is there now.
// RUN: rm %t/include/device.h
// RUN: %{check} %t/x.cpp -- %{flags} | FileCheck %s --check-prefix=MISSING
// RUN: %{check} %t/x.cpp -- %{flags} | FileCheck %s --check-prefix=MISSING
// MISSING: parsed in part, not found: device.h
// RUN: echo '#define DEVICE x.get_device()' > %t/include/device.h
// RUN: not %{check} %t/x.cpp -- %{flags} | FileCheck %s

// Truncated, overwritten, emptied.
// RUN: %python %S/damage.py %t/cache/devsan/results
// RUN: not %{check} %t/x.cpp -- %{flags} | FileCheck %s
// RUN: not %{check} %t/x.cpp -- %{flags} | FileCheck %s

// Two at once; no cache at all; one that cannot be written.
// RUN: rm -rf %t/cache && mkdir %t/cache
// RUN: %python -c "import subprocess, sys; p = [subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE) for _ in range(4)]; o = [q.communicate()[0] for q in p]; sys.exit(not (len(set(o)) == 1 and all(q.returncode == 1 for q in p)))" %{check} %t/x.cpp -- %{flags}
// RUN: rm -rf %t/cache
// RUN: not %{check} --no-cache %t/x.cpp -- %{flags} | FileCheck %s
// RUN: not ls %t/cache
// RUN: not env XDG_CACHE_HOME=/dev/null %devsan_check --checks=device-raw-set-device --torch=none %t/x.cpp -- %{flags} | FileCheck %s
// RUN: not env -u XDG_CACHE_HOME HOME=/proc/none %devsan_check --checks=device-raw-set-device --torch=none %t/x.cpp -- %{flags} | FileCheck %s
#include <c10/cuda/CUDAFunctions.h>
#include <device.h>
#include <torch/torch.h>

#ifndef NOTHING
void choose(at::Tensor x) {
#ifdef DEVICE
  cudaSetDevice(DEVICE);
  // CHECK: x.cpp:[[#@LINE-1]]:3: warning: {{.*}}[device-raw-set-device]
#endif
}
#endif
