"""Storages on simulated devices: a CPU build's torch.UntypedStorage knows no CUDA allocator and shares no device memory.

A storage that is sent to another process (torch.multiprocessing) moves into host memory that both map, as PyTorch shares
CPU tensors through files; the two processes then read and write the same device memory, as with CUDA's IPC handles. That
memory counts in no statistics, and the host could reach it.
"""

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

    def share(self):
        if self.device.type != "cuda":
            raise RuntimeError("_share_cuda_: only available on CUDA")
        host = getattr(self, "_devsan_shared", None)
        if host is None:
            host = self.cpu()
            host._share_filename_cpu_()
            library.devsan_sim_adopt_host_storage(self._cdata, host._cdata)
            self._devsan_shared = host
        manager, name, size = host._share_filename_cpu_()
        # The receiver gives this reference back, so that the memory outlives a sender that forgets it.
        host._shared_incref()
        # One handle names the memory; CUDA's reference counters and events have nothing to add.
        return self.device.index, (manager, name), size, 0, b"", 0, b"", False

    def open_shared(cls, device, handle, size, *counters_and_events):
        host = storage_class._new_shared_filename_cpu(*handle, size)
        host._shared_decref()
        opened = make(cls, 0, device=torch.device("cuda", device))
        library.devsan_sim_adopt_host_storage(opened._cdata, host._cdata)
        opened._devsan_shared = host
        return opened

    storage_class._share_cuda_ = share
    storage_class._new_shared_cuda = classmethod(open_shared)
    storage_class._release_ipc_counter_cuda = classmethod(lambda cls, *counter, device=None: None)
    storage_class.__new__ = staticmethod(make)
    storage_class.resize_ = resize_storage
