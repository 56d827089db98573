"""The base classes of torch.cuda.Stream and torch.cuda.Event, and the current stream."""

import ctypes

from devsan.sim.graphs import fail_as_cuda

_CUDA = 1  # c10::DeviceType::CUDA
_PRIORITY_RANGE = (0, -3)


def _refuse(what):
    raise NotImplementedError(
        f"not simulated: {what}; share an event between processes on a real GPU, or synchronise them by other means"
    )


def functions(c, library):
    library.devsan_sim_stream_priority.argtypes = [ctypes.c_int64, ctypes.c_int]
    library.devsan_sim_stream_priority.restype = ctypes.c_int

    class _CudaStreamBase(c.Stream):
        def __new__(cls, priority=0, stream_id=0, device_index=0, device_type=0, stream_ptr=0):
            if stream_ptr:
                if priority:
                    raise RuntimeError("Priority was explicitly set for a external stream")
                stream_id, device_index, device_type = stream_ptr, c._accelerator_getDeviceIndex(), _CUDA
            if stream_id or device_index or device_type:
                return super().__new__(
                    cls, stream_id=stream_id, device_index=device_index, device_type=device_type or _CUDA
                )
            return super().__new__(cls, device=f"cuda:{c._accelerator_getDeviceIndex()}", priority=priority)

        @property
        def cuda_stream(self):
            return self.native_handle

        @property
        def priority(self):
            return library.devsan_sim_stream_priority(self.stream_id, self.device_index)

        @staticmethod
        def priority_range():
            return _PRIORITY_RANGE

    class _CudaEventBase(c.Event):
        def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
            event = super().__new__(
                cls, device="cuda", enable_timing=enable_timing, blocking=blocking, interprocess=interprocess
            )
            event._timed = enable_timing
            return event

        # An event belongs to no device before it is recorded.
        @property
        def device(self):
            return super().device if self.event_id else None

        # The generic event takes no object of a derived class here.
        def elapsed_time(self, end_event):
            if not (self._timed and end_event._timed):
                raise ValueError("Both events must be created with argument 'enable_timing=True'.")
            if not (self.event_id and end_event.event_id):
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            if not (self.query() and end_event.query()):
                raise RuntimeError("Both events must be completed before calculating elapsed time.")
            if self.device != end_event.device:
                fail_as_cuda("invalid resource handle")
            return library.devsan_sim_elapsed_milliseconds(self.event_id, end_event.event_id)

        @property
        def cuda_event(self):
            return self.event_id

        def ipc_handle(self):
            _refuse("torch.cuda.Event.ipc_handle")

        @classmethod
        def from_ipc_handle(cls, device, handle):
            _refuse("torch.cuda.Event.from_ipc_handle")

    def current_stream(device):
        stream = c._accelerator_getStream(device)
        return (stream.stream_id, stream.device_index, stream.device_type)

    def raw_stream(device):
        return c._accelerator_getStream(device).native_handle

    def default_stream(device):
        return (0, device, _CUDA)

    def set_stream(stream_id, device_index, device_type):
        c._accelerator_setDeviceIndex(device_index)
        c._accelerator_setStream(
            c.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)
        )

    return {
        "_CudaStreamBase": _CudaStreamBase,
        "_CudaEventBase": _CudaEventBase,
        "_cuda_getCurrentStream": current_stream,
        "_cuda_getCurrentRawStream": raw_stream,
        "_cuda_getDefaultStream": default_stream,
        "_cuda_getStreamFromExternal": lambda pointer, device: (pointer, device, _CUDA),
        "_cuda_setStream": set_stream,
        "_cuda_isCurrentStreamCapturing": lambda: False,
    }
