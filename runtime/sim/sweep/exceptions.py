"""The one list of OpInfo entries that do not give the CPU's result on a simulated device, each with its reason.

Dtypes that OpInfo itself does not list for CUDA are not here: the device must refuse them, and the sweep counts them as
refused (integer products, `histogram`, `igamma` of 16-bit floats ...).

A key is an entry (with its variant), alone or followed by a dtype or "errors". An excuse holds for the outcome that it
describes and for no other; a process that ends has none. The sweeps fail on a key that is no longer needed.
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Excuse:
    reason: str
    outcome: str  # a regular expression: what the sweep says about it

    def covers(self, outcome):
        return bool(re.search(self.outcome, outcome))


NO_KERNEL = Excuse(
    "CUDA has no kernel for it, so the simulated device refuses it", "not simulated: |Could not run 'aten::[^']*' with"
)

EXCEPTIONS = {
    "histogramdd errors": NO_KERNEL,
    "sparse.mm.reduce": NO_KERNEL,
    "renorm complex64": Excuse(
        "its backward accumulates in float on CUDA and in double on the CPU, where it gives nan",
        "gradient: Tensor-likes are not close",
    ),
}

# One way of calling an entry: "out=", "in place" or "method".
FORM_EXCEPTIONS = {
    "narrow_copy out=": NO_KERNEL,
}

# Out= forms that do not give the functional form's result on the CPU either, so that there is nothing to compare with.
BROKEN_ON_THE_CPU = {
    "fft.ihfftn": "leaves the result unwritten",
    "_batch_norm_with_update": "OpInfo's call names one `out`, the operator has four",
    "nonzero": "as_tuple=True has no out= form",
    "normal.number_mean": "refuses a result that is to be resized where the deviations are a tensor",
    "sparse.sampled_addmm": "takes a result of CSR layout alone; the sweep makes dense ones",
}

# Entries whose contents are not defined but in PyTorch's deterministic mode, which fills new memory: compared there.
DETERMINISTIC = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}

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
