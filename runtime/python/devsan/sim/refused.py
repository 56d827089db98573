"""What torch.cuda offers and no simulated device can do."""


def functions(c, library):
    """What has no meaning without a GPU, with the reason where torch would report an attribute error."""

    def function(name):
        def refuse(*args, **kwargs):
            raise NotImplementedError(f"not simulated: torch._C.{name}; run this on a real GPU")

        return refuse

    def cls(name):
        def refuse(cls, *args, **kwargs):
            raise NotImplementedError(f"not simulated: torch._C.{name}; run this on a real GPU")

        return type(name, (), {"__new__": refuse})

    functions = (
        "_cuda_getCurrentBlasHandle _cuda_getCurrentSolverHandle _cuda_jiterator_compile_and_launch_kernel _cuda_customAllocator "
        "_cuda_changeCurrentAllocator _cuda_getAllocator _cuda_cudaHostAllocator _cuda_beginAllocateToPool "
        "_cuda_beginAllocateCurrentThreadToPool _cuda_endAllocateToPool _cuda_releasePool _graph_pool_handle"
    ).split()
    classes = "_CUDAGraph _MemPool _cuda_CUDAAllocator".split()
    return {name: function(name) for name in functions} | {name: cls(name) for name in classes}
