"""Tests of PyTorch's files that pass on the CPU, or are for CUDA alone, and fail on simulated devices, each with its reason.

The key is the file and the test without its device."""

AGE = "files of PyTorch 2.1 to 2.6 expect what later releases no more do"
DRAWS = "the test asks for a chance near 1 of the numbers of one seed; a device draws others than the CPU from the second batch on"
AT_ONCE = "the test wants kernels of two streams to run at the same time; simulated ones run one after the other"
ASKED_AGAIN = "the test asks a busy stream more than once; a simulated one answers false once, so that loops of queries end"
SCIPY = "SciPy refuses windows without elements, which the test makes in 16 bits for CUDA alone"
ROUNDING = "random float16 numbers, rounded in another order by the two forms that the test compares; it fails on the CPU where they are drawn there"
ONE_SEED = "the test compares within a tolerance that some random systems exceed; for equal systems the results are the CPU's, bit for bit"
TUNING = "TunableOp chooses among cuBLAS's kernels; simulated products have one kernel"
PROFILED = "the profile shows a conversion inside the CPU's kernel, where CUDA's converts as it reads"
TEMPORARY = "the CPU kernel of _foreach_pow makes two temporary tensors of 512 bytes that CUDA's does not, and the test allows none"
ASSERTION = "an index out of range raises the CPU kernel's error at the call, where a GPU asserts in the kernel and is lost"

EXCEPTIONS = {
    "test_cuda TestCuda.test_events_multi_gpu_query": ASKED_AGAIN,
    "test_cuda TestCuda.test_graph_concurrent_replay": AT_ONCE,
    "test_cuda TestCuda.test_stream_event_nogil": AT_ONCE,
    "test_cuda TestCuda.test_streams_multi_gpu_query": ASKED_AGAIN,
    "test_linalg TestLinalg.test_linalg_lu_solve_float32": ONE_SEED,
    "test_linalg TestLinalg.test_triangular_solve_large_float32": ONE_SEED,
    "test_nn TestNNDeviceType.test_cross_entropy_loss_2d_out_of_bounds_class_index_float16": ASSERTION,
    "test_nn TestNNDeviceType.test_cross_entropy_loss_2d_out_of_bounds_class_index_float32": ASSERTION,
    "test_optim TestDifferentiableOptimizer.test_defaults_changed_to_foreach": AGE,
    "test_optim TestOptimRenewed.test_defaults_changed_to_foreach_Adafactor_float32": AGE,
    "test_optim TestOptimRenewed.test_defaults_changed_to_foreach_AdamW_float32": AGE,
    "test_optim TestOptimRenewed.test_forloop_goes_right_direction_multigpu_with_lrsched_False_Muon_float32": AGE,
    "test_optim TestOptimRenewed.test_forloop_goes_right_direction_multigpu_with_lrsched_True_Muon_float32": AGE,
    "test_optim TestOptimRenewed.test_mixed_device_dtype_impl_foreach_ASGD_float32": ROUNDING,
    "test_optim TestOptimRenewed.test_peak_memory_foreach_Adafactor_float32": AGE,
    "test_optim TestOptimRenewed.test_peak_memory_foreach_RAdam_float32": TEMPORARY,
    "test_torch TestTorchDeviceType.test_cublas_config_nondeterministic_alert": AGE,
    "test_torch TestTorchDeviceType.test_dtypetensor_warnings": "a CPU build's torch.cuda.FloatTensor and kin advise nothing",
    "test_torch TestTorchDeviceType.test_nondeterministic_alert_ReflectionPad2d": AGE,
    "test_torch TestTorchDeviceType.test_nondeterministic_alert_histc": AGE,
    "test_torch TestTorchDeviceType.test_nondeterministic_alert_kthvalue_float64": AGE,
    "test_torch TestVitalSignsCuda.test_cuda_vitals_gpu_only": AGE,
}
EXCEPTIONS |= {
    f"test_torch TestTorchDeviceType.test_geometric_kstest_{dtype}": DRAWS
    for dtype in ("bfloat16", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "uint8")
}
EXCEPTIONS |= {
    f"test_torch TestTorchDeviceType.test_nondeterministic_alert_cumsum_{dtype}": AGE
    for dtype in ("complex128", "complex64", "float32", "float64")
}
EXCEPTIONS |= {
    f"test_linalg TestLinalg.test_matmul_small_brute_force_tunableop_{dtype}": TUNING for dtype in ("float16", "float32", "float64")
}
EXCEPTIONS |= {
    f"test_linalg TestLinalg.test_norm_fused_type_promotion_{dtype}": PROFILED for dtype in ("bfloat16", "float16")
}
EXCEPTIONS |= {
    f"test_tensor_creation_ops TestTensorCreation.test_{test}_{dtype}": SCIPY
    for test in ("kaiser_window", *(f"signal_window_functions_window_{name}" for name in ("bartlett", "blackman", "hamming", "hann")))
    for dtype in ("bfloat16", "float16")
}
