"""Scopes that say what copies and waits mean inside them, and that count them."""

import contextlib
import functools
import inspect
from typing import Optional

from devsan import runtime

# As runtime/protocol/levels.h packs them: four bits for each of the names below, then two for `raises`.
_LEVELS = {"allow": 1, "log": 2, "disallow": 3, "log_explicit": 4, "disallow_explicit": 5}
_HOST_TO_DEVICE, _DEVICE_TO_HOST, _DEVICE_TO_DEVICE, _HOST_WAIT = range(4)
_RAISE, _DO_NOT_RAISE = 1 << 16, 2 << 16


def _packed(what, level):
    if level is None:
        return 0
    if level not in _LEVELS:
        raise ValueError(f"devsan: unknown level {level!r}; valid: {', '.join(map(repr, _LEVELS))}")
    return _LEVELS[level] << 4 * what


def _packed_raises(raises):
    return 0 if raises is None else _RAISE if raises else _DO_NOT_RAISE


class _Scope(contextlib.ContextDecorator):
    """May be entered again, also while it is open: as a decorator it is entered by every call."""

    def __init__(self):
        self._open = []

    def _enter(self, functions):
        raise NotImplementedError

    def __enter__(self):
        functions = runtime.functions()
        self._open.append(None if functions is None else self._enter(functions))
        return self

    def __exit__(self, *exception):
        scope = self._open.pop()
        if scope is not None:
            runtime.functions().scope_leave(scope)

    def __call__(self, function):
        # Their bodies run when nobody is in the scope any more, in parts, among other code of the thread.
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) \
                or inspect.isasyncgenfunction(function):
            raise TypeError(f"devsan: {function.__qualname__} is a generator or a coroutine, which a scope cannot decorate; "
                            "write a `with` inside it that holds no yield or await")

        @functools.wraps(function)
        def inner(*args, **kwargs):
            with self._recreate_cm():
                return function(*args, **kwargs)

        return inner

    def _recreate_cm(self):
        """A scope belongs to the thread that entered it, and several may call what is decorated."""
        raise NotImplementedError


class _Guard(_Scope):
    def __init__(self, guards):
        super().__init__()
        self._guards = guards

    def _enter(self, functions):
        return functions.guard_enter(self._guards)

    def _recreate_cm(self):
        return _Guard(self._guards)


def transfer_guard(
    level: Optional[str] = None,
    *,
    host_to_device: Optional[str] = None,
    device_to_host: Optional[str] = None,
    device_to_device: Optional[str] = None,
    raises: Optional[bool] = None,
) -> _Guard:
    """What copies between devices mean in this scope: in all directions, and in single ones where they differ.

    "allow"              nothing is reported
    "log"                copies that nobody asked for are warnings
    "disallow"           copies that nobody asked for are errors
    "log_explicit"       all are warnings
    "disallow_explicit"  all are errors, also `.to`, `.cpu` and `copy_`

    With `raises`, an operator that is about to do what is an error raises RuntimeError instead.
    """
    guards = _packed_raises(raises)
    for what, own in (
        (_HOST_TO_DEVICE, host_to_device),
        (_DEVICE_TO_HOST, device_to_host),
        (_DEVICE_TO_DEVICE, device_to_device),
    ):
        guards |= _packed(what, level if own is None else own)
    return _Guard(guards)


def sync_guard(level: str, *, raises: Optional[bool] = None) -> _Guard:
    """What waiting for a device means in this scope; the levels are those of transfer_guard()."""
    return _Guard(_packed(_HOST_WAIT, level) | _packed_raises(raises))


def allow_sync() -> _Guard:
    """Waiting for a device is intended in this scope."""
    return sync_guard("allow")


def allow_transfer() -> _Guard:
    """Copies between devices are intended in this scope."""
    return transfer_guard("allow")


def expect_no_sync(*, raises: Optional[bool] = None) -> _Guard:
    """Waiting for a device is a bug in this scope, also where the program spells it out."""
    return sync_guard("disallow_explicit", raises=raises)


class SyncCounts(_Scope):
    """What happened in a scope of count_syncs(): so far inside it, in all after it."""

    def __init__(self):
        super().__init__()
        self._final = [0] * 4

    def _enter(self, functions):
        return functions.count_enter()

    def _recreate_cm(self):
        return SyncCounts()

    def __enter__(self):
        if not runtime.is_active():
            raise RuntimeError(
                "devsan.count_syncs() sees nothing here: start the program with `devsan run -- CMD`, "
                "or skip the test where devsan.is_active() is false"
            )
        if self._open:
            raise RuntimeError("devsan.count_syncs(): this scope is open already")
        return super().__enter__()

    def __exit__(self, *exception):
        self._final = [self._read(what) for what in range(4)]
        return super().__exit__(*exception)

    def _read(self, what):
        return runtime.functions().count_read(self._open[-1], what) if self._open else self._final[what]

    @property
    def syncs(self) -> int:
        """Waits of the host for a device."""
        return self._read(_HOST_WAIT)

    @property
    def host_to_device(self) -> int:
        """Copies in this direction, whether the host waited for them or not."""
        return self._read(_HOST_TO_DEVICE)

    @property
    def device_to_host(self) -> int:
        return self._read(_DEVICE_TO_HOST)

    @property
    def device_to_device(self) -> int:
        return self._read(_DEVICE_TO_DEVICE)

    def __repr__(self):
        return (f"SyncCounts(syncs={self.syncs}, host_to_device={self.host_to_device}, "
                f"device_to_host={self.device_to_host}, device_to_device={self.device_to_device})")


def count_syncs() -> SyncCounts:
    """Counts what happens in this scope, on this thread and in the backwards started here, whatever the guards say.

        with devsan.count_syncs() as counts:
            model(batch).sum().backward()
        assert counts.syncs <= 1, counts

    Raises RuntimeError where the program does not run under `devsan run`, and so nothing would be counted.
    """
    return SyncCounts()
