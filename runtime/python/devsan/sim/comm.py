"""What torch.nn.parallel.comm calls for several devices in one process, and a CPU build lacks: tensors are copied between
simulated devices, one by one. Requirements and errors are those of PyTorch's C++ functions (torch/csrc/cuda/comm.cpp)."""

import contextlib
import sys


def functions(c, library):
    torch = sys.modules["torch"]

    def check(condition, message):
        if not condition:
            raise RuntimeError(message)

    def shape(tensor):
        return list(tensor.shape)

    def wrap(dim, tensor):
        dimensions = max(tensor.dim(), 1)
        if not -dimensions <= dim < dimensions:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-dimensions}, {dimensions - 1}], but got {dim})"
            )
        return dim % dimensions

    def check_outputs_on_cuda(tensors):
        for i, tensor in enumerate(tensors):
            check(
                tensor.is_cuda,
                f"Expected all output tensors to be CUDA tensors, but output tensor at index {i} has device "
                f"'{tensor.device}'",
            )

    def copied(tensor, device):
        check(device >= 0, f"Expected non-negative device index, but got {device}")
        return tensor if device == tensor.get_device() else tensor.to(f"cuda:{device}", non_blocking=True)

    def broadcast(tensor, devices):
        return [copied(tensor, device) for device in devices]

    def broadcast_out(tensor, out_tensors):
        for i, out in enumerate(out_tensors):
            check_outputs_on_cuda(out_tensors[: i + 1])
            check(
                out.shape == tensor.shape,
                f"Expected all output tensors to have same shape as the source tensor {shape(tensor)}, but output tensor "
                f"at index {i} has shape {shape(out)}",
            )
        for out in out_tensors:
            out.copy_(tensor, non_blocking=True)
        return out_tensors

    def broadcast_coalesced(tensors, devices, buffer_size):
        check(
            all(tensor.get_device() == devices[0] for tensor in tensors), f"All tensors must be on devices[0]: {devices[0]}"
        )
        copies = [[copied(tensor.detach(), device) for tensor in tensors] for device in devices[1:]]
        return [list(tensors), *copies]

    def on_stream(streams, i, device):
        """Copies are issued on the stream that the caller names for this device, else on the current one."""
        if streams is None or i >= len(streams) or streams[i] is None:
            return contextlib.nullcontext()
        check(
            streams[i].device_index == device,
            f"Expected the device associated with the stream at index {i} (was {streams[i].device_index}) to match the "
            f"device supplied at that index (expected {device})",
        )
        return torch.cuda.stream(streams[i])

    def scatter(tensor, devices, chunk_sizes=None, dim=0, streams=None):
        check(len(devices) > 0, "Expected at least one device to scatter to")
        if chunk_sizes is not None:
            check(
                len(chunk_sizes) == len(devices),
                f"Expected devices and chunk_sizes to be of same length, but got len(devices) = {len(devices)} and "
                f"len(chunk_sizes) = {len(chunk_sizes)}",
            )
        dim = wrap(dim, tensor)
        parts = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split_with_sizes(list(chunk_sizes), dim)
        result = []
        for i, (part, device) in enumerate(zip(parts, devices)):
            if device != tensor.get_device():
                with on_stream(streams, i, device):
                    part = copied(part, device)
            result.append(part)
        return result

    def scatter_out(tensor, out_tensors, dim=0, streams=None):
        check(len(out_tensors) > 0, "Expected at least one output tensor to scatter to")
        dim = wrap(dim, tensor)
        for i, out in enumerate(out_tensors):
            check_outputs_on_cuda(out_tensors[: i + 1])
            check(
                out.dim() == tensor.dim() and all(out.size(d) == tensor.size(d) for d in range(out.dim()) if d != dim),
                f"Output tensor at index {i} has incorrect shape: {shape(out)}. Expected same shape except for scatter "
                f"dim {dim} as the source tensor: {shape(tensor)}",
            )
        sizes = [out.size(dim) for out in out_tensors]
        check(
            sum(sizes) == tensor.size(dim),
            f"Total size for output tensors along scatter dim {dim} does not match the source tensor size at dim {dim}. "
            f"Expected {tensor.size(dim)}, but got total size {sum(sizes)}",
        )
        for i, (part, out) in enumerate(zip(tensor.split_with_sizes(sizes, dim), out_tensors)):
            with on_stream(streams, i, out.get_device()):
                out.copy_(part, non_blocking=True)
        return out_tensors

    def gathered_shape(tensors, dim):
        check(len(tensors) > 0, "Expected at least one tensor to gather from")
        dim = wrap(dim, tensors[0])
        expected = shape(tensors[0])
        total = 0
        for i, tensor in enumerate(tensors):
            check(
                tensor.is_cuda,
                f"Expected all input tensors to be CUDA tensors, but tensor at index {i} has device '{tensor.device}'",
            )
            check(
                tensor.dim() == len(expected),
                f"Expected all input tensors to have the same number of dimensions, but tensor at index {i}has "
                f"{tensor.dim()} dimensions, (expected {len(expected)})",
            )
            expected[dim] = tensor.size(dim)
            check(
                shape(tensor) == expected,
                f"Input tensor at index {i} has invalid shape {shape(tensor)}, but expected {expected}",
            )
            total += tensor.size(dim)
        expected[dim] = total
        return dim, expected

    def copy_parts(tensors, result, dim):
        parts = result.split_with_sizes([tensor.size(dim) for tensor in tensors], dim)
        for part, tensor in zip(parts, tensors):
            part.copy_(tensor, non_blocking=result.is_cuda)
        return result

    def memory_format(tensors):
        suggested = {
            torch.channels_last
            if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()
            else torch.contiguous_format
            for tensor in tensors
        }
        return suggested.pop() if len(suggested) == 1 else torch.contiguous_format

    def gather(tensors, dim=0, destination_index=None):
        dim, size = gathered_shape(tensors, dim)
        if destination_index == -1:
            device = torch.device("cpu")
        else:
            device = torch.device("cuda", torch.cuda.current_device() if destination_index is None else destination_index)
        result = torch.empty(size, dtype=tensors[0].dtype, device=device, memory_format=memory_format(tensors))
        return copy_parts(tensors, result, dim)

    def gather_out(tensors, out_tensor, dim=0):
        dim, size = gathered_shape(tensors, dim)
        check(
            shape(out_tensor) == size, f"Expected out tensor to have shape {size}, but got {shape(out_tensor)}"
        )
        return copy_parts(tensors, out_tensor, dim)

    return {
        "_broadcast": broadcast,
        "_broadcast_out": broadcast_out,
        "_broadcast_coalesced": broadcast_coalesced,
        "_scatter": scatter,
        "_scatter_out": scatter_out,
        "_gather": gather,
        "_gather_out": gather_out,
    }
