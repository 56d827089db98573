"""What an OpInfo sample is like, in eight characters: equal for samples of equal shapes, dtypes and arguments.

Sample lists change from one PyTorch to the next; a recording is compared only where the sample is still the same.
"""

import zlib


def signature(sample):
    return f"{zlib.crc32(_describe((sample.input, sample.args, sample.kwargs)).encode()):08x}"


def _describe(value):
    import torch

    if isinstance(value, torch.Tensor):
        return f"{value.dtype}{tuple(value.shape)}{value.layout}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_describe(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + "(" + ",".join(map(_describe, value)) + ")"
    if isinstance(value, float):
        return "float"  # some are drawn at random
    if value is None or isinstance(value, (bool, int, str, slice, torch.dtype, torch.device, torch.layout)):
        return str(value)
    return type(value).__name__
