"""What torch.nn.parallel.comm calls for several devices in one process, and a CPU build lacks: tensors are copied between
simulated devices, one by one. Results and errors are as from PyTorch's C++ functions."""

import sys


def functions(c, library):
    torch = sys.modules["torch"]

    def broadcast(tensor, devices):
        return [tensor if tensor.device.index == device else tensor.to(f"cuda:{device}") for device in devices]

    def broadcast_out(tensor, out_tensors):
        for out in out_tensors:
            if out.shape != tensor.shape:
                raise RuntimeError(
                    f"Expected all output CUDA tensors to have same shape as the source tensor {list(tensor.shape)}, "
                    f"but got output tensor with shape {list(out.shape)}"
                )
            out.copy_(tensor)
        return out_tensors

    def broadcast_coalesced(tensors, devices, buffer_size):
        copies = [broadcast(tensor, devices) for tensor in tensors]
        return [list(of_device) for of_device in zip(*copies)]

    def chunks(tensor, count, sizes, dim):
        if sizes is None:
            return list(tensor.chunk(count, dim))
        if sum(sizes) != tensor.size(dim):
            raise RuntimeError(
                f"given chunk sizes don't sum up to the tensor's size (sum(chunk_sizes) == {sum(sizes)}, but expected "
                f"{tensor.size(dim)})"
            )
        return list(tensor.split(sizes, dim))

    def scatter(tensor, devices, chunk_sizes=None, dim=0, streams=None):
        parts = chunks(tensor, len(devices), chunk_sizes, dim)
        return tuple(part.to(f"cuda:{device}", non_blocking=True) for part, device in zip(parts, devices))

    def scatter_out(tensor, out_tensors, dim=0, streams=None):
        for part, out in zip(tensor.split([out.size(dim) for out in out_tensors], dim), out_tensors):
            out.copy_(part, non_blocking=True)
        return tuple(out_tensors)

    def destination_of(index):
        if index == -1:
            return torch.device("cpu")
        return torch.device("cuda", torch.cuda.current_device() if index is None else index)

    def gather(tensors, dim=0, destination_index=None):
        target = destination_of(destination_index)
        return torch.cat([tensor.to(target) for tensor in tensors], dim)

    def gather_out(tensors, out_tensor, dim=0):
        return torch.cat([tensor.to(out_tensor.device) for tensor in tensors], dim, out=out_tensor)

    return {
        "_broadcast": broadcast,
        "_broadcast_out": broadcast_out,
        "_broadcast_coalesced": broadcast_coalesced,
        "_scatter": scatter,
        "_scatter_out": scatter_out,
        "_gather": gather,
        "_gather_out": gather_out,
    }
