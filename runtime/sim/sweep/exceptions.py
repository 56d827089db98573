"""The one list of OpInfo entries that do not give the CPU's result on a simulated device, each with its reason.

Dtypes that OpInfo itself does not list for CUDA are not here: the device must refuse them, and the sweep counts them as
refused (integer products, `histogram`, `igamma` of 16-bit floats ...).

A key is an entry (with its variant), alone or followed by a dtype or "errors". The sweeps fail on a key that is no
longer needed.
"""

UNINITIALISED = "returns uninitialised memory: device, dtype, shape and strides are compared, contents are not"
NO_KERNEL = "CUDA has no kernel for it, so the simulated device refuses it"

EXCEPTIONS = {
    "empty": UNINITIALISED,
    "empty_like": UNINITIALISED,
    "empty_permuted": UNINITIALISED,
    "empty_strided": UNINITIALISED,
    "new_empty": UNINITIALISED,
    "new_empty_strided": UNINITIALISED,
    "histogramdd errors": NO_KERNEL,
    "sparse.mm.reduce": NO_KERNEL,
    "renorm complex64": "its backward accumulates in float on CUDA and in double on the CPU, where it gives nan",
}

# One way of calling an entry: "out=", "in place" or "method".
UNSTABLE = "leaves the result unwritten on the CPU"
FORM_EXCEPTIONS = {
    "narrow_copy out=": NO_KERNEL,
    "fft.ihfftn out=": UNSTABLE,
}

# Arguments that CUDA wants on the CPU: positions and names.
HOST_ARGUMENTS = {
    "tensor_split": (1, "tensor_indices_or_sections"),
}

# Entries whose results are laid out as CUDA's kernels do it, not the CPU's: values are compared, strides are not.
CUDA_LAYOUT = {
    "linalg.svd": "cuSOLVER's V",
    "svd": "cuSOLVER's V",
    "svd_lowrank": "cuSOLVER's V",
    "pca_lowrank": "cuSOLVER's V",
    "nn.functional.scaled_dot_product_attention": "the flash and memory-efficient kernels keep (batch, length, heads)",
}

# Samples that draw other numbers on CUDA than on the CPU: the same seed must give the same result on the device, and
# many seeds the CPU's mean and spread.
OWN_NUMBERS = {
    # the flash and memory-efficient kernels draw their dropout mask by themselves
    "nn.functional.scaled_dot_product_attention": lambda keywords: keywords.get("dropout_p", 0.0) > 0.0,
}
