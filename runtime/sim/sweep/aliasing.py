"""Runs random programs of tensors that share memory on the CPU and on two simulated devices, and compares every tensor.

usage: aliasing.py [--full] [--seeds FIRST[-LAST]] [--steps N] [--verbose]

A program is a list of statements: views of views, in-place and out= operators, set_, .data, resizes of tensors and
storages, lazy clones, freed tensors, copies between devices and to pinned memory, streams, and CUDA graphs that are
replayed among all that. Both sides run each statement, and both must refuse it or neither; then values, shapes, strides,
offsets, versions, sizes of storages and which tensors share one must be equal: after every statement for half of the
seeds, at the end and now and then for the others, because reading a tensor waits for its device. A program that differs is
made as short as it can be and printed. The status is 1 if one differs.
Needs DEVSAN_SIM_DEVICES=2, DEVSAN_LIBS and the package `devsan` on PYTHONPATH, as `devsan run --sim=2` sets them.
"""

import argparse
import random
import re
import sys
import time
import warnings

from devsan import sim

sim.install()

import torch

SHORT, LONG = 60, 6000  # programs
MOST = 10  # tensors at once
DTYPES = ("float32", "int64", "float64", "complex64", "uint8", "int16")
MODES = ("torch.no_grad()", "torch.inference_mode()", "torch.enable_grad()")


class Graph:
    """What a graph does, by the CPU: its statements run again on what its names stood for when it was captured."""

    def __init__(self, world, body):
        self.body = body
        self.names = world.detached()
        world.run_body(body, self.names)

    def replay(self, world):
        # The host knows nothing of what a replay writes.
        counted = tuple(tensor for tensor in self.names.values() if version_of(tensor) is not None)
        with torch.autograd._unsafe_preserve_version_counter(counted):
            for kind, name, code in self.body:
                if kind == "new":
                    self.names[name].copy_(eval(code, world.scope, {"t": self.names}))
                elif kind == "do":
                    exec(code, world.scope, {"t": self.names})


class World:
    """The tensors of one side, and what its statements call."""

    def __init__(self):
        self.tensors, self.graphs = {}, {}
        self.scope = {
            "torch": torch, "t": self.tensors, "d": self.devices, "full": self.full, "to": self.to, "pinned": self.pinned,
            "fetch": self.fetch, "stream": self.stream, "sync": self.sync, "capture": self.capture,
            "replay": self.replay, "grow": self.grow, "out": self.out,
            "current": self.current, "empty_cache": self.empty_cache, "record_stream": self.record_stream,
        }  # fmt: skip

    def is_sound(self):
        """ATen's set_() leaves strides that reach beyond the storage."""
        for tensor in self.tensors.values():
            last = tensor.storage_offset() + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride()))
            if tensor.numel() and (last + 1) * tensor.itemsize > tensor.untyped_storage().nbytes():
                return False
        return True

    def run(self, code):
        """The kind of the error, or None."""
        try:
            exec(code, self.scope)
        except KeyError:
            raise
        except Exception as error:
            return error
        return None

    def detached(self):
        """What a graph knows: changes of a tensor's shape and memory are not seen by it."""
        return {key: value.detach() for key, value in self.tensors.items() if version_of(value) is not None}

    def add_results(self, body, names):
        self.tensors.update({key: names[key].data for kind, key, _ in body if kind != "do"})

    def run_body(self, body, names):
        """All of it or nothing where a name is not there."""
        made = {name for _, name, _ in body}
        for _, _, code in body:
            for name in map(int, re.findall(r"t\[(\d+)\]", code)):
                if name not in made:
                    names[name]
        for kind, name, code in body:
            if kind == "do":
                exec(code, self.scope, {"t": names})
            else:
                names[name] = eval(code, self.scope, {"t": names})

    def full(self, shape, dtype, device, first):
        """Small numbers, so that sums are exact in every order."""
        count = torch.Size(shape).numel()
        return ((torch.arange(count) * 7 + first) % 11).to(getattr(torch, dtype)).reshape(shape).to(self.devices[device], copy=True)

    def grow(self, tensor, resize):
        """New memory holds anything, also where an operator resizes its result and refuses the rest."""
        before = tensor.untyped_storage().nbytes()
        try:
            resize(tensor)
        finally:
            self.clear_from(tensor, before)

    def clear_from(self, tensor, begin):
        storage = tensor.untyped_storage()
        if storage.nbytes() > begin:
            torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)[begin:].zero_()

    def out(self, tensor, operator):
        """An out= operator writes all of its result, unless it refuses what it is given."""
        before = tensor.untyped_storage().nbytes()
        try:
            operator(tensor)
        except Exception:
            self.clear_from(tensor, before)
            raise


class Host(World):
    devices = (torch.device("cpu"), torch.device("cpu"))

    def to(self, tensor, device, non_blocking=False):
        return tensor.to("cpu", copy=True)

    def pinned(self, tensor):
        return torch.empty_like(tensor).copy_(tensor)

    def fetch(self, tensor, source):
        tensor.copy_(source)

    def stream(self, number):
        pass

    sync = current = empty_cache = record_stream = stream

    def capture(self, name, body):
        self.graphs[name] = graph = Graph(self, body)
        self.add_results(body, graph.names)

    def replay(self, name):
        self.graphs[name].replay(self)


class Device(World):
    devices = (torch.device("cuda:0"), torch.device("cuda:1"))

    def __init__(self):
        super().__init__()
        self.streams = [[torch.cuda.default_stream(d), torch.cuda.Stream(d), torch.cuda.Stream(d)] for d in self.devices]
        self.number = 0
        torch.cuda.set_device(0)
        self.stream(0)

    def to(self, tensor, device, non_blocking=False):
        return tensor.to(device, copy=True, non_blocking=non_blocking)

    def pinned(self, tensor):
        return torch.empty_like(tensor, device="cpu", pin_memory=True).copy_(tensor)

    def fetch(self, tensor, source):
        """Into pinned memory, which nobody reads before the copy has come, although autograd may refuse it afterwards."""
        try:
            tensor.copy_(source, non_blocking=True)
        finally:
            self.sync(0)

    def stream(self, number):
        """All that is on one stream of a device comes before what is on its next one, so that nothing races."""
        for mine in self.streams:
            mine[number].wait_stream(mine[self.number])
        device = torch.cuda.current_device()
        for mine in self.streams:
            torch.cuda.set_stream(mine[number])
        torch.cuda.set_device(device)
        self.number = number

    def sync(self, number):
        torch.cuda.synchronize(number % 2)
        torch.cuda.synchronize(1 - number % 2)

    def current(self, number):
        torch.cuda.set_device(number)

    def empty_cache(self, number):
        torch.cuda.empty_cache()

    def record_stream(self, number):
        for tensor in self.tensors.values():
            if tensor.is_cuda:
                plain = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
                plain.record_stream(self.streams[tensor.get_device()][number])

    def capture(self, name, body):
        graph, names = torch.cuda.CUDAGraph(), self.detached()
        device = torch.cuda.current_device()
        with torch.cuda.device(0):
            torch.cuda.synchronize()
            with torch.cuda.graph(graph):
                self.run_body(body, names)
        torch.cuda.set_device(device)
        self.stream(self.number)
        self.graphs[name] = graph
        self.replay(name)
        self.add_results(body, names)

    def replay(self, name):
        self.graphs[name].replay()


class Author:
    """Writes the next statement, by what the tensors are now on the CPU."""

    def __init__(self, seed, world):
        self.draw = random.Random(seed)
        self.tensors, self.graphs = world.tensors, world.graphs
        self.places = {}  # name: 0 or 1, a device; None: pinned memory
        self.frozen = set()  # names whose storage a graph knows by address
        self.next_places, self.next_frozen = {}, set()  # where the next statement succeeds
        self.names = 0

    def accept(self):
        """The statement has done what it says."""
        self.places.update(self.next_places)
        self.places = {name: self.places[name] for name in self.tensors}
        self.frozen = (self.frozen - self.next_places.keys() | self.next_frozen) & self.tensors.keys()

    def new(self, place):
        if len(self.tensors) >= MOST:
            name = self.draw.choice(sorted(self.tensors.keys() - self.frozen) or sorted(self.tensors))
        else:
            name = self.names = self.names + 1
        self.next_places[name] = place
        return name

    def pick(self, place=0, dtype=None, where=lambda tensor: True):
        """A tensor of the place, or None."""
        found = [
            name
            for name, tensor in self.tensors.items()
            if (place is any or self.places[name] == place) and (dtype is None or tensor.dtype == dtype) and where(tensor)
        ]
        return self.draw.choice(found) if found else None

    def shape(self):
        return tuple(self.draw.randint(1, 5) for _ in range(self.draw.choice((0, 1, 1, 2, 2, 2, 3))))

    def statement(self):
        kinds = (
            [self.create] * 2 + [self.view] * 6 + [self.change] * 5 + [self.write_out] * 4 + [self.compute] * 2
            + [self.rebind] * 3 + [self.lazy_clone] * 2 + [self.reshape] * 2 + [self.drop] + [self.order] * 2
            + [self.move] * 2 + [self.host] * 2 + [self.capture] + [self.replay] * 2
        )  # fmt: skip
        code = None
        while code is None:
            self.next_places, self.next_frozen = {}, set()
            code = self.draw.choice(kinds)()
        if self.draw.random() < 0.2 and "capture" not in code and "replay" not in code:
            return f"with {self.draw.choice(MODES)}: {code}"
        return code

    def create(self):
        place = self.draw.choice((0, 0, 0, 1))
        what = f"full({self.shape()}, '{self.draw.choice(DTYPES)}', {place}, {self.draw.randint(0, 9)})"
        return f"t[{self.new(place)}] = {what}"

    def view_of(self, name):
        tensor, draw = self.tensors[name], self.draw
        size, count = tensor.dim(), tensor.numel()
        dim = draw.randrange(size) if size else 0
        choices = ["detach()", "view_as(t[%d])" % name, "unsqueeze(0)", "alias()", "expand(2, *t[%d].shape)" % name, "flatten()"]
        if size:
            length = tensor.shape[dim]
            begin = draw.randint(0, max(length - 1, 0))
            choices += [
                f"narrow({dim}, {begin}, {draw.randint(0, length - begin)})",
                f"transpose({dim}, {draw.randrange(size)})",
                f"view({draw.choice([(-1,), (count,), (1, count), (count, 1)])})" if count else "view(-1)",
                f"reshape({(-1, 2) if count % 2 == 0 else (-1,)})" if count else "reshape(-1)",
                f"unbind({dim})[0]",
                f"split(2, {dim})[-1]",
                f"chunk(2, {dim})[0]",
                f"unfold({dim}, 1, {draw.randint(1, 2)})",
                f"select({dim}, {begin})",
                f"slice({dim}, {begin}, None, 2)",
                "squeeze()",
                "permute(*range(t[%d].dim() - 1, -1, -1))" % name,
                "movedim(0, -1)",
            ]
        if size >= 2:
            choices += ["diagonal()", "mT", "swapaxes(0, 1)"]
        if tensor.is_complex():
            choices += ["real", "imag", "conj()", "conj().imag"]
        choices += ["view_dtype(torch.%s)" % draw.choice(("uint8", "int16", "int32", "float32", "int64"))]
        held = tensor.untyped_storage().nbytes() // tensor.itemsize
        offset = draw.randint(0, max(held - 1, 0))
        strides = (draw.randint(0, 3), draw.randint(0, 3))
        sizes = (draw.randint(1, 3), draw.randint(1, 3))
        if offset + (sizes[0] - 1) * strides[0] + (sizes[1] - 1) * strides[1] < held:
            choices += [f"as_strided({sizes}, {strides}, {offset})"] * 3
        chosen = draw.choice(choices)
        if chosen == "alias()":
            return f"torch.ops.aten.alias(t[{name}])"
        if chosen.startswith("slice("):
            return f"torch.ops.aten.slice(t[{name}], {chosen[6:]}"
        return f"t[{name}].{chosen.replace('view_dtype', 'view')}"

    def view(self):
        place = self.draw.choice((0, 0, 1))
        if (name := self.pick(place)) is None:
            return None
        code = self.view_of(name)
        frozen = name in self.frozen
        target = self.new(place)
        if frozen:
            self.next_frozen.add(target)
        return f"t[{target}] = {code}"

    def operand(self, name, others=None):
        """A number or a tensor that fits, of the same place."""
        tensor = self.tensors[name]
        pool = self.tensors if others is None else others
        fitting = [
            other
            for other in pool
            if self.places[other] == self.places[name]
            and self.tensors[other].dtype == tensor.dtype
            and all(a in (1, b) for a, b in zip(reversed(self.tensors[other].shape), reversed(tensor.shape)))
            and self.tensors[other].dim() <= tensor.dim()
        ]
        if fitting and self.draw.random() < 0.8:
            return f"t[{self.draw.choice(fitting)}]"
        return str(self.draw.randint(0, 3))

    def change_of(self, name, simple=False, others=None):
        tensor, draw = self.tensors[name], self.draw
        other = self.operand(name, others)
        choices = [f"add_({other})", f"sub_({other})", f"fill_({draw.randint(0, 9)})", "zero_()", f"mul_({draw.randint(-1, 2)})", "neg_()"]
        choices += [f"copy_({other})"] if other.startswith("t") else []
        if simple:
            return f"t[{name}].{draw.choice(choices)}"
        if not tensor.is_complex():
            choices += ["clamp_(-9, 9)", f"masked_fill_(t[{name}] > 3, 2)", "abs_()"]
        if tensor.dim():
            dim = draw.randrange(tensor.dim())
            index = f"torch.arange({tensor.shape[dim]}, device=t[{name}].device)[::2]"
            choices += [
                f"index_fill_({dim}, {index}, 1)", f"cumsum_({dim})", f"index_add_({dim}, {index}, t[{name}].index_select({dim}, {index}))",
                f"__setitem__(slice(None, None, 2), {draw.randint(0, 9)})", f"__setitem__(0, {other if not other.startswith('t') else 1})",
                f"scatter_({dim}, torch.zeros_like(t[{name}], dtype=torch.int64), 4)", f"data.add_({draw.randint(0, 3)})",
                f"transpose_(0, {dim})", "squeeze_()", "unsqueeze_(0)",
            ]  # fmt: skip
        return f"t[{name}].{draw.choice(choices)}"

    def change(self):
        if (name := self.pick(self.draw.choice((0, 0, 1)))) is None:
            return None
        if self.draw.random() < 0.1:
            return f"torch._foreach_add_([t[{name}], t[{name}].detach()], 1)"
        return self.change_of(name)

    def write_out(self):
        if (name := self.pick(self.draw.choice((0, 0, 1)))) is None:
            return None
        tensor = self.tensors[name]
        # A result of another shape is resized.
        out = self.pick(self.places[name], tensor.dtype)
        if (out in self.frozen or torch._C._is_cow_tensor(self.tensors[out])) and self.tensors[out].shape != tensor.shape:
            return None
        other = self.operand(name)
        first = f"t[{name}]"
        # An operand that a kernel overwrites, or whose memory it frees, has no value.
        operands = {self.tensors[used].untyped_storage()._cdata for used in map(int, re.findall(r"t\[(\d+)\]", first + other))}
        apart = self.tensors[out].untyped_storage()._cdata not in operands
        if not apart and self.tensors[out].shape != tensor.shape:
            return None
        choices = [f"add({first}, {other}, out=t[{out}])"] * 3 + [f"neg({first}, out=t[{out}])", f"mul({first}, 1, out=t[{out}])"]
        if tensor.dim() and apart and out not in self.frozen and not torch._C._is_cow_tensor(self.tensors[out]):
            dim = self.draw.randrange(tensor.dim())
            index = f"torch.arange({tensor.shape[dim]}, device={first}.device)[::2]"
            choices += [
                f"cat(({first}, {first}), out=t[{out}])", f"stack(({first}, {first}), out=t[{out}])",
                f"index_select({first}, {dim}, {index}, out=t[{out}])", f"cumsum({first}, {dim}, out=t[{out}])",
                f"where({first} == 1, {first}, {other}, out=t[{out}])", f"take({first}, torch.zeros(2, dtype=torch.int64, device={first}.device), out=t[{out}])",
            ]  # fmt: skip
            if tensor.dtype == torch.int64:
                choices += [f"sort({first}, {dim}, out=(out, torch.empty_like(out)))"]
            if tensor.is_floating_point():
                choices += [f"sum({first}, {dim}, out=t[{out}])", f"amax({first}, {dim}, out=t[{out}])"]
            if tensor.dim() == 2 and tensor.is_floating_point():
                choices += [f"mm({first}, {first}.t(), out=t[{out}])"]
        return f"out(t[{out}], lambda out: torch.{self.draw.choice(choices).replace(f'out=t[{out}]', 'out=out')})"

    def result_of(self, name):
        first, other = f"t[{name}]", self.operand(name)
        choices = [f"{first} + {other}", f"{first} * 2", f"{first}.clone()", f"-{first}", f"torch.cat(({first}.view(-1), {first}.view(-1)))"]
        return self.draw.choice(choices)

    def compute(self):
        if (name := self.pick(self.draw.choice((0, 0, 1)))) is None:
            return None
        code = self.draw.choice((self.result_of(name), f"t[{name}].contiguous()", f"t[{name}].sort()[0]" if not self.tensors[name].is_complex() else f"t[{name}].sum()"))
        frozen = name in self.frozen and "contiguous" in code
        target = self.new(self.places[name])
        if frozen:
            self.next_frozen.add(target)
        return f"t[{target}] = {code}"

    def rebind(self):
        """A tensor gets the memory of another."""
        name = self.pick(self.draw.choice((0, 0, 1)))
        # ATen copies into a conjugate or negative view what set_() has done to a copy of it.
        if name is None or self.tensors[name].is_conj() or self.tensors[name].is_neg():
            return None
        other = self.pick(self.places[name], self.tensors[name].dtype)
        if other in self.frozen or name in self.frozen:
            self.next_frozen = {name, other}
        held = self.tensors[other].untyped_storage().nbytes() // self.tensors[other].itemsize
        choices = [f"t[{name}].set_(t[{other}])", f"t[{name}].data = t[{other}]", f"t[{name}].data = t[{other}].data[:1]" if self.tensors[other].dim() else f"t[{name}].data = t[{other}]"]
        if held:
            offset, length = self.draw.randrange(held), 0
            length = self.draw.randint(0, held - offset)
            choices += [
                f"t[{name}].set_(t[{other}].untyped_storage(), {offset}, ({length},), (1,))",
                f"t[{name}].set_(t[{other}].storage())",
                f"t[{name}].as_strided_(({length},), (1,), {offset})" if held == self.tensors[name].untyped_storage().nbytes() // self.tensors[name].itemsize else f"t[{name}].set_()",
                f"torch.utils.swap_tensors(t[{name}], t[{other}])",
                f"t[{name}].untyped_storage().copy_(t[{other}].untyped_storage()) if t[{name}].untyped_storage().nbytes() == t[{other}].untyped_storage().nbytes() else None",
                f"t[{name}].untyped_storage().fill_(1)",
            ]  # fmt: skip
        return self.draw.choice(choices)

    def lazy_clone(self):
        name = self.pick(self.draw.choice((0, 0, 1)))
        if name is None or name in self.frozen:
            return None
        return f"t[{self.new(self.places[name])}] = torch._lazy_clone(t[{name}])"

    def reshape(self):
        name = self.pick(self.draw.choice((0, 0, 1)))
        # ATen's own resizing of a lazy clone asserts.
        if name is None or name in self.frozen or torch._C._is_cow_tensor(self.tensors[name]):
            return None
        size = self.tensors[name].untyped_storage().nbytes()
        return self.draw.choice(
            (
                f"grow(t[{name}], lambda t: t.resize_({self.shape()}))",
                f"grow(t[{name}], lambda t: t.resize_({self.shape()}))",
                f"grow(t[{name}], lambda t: t.untyped_storage().resize_({size + self.draw.choice((8, 64))}))",
                f"t[{name}].resize_as_(t[{name}])",
            )
        )

    def drop(self):
        return f"del t[{self.pick(any)}]" if len(self.tensors) > 3 else None

    def order(self):
        number = self.draw.randrange(3)
        return self.draw.choice((f"stream({number})", f"stream({number})", f"sync({number})", f"current({number % 2})", f"empty_cache({number})", f"record_stream({number})"))

    def move(self):
        name = self.pick(self.draw.choice((0, 1)))
        if name is None:
            return None
        place = self.draw.choice((0, 1))
        same = self.pick(1 - self.places[name], where=lambda t: t.shape == self.tensors[name].shape)
        if same is not None and self.draw.random() < 0.5:
            return f"t[{same}].copy_(t[{name}])"
        return f"t[{self.new(place)}] = to(t[{name}], d[{place}])"

    def host(self):
        """Pinned memory: from there late copies are made, and to there."""
        kind = self.draw.randrange(4)
        if kind == 0:
            name = self.pick(0)
            return None if name is None else f"t[{self.new(None)}] = pinned(t[{name}])"
        name = self.pick(None)
        if name is None:
            return None
        if kind == 1:
            return f"t[{self.new(0)}] = to(t[{name}], d[0], non_blocking=True)"
        place = self.pick(0, self.tensors[name].dtype, lambda t: t.shape == self.tensors[name].shape)
        if place is None:
            return f"t[{self.new(0)}] = to(t.pop({name}), d[0], non_blocking=True)"
        if kind == 2:
            return f"t[{place}].copy_(t[{name}], non_blocking=True)"
        return f"fetch(t[{name}], t[{place}])"

    def capture(self):
        """Statements on device 0; the graph knows the memory of what they name."""
        used = [name for name in self.tensors if self.places[name] == 0]
        used = [name for name in used if not torch._C._is_cow_tensor(self.tensors[name]) and version_of(self.tensors[name]) is not None]
        if not used or len(self.tensors) >= MOST or len(self.graphs) >= 3:
            return None
        body = []
        for _ in range(self.draw.randint(1, 4)):
            name = self.draw.choice(used)
            kind = self.draw.choice(("new", "view", "do"))
            if kind == "do":
                body.append(("do", None, self.change_of(name, simple=True, others=used)))
            else:
                code = f"torch.ops.aten.alias(t[{name}])" if kind == "view" else self.draw.choice((f"t[{name}] + 1", f"t[{name}] * 2", f"t[{name}].clone()"))
                body.append((kind, self.names + 1, code))
                self.names += 1
                self.next_places[self.names] = 0
        made = [name for kind, name, _ in body if kind != "do"]
        storages = {self.tensors[name].untyped_storage()._cdata for name in used}
        self.next_frozen = {name for name, tensor in self.tensors.items() if tensor.untyped_storage()._cdata in storages} | set(made)
        return f"capture({len(self.graphs) + 1}, {body})"

    def replay(self):
        return f"replay({self.draw.choice(sorted(self.graphs))})" if self.graphs else None


class Different(Exception):
    at = "at the end"  # or a statement

    def is_like(self, other):
        """About the same, with other numbers and shapes."""
        kinds = [re.sub(r"[\d.+-]+|\w*inf|nan", "", str(error))[:60] for error in (self, other)]
        return self.at == other.at and kinds[0] == kinds[1]


def equal(name, what, host, device):
    if host != device:
        raise Different(f"t[{name}] {what}: {device}, on the CPU {host}")


def same_values(host, device):
    try:
        device = device.cpu()
    except RuntimeError as error:
        raise Different(f"a tensor of {device.shape} {device.stride()} is not read: {error}") from error
    if torch.equal(host, device):
        return True
    return torch.allclose(host.resolve_conj(), device.resolve_conj(), rtol=1e-5, atol=0, equal_nan=True)


def version_of(tensor):
    try:
        return tensor._version
    except RuntimeError:  # an inference tensor
        return None


def compare(host, device):
    equal("...", "names", sorted(host), sorted(device))
    storages = [{}, {}]
    for name in host:
        one, other = host[name], device[name]
        for what in (
            lambda t: tuple(t.shape), lambda t: t.stride(), lambda t: t.storage_offset(), lambda t: t.dtype, lambda t: t.is_conj(),
            lambda t: t.is_inference(), lambda t: t.untyped_storage().nbytes(), version_of,
        ):  # fmt: skip
            if what(one) != what(other):
                raise Different(f"t[{name}]: {what(other)}, on the CPU {what(one)}")
        groups = [first.setdefault(t.untyped_storage()._cdata, name) for first, t in zip(storages, (one, other))]
        equal(name, "shares the storage of", *groups)
        with torch.no_grad():
            if not same_values(one, other):
                raise Different(f"t[{name}]: {other.tolist()}, on the CPU {one.tolist()}")


def compare_errors(host, device):
    if (host is None) != (device is None):
        raise Different(f"{type(device).__name__}: {device}; on the CPU {type(host).__name__}: {host}".replace("\n", " ")[:400])


def run(program, each_step):
    """The Different that a list of statements gives, or None. Statements on tensors that are not there are passed over."""
    host, device = Host(), Device()
    for code in program:
        try:
            failure = host.run(code)
        except (KeyError, AttributeError):
            continue
        if "INTERNAL ASSERT" in str(failure) or not host.is_sound():
            return None  # nothing to compare with
        try:
            compare_errors(failure, device.run(code))
            if each_step or random.Random(code).random() < 0.1:
                compare(host.tensors, device.tensors)
        except Different as error:
            error.at = code
            return error
    try:
        compare(host.tensors, device.tensors)
    except Different as error:
        return error
    return None


def shortest(program, each_step, first):
    """Without what the difference `first` does not need."""
    shorter = True
    while shorter:
        shorter = False
        for position in range(len(program) - 1, -1, -1):
            candidate = program[:position] + program[position + 1 :]
            found = run(candidate, each_step)
            if found is not None and found.is_like(first):
                program, shorter = candidate, True
    return program


def check(seed, steps, verbose):
    """The statements that ran, and the Different that they gave or None."""
    each_step = seed % 2 == 0
    host, program = Host(), []
    author = Author(seed, host)
    for _ in range(steps):
        code = author.statement()
        if verbose:
            print(f"  {code}", flush=True)
        failure = host.run(code)
        if failure is None:
            author.accept()
        elif "capture" in code:
            break  # the CPU has done half of it, a device nothing
        if not host.is_sound():
            break
        program.append(code)
    found = run(program, each_step)
    if found is not None:
        program = shortest(program, each_step, found)
        found = run(program, each_step) or found
    return program, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help=f"{LONG} programs instead of {SHORT}")
    parser.add_argument("--seeds", help="the programs of these seeds, such as 7 or 100-199")
    parser.add_argument("--steps", type=int, default=40, help="statements in a program (default 40)")
    parser.add_argument("--verbose", action="store_true", help="every statement, before it runs")
    options = parser.parse_args()
    try:
        first, _, last = (options.seeds or f"0-{(LONG if options.full else SHORT) - 1}").partition("-")
        seeds = range(int(first), int(last or first) + 1)
    except ValueError:
        parser.error(f"argument --seeds: '{options.seeds}' is no number and no two numbers with '-' between them")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    started, statements, different = time.perf_counter(), 0, 0
    for seed in seeds:
        program, found = check(seed, options.steps, options.verbose)
        statements += len(program)
        if found is not None:
            different += 1
            print(f"seed {seed}: {found}\n  in {found.at}\n" + "\n".join(f"    {code}" for code in program), flush=True)
    print(f"aliasing: {len(seeds)} programs, {statements} statements, {different} different in {time.perf_counter() - started:.0f} s")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
