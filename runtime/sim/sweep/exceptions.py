"""The one list of OpInfo entries that do not give the CPU's result on a simulated device, each with its reason.

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
    "histogram": NO_KERNEL,
    "histogramdd": NO_KERNEL,
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
