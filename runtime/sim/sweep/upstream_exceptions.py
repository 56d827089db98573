"""Tests of PyTorch's files that pass on the CPU, or are for CUDA alone, and fail on simulated devices, each with its reason.

The key is the file and the test without its device."""

EXCEPTIONS = {
}
