"""Storages on simulated devices: a CPU build's torch.UntypedStorage knows no CUDA allocator."""

import torch


def extend(storage_class, library):
    """Lets `storage_class` (torch.UntypedStorage) be made and resized on CUDA devices."""
    new, resize = storage_class.__new__, storage_class.resize_

    def make(cls, *args, device=None, **kwargs):
        if device is None or torch.device(device).type != "cuda":
            return new(cls, *args, **kwargs) if device is None else new(cls, *args, device=device, **kwargs)
        content = args[0] if args else kwargs.get("size", 0)
        if isinstance(content, int):
            tensor = torch.empty(content, dtype=torch.uint8, device=device)
        else:
            tensor = torch.tensor(list(content), dtype=torch.uint8).to(device)
        return tensor.untyped_storage()

    def resize_storage(self, size):
        if self.device.type != "cuda":
            return resize(self, size)
        if not self.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
        library.devsan_sim_resize_storage(self._cdata, size)
        return self

    storage_class.__new__ = staticmethod(make)
    storage_class.resize_ = resize_storage
