"""The stand-in as `devsan run --sim=N` gives it to a CUDA build of LibTorch: its functions, called by name in a process of
their own for each test.

usage: simulated_test.py FOLDER [unittest's arguments]"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

FOLDER = sys.argv[1]

PRELUDE = """
import ctypes, os
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
driver = ctypes.CDLL(os.path.join({folder!r}, "libcuda.so.1"), ctypes.RTLD_GLOBAL)
cuda = ctypes.CDLL(os.path.join({folder!r}, "13/libcudart.so.13"), ctypes.RTLD_GLOBAL)
cuda.cudaGetErrorString.restype = cuda.cudaGetErrorName.restype = c_char_p
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3
def malloc(size):
    memory = c_void_p()
    assert cuda.cudaMalloc(byref(memory), c_size_t(size)) == 0
    return memory.value
def copy(to, source, size, kind):
    return cuda.cudaMemcpy(c_void_p(to), c_void_p(source), c_size_t(size), kind)
def free_bytes():
    free, total = c_size_t(), c_size_t()
    assert cuda.cudaMemGetInfo(byref(free), byref(total)) == 0
    return free.value, total.value
"""

# Kernels, as compiled code registers and launches them.
KERNELS = """
class Dim(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]
ONE = Dim(1, 1, 1)
class Launch(ctypes.Structure):
    _fields_ = [("kernel", c_char_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", c_size_t),
                ("device", c_int), ("stream", c_void_p), ("arguments", ctypes.POINTER(c_void_p)),
                ("reach", ctypes.CFUNCTYPE(c_void_p, c_void_p))]
def kernel(name):
    function = ctypes.create_string_buffer(8)
    kept.append((function, name))
    getattr(cuda, "__cudaRegisterFunction")(None, function, None, c_char_p(name), 0, None, None, None, None, None)
    return function
def pointers(*values):
    kept.append(values)
    return (c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
kept = [ctypes.CDLL("libstdc++.so.6")]
"""


# What CUDA 12 and 13 write through the pointers that their functions get, in bytes, beside canaries.
OUTPUTS = """
VERSION = {version}
cuda = ctypes.CDLL(os.path.join({folder!r}, "{version}/libcudart.so.{version}"), ctypes.RTLD_GLOBAL)
CANARY = 256 * b"\\xa5"
class Output:
    def __init__(self, size):
        self.size, self.memory = size, ctypes.create_string_buffer(CANARY + size * b"\\xa5" + CANARY)
        self._as_parameter_ = c_void_p(ctypes.addressof(self.memory) + len(CANARY))
    def is_whole(self):
        return self.memory.raw.startswith(CANARY) and self.memory.raw[len(CANARY) + self.size:-1] == CANARY
class Triple(ctypes.Structure):
    _fields_ = [("values", c_size_t * 3)]
class Ipc(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 64)]
out, size = Output, c_size_t
memory, stream, event, context = c_void_p(malloc(64)), c_void_p(), c_void_p(), c_void_p()
assert cuda.cudaStreamCreate(byref(stream)) == cuda.cudaEventCreate(byref(event)) == 0
assert cuda.cudaEventRecord(event, stream) == 0 and driver.cuCtxGetCurrent(byref(context)) == 0
format, kernel, handle = (c_int * 16)(8, 8), ctypes.create_string_buffer(8), Ipc()
array, pool, pinned, object = c_void_p(), c_void_p(), c_void_p(), ctypes.c_ulonglong()
assert cuda.cudaMallocArray(byref(array), format, size(2), size(2), 0) == 0 and cuda.cudaMallocHost(byref(pinned), size(8)) == 0
assert cuda.cudaDeviceGetDefaultMemPool(byref(pool), 0) == 0
resource, room = (c_void_p * 32)(0, array.value), ctypes.create_string_buffer(256)
assert cuda.cudaCreateTextureObject(byref(object), resource, room, room) == 0
name, bus = c_char_p(b"cuInit"), c_char_p(b"0000:01:00.0")
POINTER, INT, LONG = 8, 4, 8
CALLS = {{
    "cudaGetFuncBySymbol": [(out(POINTER), kernel)],
    "cudaGetDeviceCount": [(out(INT),)],
    "cudaGetDevice": [(out(INT),)],
    "cudaDriverGetVersion": [(out(INT),)],
    "cudaRuntimeGetVersion": [(out(INT),)],
    "cudaPointerGetAttributes": [(out(24 if VERSION == 12 else 88), memory), (out(24 if VERSION == 12 else 88), format)],
    "cudaMemGetInfo": [(out(LONG), out(LONG))],
    "cudaMalloc": [(out(POINTER), size(8)), (out(POINTER), size(0))],
    "cudaMallocManaged": [(out(POINTER), size(8), 1)],
    "cudaMallocPitch": [(out(POINTER), out(LONG), size(8), size(2))],
    "cudaMalloc3D": [(out(32), Triple((8, 2, 2)))],
    "cudaMallocArray": [(out(POINTER), format, size(2), size(2), 0)],
    "cudaMalloc3DArray": [(out(POINTER), format, Triple((2, 2, 2)), 0)],
    "cudaMallocMipmappedArray": [(out(POINTER), format, Triple((2, 2, 2)), 1, 0)],
    "cudaMallocAsync": [(out(POINTER), size(8), stream)],
    "cudaMallocFromPoolAsync": [(out(POINTER), size(8), pool, stream)],
    "cudaMallocHost": [(out(POINTER), size(8))],
    "cudaHostAlloc": [(out(POINTER), size(8), 0)],
    "cudaStreamCreate": [(out(POINTER),)],
    "cudaStreamCreateWithFlags": [(out(POINTER), 1)],
    "cudaStreamCreateWithPriority": [(out(POINTER), 1, -1)],
    "cudaEventCreate": [(out(POINTER),)],
    "cudaEventCreateWithFlags": [(out(POINTER), 2)],
    "cudaEventElapsedTime": [(out(4), event, event)],
    "cudaIpcGetMemHandle": [(out(64), memory)],
    "cudaIpcOpenMemHandle": [(out(POINTER), handle, 1)],
    "cudaIpcGetEventHandle": [(out(64), event)],
    "cudaIpcOpenEventHandle": [(out(POINTER), handle)],
    "cudaGetDriverEntryPointByVersion": [(name, out(POINTER), 12000, LONGLONG(0), out(INT))],
    "cudaGetDriverEntryPoint": [(name, out(POINTER), LONGLONG(0), out(INT))],
    "cudaGetDeviceProperties": [(out(1032 if VERSION == 12 else 1008), 0)],
    "cudaGetDeviceProperties_v2": [(out(1032 if VERSION == 12 else 1008), 0)],
    "cudaDeviceGetAttribute": [(out(INT), attribute, 0) for attribute in range(1, 150)],
    "cudaDeviceGetStreamPriorityRange": [(out(INT), out(INT))],
    "cudaDeviceCanAccessPeer": [(out(INT), 0, 1)],
    "cudaDeviceGetPCIBusId": [(out(length), length, 0) for length in (1, 5, 13, 32)],
    "cudaDeviceGetDefaultMemPool": [(out(POINTER), 0)],
    "cudaMemPoolGetAttribute": [(pool, attribute, out(LONG if attribute in (4, 5, 6, 7, 8, 13) else INT))
                                for attribute in range(1, 16)],
    "cudaFuncGetAttributes": [(out(144), kernel)],
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor": [(out(INT), kernel, 32, size(0))],
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": [(out(INT), kernel, 32, size(0), 0)],
    "cudaStreamIsCapturing": [(stream, out(INT))],
    "cudaStreamGetCaptureInfo": [(stream, out(INT), out(LONG), *([out(0)] * 4 if VERSION == 12 else
                                  [out(POINTER), out(POINTER), out(POINTER), out(LONG)]))],
    "cudaStreamGetCaptureInfo_v2": [(stream, out(INT), out(LONG), out(POINTER), out(POINTER), out(LONG))],
    "cudaStreamGetCaptureInfo_v3": [(stream, out(INT), out(LONG), out(POINTER), out(POINTER), out(POINTER), out(LONG))] * (VERSION == 12),
    "cudaThreadExchangeStreamCaptureMode": [(out(INT),)],
    "cudaStreamGetPriority": [(stream, out(INT))],
    "cudaGetSymbolAddress": [(out(POINTER), kernel)],
    "__cudaGetKernel": [(out(POINTER), kernel)],
    "__cudaPopCallConfiguration": [(out(12), out(12), out(LONG), out(POINTER))],
    "cudaArrayGetInfo": [(out(20), out(24), out(INT), array)],
    "cudaGetChannelDesc": [(out(20), array)],
    "cudaCreateTextureObject": [(out(LONG), resource, room, None)],
    "cudaCreateSurfaceObject": [(out(LONG), resource)],
    "cudaGetTextureObjectResourceDesc": [(out(64 if VERSION == 12 else 144), object)],
    "cudaGetTextureObjectTextureDesc": [(out(72), object)],
    "cudaGetTextureObjectResourceViewDesc": [(out(48 if VERSION == 12 else 112), object)],
    "cudaGetSurfaceObjectResourceDesc": [(out(0), object)],
    "cudaDeviceGetMemPool": [(out(POINTER), 0)],
    "cudaMemPoolCreate": [(out(POINTER), (c_int * 32)(1, 0, 1, 0))],
    "cudaMemPoolGetAccess": [(out(INT), pool, (c_int * 2)(1, 0))],
    "cudaDeviceGetLimit": [(out(LONG), limit) for limit in range(8)],
    "cudaThreadGetLimit": [(out(LONG), limit) for limit in range(8)],
    "cudaDeviceGetCacheConfig": [(out(INT),)],
    "cudaThreadGetCacheConfig": [(out(INT),)],
    "cudaDeviceGetSharedMemConfig": [(out(INT),)],
    "cudaGetDeviceFlags": [(out(INT),)],
    "cudaChooseDevice": [(out(INT), room)],
    "cudaDeviceGetByPCIBusId": [(out(INT), bus)],
    "cudaDeviceGetP2PAttribute": [(out(INT), 1, 0, 1)],
    "cudaStreamGetFlags": [(stream, out(INT))],
    "cudaStreamGetDevice": [(stream, out(INT))],
    "cudaStreamGetId": [(stream, out(LONG))],
    "cudaStreamGetAttribute": [(stream, attribute, out(64)) for attribute in range(16)],
    "cudaEventElapsedTime_v2": [(out(4), event, event)],
    "cudaHostGetDevicePointer": [(out(POINTER), pinned, 0)],
    "cudaHostGetFlags": [(out(INT), pinned)],
    "cudaFuncGetName": [(out(POINTER), kernel)],
    "cudaFuncGetParamInfo": [(kernel, size(0), out(LONG), out(LONG))],
    "cudaGetKernel": [(out(POINTER), kernel)],
    "cudaGetSymbolSize": [(out(LONG), kernel)],
    "cudaOccupancyAvailableDynamicSMemPerBlock": [(out(LONG), kernel, 2, 32)],
    "cuStreamGetDevice": [(stream, out(INT))],
    "cuStreamGetFlags": [(stream, out(INT))],
    "cuDevicePrimaryCtxRetain": [(out(POINTER), 0)],
    "cuDevicePrimaryCtxGetState": [(0, out(INT), out(INT))],
    "cuCtxCreate_v2": [(out(POINTER), 0, 0)],
    "cuCtxCreate_v3": [(out(POINTER), None, 0, 0, 0)],
    "cuCtxCreate_v4": [(out(POINTER), None, 0, 0)],
    "cuCtxGetCurrent": [(out(POINTER),)],
    "cuCtxPopCurrent_v2": [(out(POINTER),)],
    "cuCtxGetDevice": [(out(INT),)],
    "cuDeviceGetUuid": [(out(16), 0)],
    "cuDeviceGetUuid_v2": [(out(16), 0)],
    "cuDeviceTotalMem_v2": [(out(LONG), 0)],
    "cuDriverGetVersion": [(out(INT),)],
    "cuDeviceGetCount": [(out(INT),)],
    "cuDeviceGet": [(out(INT), 0)],
    "cuDeviceGetAttribute": [(out(INT), attribute, 0) for attribute in range(1, 150)],
    "cuFuncGetParamInfo": [(kernel, size(0), out(LONG), out(LONG))],
    "cuKernelGetParamInfo": [(kernel, size(0), out(LONG), out(LONG))],
    "cuGetExportTable": [(out(POINTER), handle)],
    "cuGetErrorName": [(0, out(POINTER))],
    "cuGetErrorString": [(0, out(POINTER))],
    "cuGetProcAddress_v2": [(name, out(POINTER), 12000, LONGLONG(0), out(INT))],
    "cuGetProcAddress": [(name, out(POINTER), 12000, LONGLONG(0))],
    "cuPointerGetAttribute": [(out(INT), attribute, memory) for attribute in (2, 8, 9)],
    "cuMemGetInfo_v2": [(out(LONG), out(LONG))],
    "cuMemAlloc_v2": [(out(LONG), size(8))],
    "cuMemAllocAsync": [(out(LONG), size(8), stream)],
    "cuMemAllocManaged": [(out(LONG), size(8), 1)],
    "cuMemAllocHost_v2": [(out(POINTER), size(8))],
    "cuMemHostAlloc": [(out(POINTER), size(8), 0)],
    "cuIpcGetMemHandle": [(out(64), memory)],
    "cuIpcOpenMemHandle_v2": [(out(LONG), handle, 1)],
    "cuIpcGetEventHandle": [(out(64), event)],
    "cuIpcOpenEventHandle": [(out(POINTER), handle)],
    "cuStreamCreate": [(out(POINTER), 0)],
    "cuStreamCreateWithPriority": [(out(POINTER), 0, -1)],
    "cuStreamGetPriority": [(stream, out(INT))],
    "cuEventCreate": [(out(POINTER), 0)],
    "cuEventElapsedTime": [(out(4), event, event)],
}}
missing = set(WRITERS) - set(CALLS)
assert not missing, f"their outputs are not tried: {{missing}}"
for function, calls in CALLS.items():
    for arguments in calls:
        driver.cuCtxSetCurrent(context)
        getattr(cuda if "cuda" in function else driver, function)(*arguments)
        torn = [argument.size for argument in arguments if isinstance(argument, Output) and not argument.is_whole()]
        assert not torn, f"{{function}} writes more than {{torn}} bytes"
"""

STANDIN = Path(__file__).resolve().parent.parent / "standin"


def functions_that_write():
    """Those of the stand-ins' sources that have an output."""
    names = []
    for file in [*(STANDIN / f"{name}.c" for name in ("arrays", "pools", "program", "runtime", "settings")),
                 *sorted(STANDIN.glob("driver/*.c"))]:
        for name, parameters in re.findall(r"^(?:int|char|unsigned) (\w*cu\w+)\(([^;{]*)\) {", file.read_text(), re.M):
            for parameter in re.split(r",\s*", parameters.replace("const void **", "void **")):
                if re.fullmatch(r"(?!const )[\w ]+ \*+\w+", parameter) and not re.fullmatch(
                        r"void (\*(?!out|value|table|stream$)\w+|\*stream|\*\*(arguments|packed|handle))", parameter):
                    names.append(name)
    return sorted(set(names) - {"cudaMemcpyBatchAsync", "cudaSetDoubleForDevice", "cudaSetDoubleForHost"})


class Simulated(unittest.TestCase):
    def run_text(self, text, status=0, errors=False, **environment):
        base = {"DEVSAN_SIM_DEVICES": "3", "DEVSAN_SIM_PROTECT": "on", "DEVSAN_SIM_MEMORY": str(64 << 20)}
        result = subprocess.run([sys.executable, "-c", PRELUDE.format(folder=FOLDER) + "\n".join(map(textwrap.dedent, text.partition(KERNELS)))],
                                env={"PATH": os.environ["PATH"]} | base | environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stderr if errors else result.stdout

    def test_memory_is_limited_and_comes_back(self):
        self.run_text("""
            assert cuda.cudaSetDevice(1) == 0
            assert free_bytes() == (64 << 20, 64 << 20)
            first = malloc(40 << 20)
            assert free_bytes()[0] == 24 << 20
            memory = c_void_p()
            assert cuda.cudaMalloc(byref(memory), c_size_t(25 << 20)) == 2
            assert cuda.cudaGetLastError() == 2 and cuda.cudaGetErrorString(2) == b"out of memory"
            assert cuda.cudaSetDevice(0) == 0 and free_bytes()[0] == 64 << 20
            assert cuda.cudaFree(c_void_p(first + 1)) == 1, "no allocation begins there"
            assert cuda.cudaFree(c_void_p(first)) == 0
            assert cuda.cudaSetDevice(1) == 0 and free_bytes()[0] == 64 << 20
            assert malloc(25 << 20) == first, "the first gap that is large enough"
            """)

    def test_memory_is_reached_by_copies_and_not_by_the_host(self):
        self.run_text("""
            a, b = malloc(64), malloc(64)
            host, back = ctypes.create_string_buffer(b"x" * 64, 64), ctypes.create_string_buffer(64)
            assert copy(a, ctypes.addressof(host), 64, HOST_TO_DEVICE) == 0
            assert cuda.cudaMemset(c_void_p(a + 8), ord("y"), c_size_t(4)) == 0
            assert copy(b, a, 64, DEVICE_TO_DEVICE) == 0
            assert copy(ctypes.addressof(back), b, 64, DEVICE_TO_HOST) == 0
            assert back.raw == b"x" * 8 + b"yyyy" + b"x" * 52
            attributes = (c_int * 32)()
            assert cuda.cudaPointerGetAttributes(attributes, c_void_p(a + 4)) == 0
            assert list(attributes[:2]) == [2, 0]
            """)
        self.run_text("ctypes.string_at(malloc(64), 1)", status=-11)

    def test_memory_is_open_to_the_host_without_protection(self):
        self.run_text("""
            a = malloc(8)
            assert cuda.cudaMemset(c_void_p(a), 65, c_size_t(8)) == 0
            assert ctypes.string_at(a, 8) == b"A" * 8
            """, DEVSAN_SIM_PROTECT="off")

    def test_functions_write_what_their_toolkit_has(self):
        writers = functions_that_write()
        self.assertGreater(len(writers), 80)
        for version in (12, 13):
            with self.subTest(version=version):
                self.run_text(f"WRITERS, LONGLONG = {writers!r}, ctypes.c_ulonglong\n" + OUTPUTS.format(folder=FOLDER, version=version))

    def test_pointers_are_known_before_anything_else_is_asked(self):
        self.run_text("""
            attributes = (c_int * 32)()
            assert cuda.cudaPointerGetAttributes(attributes, attributes) == 0 and attributes[0] == 0
            pinned, managed = c_void_p(), c_void_p()
            assert cuda.cudaMallocHost(byref(pinned), c_size_t(8)) == cuda.cudaMallocManaged(byref(managed), c_size_t(8), 1) == 0
            for memory, kind in (pinned.value, 1), (malloc(8), 2), (managed.value, 3):
                assert cuda.cudaPointerGetAttributes(attributes, c_void_p(memory)) == 0 and attributes[0] == kind
            """)

    def test_nothing_is_allocated_for_no_bytes(self):
        self.run_text("""
            memory = c_void_p(1)
            assert cuda.cudaMalloc(byref(memory), c_size_t(0)) == 0 and memory.value is None
            assert driver.cuMemAlloc_v2(byref(memory), c_size_t(0)) == 1
            """)

    def test_copies_and_waits_are_noted_in_their_order(self):
        output = self.run_text("""
            notes = ctypes.create_string_buffer(1024)
            def take():
                size = driver.devsan_standin_take_notes(notes, c_size_t(1024))
                return notes.raw[:size].decode()
            pageable, pinned, device = ctypes.create_string_buffer(8), c_void_p(), malloc(8)
            assert cuda.cudaMallocHost(byref(pinned), c_size_t(8)) == 0
            assert cuda.cudaDeviceSynchronize() == 0 and take() == "", "nothing is kept before the first time"
            assert copy(device, ctypes.addressof(pageable), 4, HOST_TO_DEVICE) == 0
            assert cuda.cudaMemcpyAsync(c_void_p(device), pageable, c_size_t(4), HOST_TO_DEVICE, None) == 0
            assert cuda.cudaMemcpyAsync(pinned, c_void_p(device), c_size_t(8), DEVICE_TO_HOST, None) == 0
            assert cuda.cudaStreamSynchronize(None) == 0
            assert cuda.cudaDeviceSynchronize() == 0
            print(take() + "then " + take())
            """)
        self.assertEqual(output, "copy pageable cuda:0 4 wait\ncopy pageable cuda:0 4\ncopy cuda:0 pinned 8\nwait stream\nwait device\nthen \n")

    def test_drivers_functions_are_found_by_name_as_cuda_12_asks(self):
        self.run_text("""
            function = c_void_p()
            assert cuda.cudaGetDriverEntryPoint(b"cuStreamQuery", byref(function), ctypes.c_ulonglong(0), None) == 0 and function.value
            assert cuda.cudaGetDriverEntryPoint(b"cuNothing", byref(function), ctypes.c_ulonglong(0), None) == 500
            status, count = c_int(7), c_size_t(7)
            assert cuda.cudaStreamGetCaptureInfo_v2(None, byref(status), None, None, None, byref(count)) == 0
            assert status.value == 0 and count.value == 0, "no capture"
            """)

    def test_kernels_from_code_are_refused_only_where_devices_are_simulated(self):
        load = """
            module, threads = c_void_p(), c_int()
            print(driver.cuInit(0), driver.cuModuleLoadData(byref(module), b"code"),
                  driver.cuFuncGetAttribute(byref(threads), 0, None))
            """
        self.assertEqual(self.run_text(load), "0 801 801\n")
        self.assertEqual(self.run_text(load, DEVSAN_SIM_DEVICES=""), "0 0 0\n")

    def test_freed_memory_reads_as_zero(self):
        self.run_text("""
            a = malloc(4096)
            assert cuda.cudaMemset(c_void_p(a), 65, c_size_t(4096)) == 0
            assert cuda.cudaFree(c_void_p(a)) == 0
            assert malloc(4096) == a
            back = ctypes.create_string_buffer(8)
            assert copy(ctypes.addressof(back), a, 8, DEVICE_TO_HOST) == 0
            assert back.raw == bytes(8)
            """)

    def test_kernels_run_their_host_implementations(self):
        self.run_text(KERNELS + """
            scale = kernel(b"_ZN2my5scaleEPffi")
            HostKernel = ctypes.CFUNCTYPE(c_int, ctypes.POINTER(Launch), c_void_p)
            def run(launch, data):
                launch = launch.contents
                assert (list(launch.grid), list(launch.block), launch.shared) == ([3, 1, 1], [32, 2, 1], 16)
                assert (launch.kernel, launch.device, launch.stream, data) == (b"my::scale(float*, float, int)", 1, stream.value, 7)
                address = c_void_p.from_address(launch.arguments[0]).value
                assert address == a
                values = (ctypes.c_float * 3).from_address(launch.reach(address))
                for i in range(c_int.from_address(launch.arguments[2]).value):
                    values[i] *= ctypes.c_float.from_address(launch.arguments[1]).value
                return 0
            any_kernel, scale_kernel = HostKernel(lambda launch, data: 719), HostKernel(run)
            cuda.devsan_sim_add_host_kernel(b"my::*", any_kernel, None)
            cuda.devsan_sim_add_host_kernel(b"my::scale(float*, float, int)", scale_kernel, c_void_p(7))
            stream = c_void_p()
            assert cuda.cudaSetDevice(1) == 0 and cuda.cudaStreamCreate(byref(stream)) == 0
            a = malloc(12)
            host = (ctypes.c_float * 3)(1, 2, 3)
            assert copy(a, ctypes.addressof(host), 12, HOST_TO_DEVICE) == 0
            arguments = pointers(c_void_p(a), ctypes.c_float(2), c_int(2))
            assert cuda.cudaLaunchKernel(scale, Dim(3, 1, 1), Dim(32, 2, 1), arguments, c_size_t(16), stream) == 0
            assert copy(ctypes.addressof(host), a, 12, DEVICE_TO_HOST) == 0
            assert list(host) == [2, 4, 3]
            # What an implementation returns is the launch's error; a stream belongs to a device.
            other = kernel(b"_ZN2my5otherEv")
            assert cuda.cudaLaunchKernel(other, ONE, ONE, None, c_size_t(0), None) == 719
            assert cuda.cudaGetErrorString(cuda.cudaGetLastError()) == b"unspecified launch failure"
            assert cuda.cudaSetDevice(0) == 0
            assert cuda.cudaLaunchKernel(scale, ONE, ONE, arguments, c_size_t(0), stream) == 400
            """)

    def test_kernels_without_one_leave_memory_as_it_is(self):
        errors = self.run_text(KERNELS + """
            scale, unknown = kernel(b"_ZN2my5scaleEPffi"), ctypes.create_string_buffer(8)
            a = malloc(4)
            assert cuda.cudaMemset(c_void_p(a), 65, c_size_t(4)) == 0
            for _ in range(3):
                assert cuda.cudaLaunchKernel(scale, ONE, ONE, pointers(c_void_p(a)), c_size_t(0), None) == 0
            back = ctypes.create_string_buffer(4)
            assert copy(ctypes.addressof(back), a, 4, DEVICE_TO_HOST) == 0 and back.raw == b"AAAA"
            assert cuda.cudaLaunchKernel(unknown, ONE, ONE, None, c_size_t(0), None) == 98
            assert cuda.devsan_standin_kernels_without_effect() == 1
            """, errors=True)
        self.assertEqual(errors.count("the GPU kernel my::scale(float*, float, int) does nothing here"), 1, errors)

    def test_launches_that_a_gpu_refuses_are_refused(self):
        errors = self.run_text(KERNELS + """
            fill = kernel(b"_ZN2my4fillEv")
            def launch(grid=ONE, block=ONE, shared=0):
                status = cuda.cudaLaunchKernel(fill, grid, block, None, c_size_t(shared), None)
                assert cuda.cudaGetLastError() == status
                return status
            assert launch(grid=Dim(0, 1, 1)) == launch(grid=Dim(1, 65536, 1)) == launch(block=Dim(1, 1, 0)) == 9
            assert launch(block=Dim(1025, 1, 1)) == launch(block=Dim(64, 32, 1)) == launch(block=Dim(1, 1, 65)) == 9
            assert launch(grid=Dim(1 << 20, 65535, 65535), block=Dim(32, 32, 1), shared=48 << 10) == 0
            MOST = 8  # cudaFuncAttributeMaxDynamicSharedMemorySize
            assert launch(shared=(48 << 10) + 1) == 1
            assert cuda.cudaFuncSetAttribute(fill, MOST, 96 << 10) == 0 and launch(shared=96 << 10) == 0 and launch(shared=97 << 10) == 1
            attributes = ctypes.create_string_buffer(144)
            assert cuda.cudaFuncGetAttributes(attributes, fill) == 0 and c_int.from_buffer(attributes, 44).value == 96 << 10
            # It was allowed on this device alone.
            assert cuda.cudaSetDevice(1) == 0 and launch(shared=96 << 10) == 1 and cuda.cudaSetDevice(0) == 0
            assert cuda.cudaFuncSetAttribute(fill, MOST, 164 << 10) == cuda.cudaGetLastError() == 1 and launch(shared=96 << 10) == 0
            """, errors=True)
        self.assertEqual(errors.count("a launch of the GPU kernel my::fill() is refused, as by a GPU: a grid of 0 x 1 x 1 blocks"), 1, errors)

    def test_kernels_are_pytorchs_in_its_folder_whatever_a_library_is_called(self):
        with tempfile.TemporaryDirectory() as folder:
            torch, others, links = (Path(folder, name) for name in ("torch/lib", "others", "links"))
            for file in (torch / "libc10.so", torch / "libtorch_cuda.so", others / "libcustom_ops.so", others / "libtorch_ops.so",
                         others / "libc10_ops.so"):
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(FOLDER, "libdevsan_cuda_libraries.so"), file)
            links.symlink_to(torch)
            errors = self.run_text(KERNELS + f"""
            def status(file, name):
                function = ctypes.cast(ctypes.CDLL(file).cublasLtCreate, c_void_p)
                cuda.__getattr__("__cudaRegisterFunction")(None, function, None, c_char_p(name), 0, None, None, None, None, None)
                return cuda.cudaLaunchKernel(function, ONE, ONE, None, c_size_t(0), None)
            ctypes.CDLL({str(torch / "libc10.so")!r})
            assert status({str(links / "libtorch_cuda.so")!r}, b"_ZN2at4fillEv") == 801
            for file in "libcustom_ops.so", "libtorch_ops.so", "libc10_ops.so":
                assert status({str(others)!r} + "/" + file, b"_ZN2my4fillEv") == 0, file
            """, errors=True)
        self.assertIn("the GPU kernel my::fill() does nothing here", errors)

    def test_kernels_have_the_parameters_of_their_names(self):
        self.run_text(KERNELS + """
            def sizes(name):
                handle, size, offset, found = c_void_p(), c_size_t(), c_size_t(), []
                assert cuda.cudaGetFuncBySymbol(byref(handle), kernel(name)) == 0
                while driver.cuFuncGetParamInfo(handle, c_size_t(len(found)), byref(offset), byref(size)) == 0:
                    found.append(size.value)
                text = c_char_p()
                assert driver.cuFuncGetName(byref(text), handle) == 0 and text.value == name
                return found
            assert sizes(b"_ZN2my5scaleEPffi") == [8, 1, 1]
            assert sizes(b"_ZN2my5emptyEv") == []
            # void add<float>(float const*, at::GenericPackedTensorAccessor<float, 2ul, at::DefaultPtrTraits, int>)
            assert sizes(b"_Z3addIfEvPKT_N2at27GenericPackedTensorAccessorIS0_Lm2ENS3_16DefaultPtrTraitsEiEE") == [8, 8]
            # void (anonymous namespace)::call<int, void (*)(int)>(void (*)(int), int*)
            assert sizes(b"_ZN12_GLOBAL__N_14callIiPFviEEEvT0_PT_") == [1, 8]
            # Of C, without parameters.
            assert sizes(b"plain") == []
            """)

    def test_memory_is_shared_between_processes(self):
        handle = """
            class Handle(ctypes.Structure):
                _fields_ = [("bytes", ctypes.c_ubyte * 64)]
            def read(memory, size):
                back = ctypes.create_string_buffer(size)
                assert copy(ctypes.addressof(back), memory, size, DEVICE_TO_HOST) == 0
                return back.raw
            """
        child = PRELUDE.format(folder=FOLDER) + textwrap.dedent(handle) + textwrap.dedent("""
            memory, event = c_void_p(), c_void_p()
            assert cuda.cudaSetDevice(1) == 0
            before = free_bytes()
            own = malloc(4096)
            memory_handle, event_handle = map(Handle.from_buffer_copy, map(bytes.fromhex, sys.argv[1:]))
            assert cuda.cudaIpcOpenMemHandle(byref(memory), memory_handle, 1) == 0
            assert cuda.cudaIpcOpenEventHandle(byref(event), event_handle) == 0 and cuda.cudaEventQuery(event) == 0
            assert cuda.cudaIpcOpenEventHandle(byref(event), memory_handle) == 1, "no event's"
            assert free_bytes()[0] == before[0] - 4096
            attributes = (c_int * 32)()
            assert cuda.cudaPointerGetAttributes(attributes, c_void_p(memory.value + 5000)) == 0
            assert list(attributes[:2]) == [2, 1]
            assert memory.value != own and read(memory.value + 4096, 2) == b"AA"
            assert cuda.cudaMemset(c_void_p(memory.value), 66, c_size_t(2)) == 0
            assert cuda.cudaFree(memory) == 1
            assert cuda.cudaIpcCloseMemHandle(memory) == 0 and cuda.cudaIpcCloseMemHandle(memory) == 1
            """)
        self.run_text(handle + """
            import subprocess, sys
            cuda.cudaSetDevice(1)
            other, a, event = malloc(4096), malloc(8192), c_void_p()
            assert cuda.cudaMemset(c_void_p(a), 65, c_size_t(8192)) == 0 and cuda.cudaEventCreate(byref(event)) == 0
            memory_handle, event_handle = Handle(), Handle()
            assert cuda.cudaIpcGetMemHandle(byref(memory_handle), c_void_p(a)) == 0
            assert cuda.cudaIpcGetEventHandle(byref(event_handle), event) == 0
            assert cuda.cudaIpcGetMemHandle(byref(memory_handle), c_void_p(ctypes.addressof(attributes := c_int()))) == 1
            assert cuda.cudaIpcGetMemHandle(byref(memory_handle), c_void_p(a)) == 0
            assert cuda.cudaIpcOpenMemHandle(byref(event), memory_handle, 1) == 201, "this process's"
            child = subprocess.run([sys.executable, "-c", os.environ["CHILD"], *(bytes(h).hex() for h in (memory_handle, event_handle))])
            assert child.returncode == 0
            assert read(a, 4) == b"BBAA" and read(other, 2) == bytes(2)
            """, CHILD="import sys\n" + child)
        self.run_text("""
            assert cuda.cudaIpcGetMemHandle(ctypes.create_string_buffer(64), c_void_p(malloc(8))) == 801
            assert b"--sim-protect=off" in cuda.cudaGetErrorString(801)
            """, DEVSAN_SIM_PROTECT="off")

    def test_what_is_missing_says_what_it_is(self):
        self.run_text("""
            assert cuda.cudaStreamBeginCapture(None, 0) == 801
            assert cuda.cudaGetErrorString(801) == b"not simulated: CUDA graphs that C++ captures (cudaStreamBeginCapture)"
            text = c_char_p()
            assert driver.cuModuleLoadData(None, None) == 801
            assert driver.cuGetErrorString(801, byref(text)) == 0 and b"not simulated" in text.value
            libraries = ctypes.CDLL(os.path.join(os.path.dirname(driver._name), "libdevsan_cuda_libraries.so"))
            assert libraries.cublasCreate_v2(None) != 0 and libraries.cudnnCreate(None) != 0
            """)

    def test_work_is_done_when_it_is_issued(self):
        self.run_text("""
            stream, start, end = c_void_p(), c_void_p(), c_void_p()
            assert cuda.cudaStreamCreate(byref(stream)) == 0
            assert cuda.cudaEventCreate(byref(start)) == 0 and cuda.cudaEventCreate(byref(end)) == 0
            a = malloc(1 << 20)
            assert cuda.cudaEventRecord(start, stream) == 0
            assert cuda.cudaMemsetAsync(c_void_p(a), 0, c_size_t(1 << 20), stream) == 0
            assert cuda.cudaEventRecord(end, stream) == 0
            assert cuda.cudaStreamQuery(stream) == 0 and cuda.cudaEventQuery(end) == 0
            """)

    def test_streams_keep_their_priority(self):
        self.run_text("""
            stream, priority = c_void_p(), c_int(7)
            assert cuda.cudaStreamCreateWithPriority(byref(stream), 1, -3) == 0
            assert cuda.cudaStreamGetPriority(stream, byref(priority)) == 0 and priority.value == -3
            assert cuda.cudaStreamGetPriority(None, byref(priority)) == 0 and priority.value == 0
            """)

    def test_no_time_passes_between_events_of_two_devices(self):
        self.run_text("""
            events, passed = [c_void_p(), c_void_p(), c_void_p()], ctypes.c_float()
            for device, event in zip((0, 0, 1), events):
                assert cuda.cudaSetDevice(device) == 0
                assert cuda.cudaEventCreate(byref(event)) == 0 and cuda.cudaEventRecord(event, None) == 0
            assert cuda.cudaEventElapsedTime(byref(passed), events[0], events[1]) == 0 and passed.value > 0
            assert cuda.cudaEventElapsedTime(byref(passed), events[0], events[2]) == 400
            """)

    def test_captured_streams_cannot_be_waited_for(self):
        self.run_text("""
            stream, joined, other, event = c_void_p(), c_void_p(), c_void_p(), c_void_p()
            for one in (stream, joined, other):
                assert cuda.cudaStreamCreate(byref(one)) == 0
            assert cuda.cudaEventCreate(byref(event)) == 0
            def states():
                found = []
                for one in (stream, joined, other):
                    status = c_int(7)
                    assert cuda.cudaStreamIsCapturing(one, byref(status)) == 0
                    found.append(status.value)
                return found
            begin, end = driver.devsan_standin_begin_capture, driver.devsan_standin_end_capture
            begin(stream)
            assert states() == [1, 0, 0]
            assert cuda.cudaEventRecord(event, stream) == 0 and cuda.cudaStreamWaitEvent(joined, event, 0) == 0
            assert states() == [1, 1, 0]
            assert cuda.cudaStreamSynchronize(other) == 0
            assert end() == 1 and states() == [0, 0, 0]
            assert cuda.cudaStreamSynchronize(joined) == 0 and cuda.cudaEventSynchronize(event) == 0
            for wait in (lambda: cuda.cudaStreamSynchronize(stream), cuda.cudaDeviceSynchronize):
                begin(stream)
                assert states() == [1, 0, 0]
                assert wait() == 900
                assert cuda.cudaGetErrorString(900) == b"operation not permitted when stream is capturing"
                assert states() == [2, 0, 0] and end() == 0
            """)

    def test_peers_have_no_access(self):
        self.run_text("""
            can = c_int(7)
            assert cuda.cudaDeviceCanAccessPeer(byref(can), 0, 1) == 0 and can.value == 0
            """)

    def test_a_child_of_a_process_with_devices_has_none(self):
        self.run_text("""
            malloc(8)
            child = os.fork()
            if child == 0:
                assert cuda.cudaMalloc(byref(c_void_p()), c_size_t(8)) == 3
                assert cuda.cudaGetErrorString(3) == b"initialization error"
                os._exit(driver.cuInit(0))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
            """)

    def test_eight_processes_of_eight_devices_need_few_addresses_and_files(self):
        """Each has eight ranks' segments on every device, in two threads, and maps its neighbour's."""
        output = self.run_text("""
            import multiprocessing, resource, threading
            PROCESSES = DEVICES = 8
            SEGMENTS = 8 * ([2 << 20] * 5 + [20 << 20] * 2 + [512 << 20])
            class Handle(ctypes.Structure):
                _fields_ = [("bytes", ctypes.c_ubyte * 64)]
            def fill_device(device, taken):
                assert cuda.cudaSetDevice(device) == 0
                segments = [malloc(size) for size in SEGMENTS]
                for segment in segments[::2]:
                    assert cuda.cudaFree(c_void_p(segment)) == 0
                segments[::2] = [malloc(size) for size in SEGMENTS[::2]]
                assert cuda.cudaMemset(c_void_p(segments[0]), device + 1, c_size_t(2 << 20)) == 0
                taken[device] = segments
            def status(name):
                return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1])
            def work(rank, handles, everybody):
                resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
                resource.setrlimit(resource.RLIMIT_AS, (2 << 40, 2 << 40))
                files, taken = len(os.listdir("/proc/self/fd")), {}
                threads = [threading.Thread(target=lambda half: [fill_device(d, taken) for d in range(half, DEVICES, 2)], args=(half,))
                           for half in (0, 1)]
                for thread in threads: thread.start()
                for thread in threads: thread.join()
                for device in range(DEVICES):
                    handle = Handle()
                    assert cuda.cudaIpcGetMemHandle(byref(handle), c_void_p(taken[device][0])) == 0
                    handles[rank * DEVICES + device] = bytes(handle)
                everybody.wait()
                for device in range(DEVICES):
                    assert cuda.cudaSetDevice(device) == 0
                    mapped, back = c_void_p(), ctypes.create_string_buffer(2)
                    handle = Handle.from_buffer_copy(handles[(rank + 1) % PROCESSES * DEVICES + device])
                    assert cuda.cudaIpcOpenMemHandle(byref(mapped), handle, 1) == 0
                    assert copy(ctypes.addressof(back), mapped.value, 2, DEVICE_TO_HOST) == 0
                    assert back.raw == bytes([device + 1] * 2)
                everybody.wait()
                print(len(os.listdir("/proc/self/fd")) - files, status("VmSize") >> 20, flush=True)
            context = multiprocessing.get_context("fork")
            with context.Manager() as manager:
                handles, everybody = manager.dict(), context.Barrier(PROCESSES)
                processes = [context.Process(target=work, args=(rank, handles, everybody)) for rank in range(PROCESSES)]
                for process in processes: process.start()
                for process in processes: process.join()
                assert [process.exitcode for process in processes] == [0] * PROCESSES
            """, DEVSAN_SIM_DEVICES="8", DEVSAN_SIM_MEMORY=str(16 << 30))
        for line in output.splitlines():
            files, gibibytes = map(int, line.split())
            self.assertLessEqual(files, 4, "the devices' memory, and the test's own connections")
            self.assertLessEqual(gibibytes, 1026, "64 GiB for each device, at two addresses")
        self.assertEqual(len(output.splitlines()), 8)

    def test_starts_at_once(self):
        self.run_text("""
            import time
            begin = time.process_time()
            malloc(8)
            assert time.process_time() - begin < 0.05
            """)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
