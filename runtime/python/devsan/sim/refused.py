"""What torch.cuda offers and no simulated device can do, and what is left out on purpose."""

# Given, and refused where they are used: torch finds them by name while it is imported, or programs call them.
FUNCTIONS = (
    # libraries that are not there
    "_cuda_getCurrentBlasHandle",
    "_cuda_getCurrentSolverHandle",
    "_cuda_jiterator_compile_and_launch_kernel",
    # memory pools and allocators of one's own
    "_cuda_customAllocator",
    "_cuda_changeCurrentAllocator",
    "_cuda_getAllocator",
    "_cuda_cudaHostAllocator",
    "_cuda_beginAllocateToPool",
    "_cuda_beginAllocateCurrentThreadToPool",
    "_cuda_beginAllocateCurrentStreamToPool",
    "_cuda_endAllocateToPool",
    "_cuda_releasePool",
    "_cuda_checkPoolLiveAllocations",
    "_cuda_setCheckpointPoolState",
    "_cuda_getCheckpointState",
    "_construct_CUDA_Tensor_From_Storage_And_Metadata",
    "_free_And_Remove_DeleterFn",
    "_has_Standard_Deleter",
    "_set_storage_access_error_msg",
    "_set_storage_data_ptr_access_error_msg",
    "_tensors_data_ptrs_at_indices_equal",
    # the allocator's history
    "_cuda_allocationTraceback",
    "_cuda_setMemoryMetadata",
    "_cuda_getMemoryMetadata",
    "_cuda_attach_out_of_memory_observer",
)
CLASSES = ("_MemPool", "_cuda_CUDAAllocator", "_cuda_CUDAAllocator_AllocatorState")

# Not given: torch asks whether they are there, and does without, or refuses with an error of its own.
ABSENT = {
    "_CUDAGreenContext": "torch.cuda.green_contexts: 'PyTorch was not built with Green Context support!'",
    "GreenContext": "as _CUDAGreenContext",
    "_cusparselt": "torch.backends.cusparselt.is_available() is False",
    "_StaticCudaLauncher": "launches kernels that Triton compiled; there is no Triton without a GPU",
    "_FastCudaLauncher": "as _StaticCudaLauncher",
    "_cuda_getHipblasltVersion": "ROCm only",
    "_rocm_is_backward_pass": "ROCm only",
    "_cuda_tunableop_get_rotation_buffer_size": "misspelt in torch/_C/__init__.pyi; a CUDA build does not have it either",
}


def _reason(name):
    return f"not simulated: torch._C.{name}; run this on a real GPU"


def _function(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(_reason(name))

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


def _class(name):
    def refuse(cls, *args, **kwargs):
        raise NotImplementedError(_reason(name))

    return type(name, (), {"__new__": refuse})


def functions(c, library):
    """With the reason where torch would report an attribute error."""
    return (
        {name: _function(name) for name in FUNCTIONS}
        | {name: _class(name) for name in CLASSES}
        | {"_cuda_isHistoryEnabled": lambda: False}
    )
