"""Streams, events and late copies on simulated devices, as programs meet them. Run by ctest with the environment that
`devsan run --sim=2` sets."""

import ctypes
import os
import subprocess
import sys
import threading
import time
import unittest

from devsan import sim

sim.install()

import torch

FIRST, SECOND = torch.device("cuda:0"), torch.device("cuda:1")


def pinned(*values):
    return torch.tensor(values or (0.0, 0.0, 0.0)).pin_memory()


class Sleep(unittest.TestCase):
    """What PyTorch's own tests make a stream busy with."""

    def test_what_comes_after_it_is_not_done_at_once(self):
        stream, event = torch.cuda.Stream(1), torch.cuda.Event()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(1_000_000)
            event.record()
        self.assertTrue(torch.cuda.current_stream(1).query())
        self.assertFalse(event.query())
        event.synchronize()
        self.assertTrue(stream.query())

    def test_released_memory_stays_while_a_stream_that_uses_it_sleeps(self):
        stream = torch.cuda.Stream(0)
        x = torch.ones(1000, device="cuda:0")
        with torch.cuda.stream(stream):
            torch.cuda._sleep(1_000_000)
        x.record_stream(stream)
        address = x.data_ptr()
        del x
        self.assertNotEqual(torch.ones(1000, device="cuda:0").data_ptr(), address)
        stream.synchronize()


class Identity(unittest.TestCase):
    def test_pools(self):
        ids = [torch.cuda.Stream(1).stream_id for _ in range(33)]
        self.assertEqual(len(set(ids)), 32)
        self.assertEqual(ids[0], ids[32])
        self.assertTrue(all(one & 1 and (one >> 1) & 15 == 1 and one >> 5 < 32 for one in ids))
        self.assertEqual((torch.cuda.Stream(1, priority=-1).stream_id >> 1) & 15, 2)

    def test_priorities(self):
        least, greatest = torch.cuda.Stream.priority_range()
        self.assertEqual((least, greatest), (0, -3))
        for asked, given in ((0, 0), (-1, -1), (-3, -3), (-9, -3), (4, 0)):
            self.assertEqual(torch.cuda.Stream(priority=asked).priority, given)
        self.assertEqual(torch.cuda.default_stream().priority, 0)

    def test_equality(self):
        stream = torch.cuda.Stream(1)
        with torch.cuda.stream(stream):
            same = torch.cuda.current_stream(1)
        self.assertEqual(stream, same)
        self.assertEqual(hash(stream), hash(same))
        self.assertNotEqual(stream, torch.cuda.default_stream(1))
        self.assertNotEqual(torch.cuda.default_stream(0), torch.cuda.default_stream(1))
        self.assertFalse(stream == 3)
        self.assertRegex(repr(stream), r"^<torch.cuda.Stream device=cuda:1 cuda_stream=0x[0-9a-f]+>$")
        self.assertEqual(repr(torch.cuda.default_stream(1)), "<torch.cuda.Stream device=cuda:1 cuda_stream=0x0>")
        self.assertEqual(len({torch.cuda.Stream().cuda_stream for _ in range(40)}), 32)

    def test_current_streams(self):
        a, b = torch.cuda.Stream(0), torch.cuda.Stream(1)
        seen = []
        with torch.cuda.stream(a), torch.cuda.stream(b):
            self.assertEqual(torch.cuda.current_device(), 1)
            self.assertEqual((torch.cuda.current_stream(0), torch.cuda.current_stream(1)), (a, b))
            self.assertEqual(torch._C._cuda_getCurrentRawStream(1), b.cuda_stream)
            thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_stream(1)))
            thread.start()
            thread.join()
            with torch.cuda.stream(None):
                self.assertEqual(torch.cuda.current_stream(), b)
        self.assertEqual(torch.cuda.current_device(), 0)
        self.assertEqual(torch.cuda.current_stream(1), torch.cuda.default_stream(1))
        self.assertEqual(seen, [torch.cuda.default_stream(1)])

    def test_external_streams(self):
        stream = torch.cuda.Stream(1, priority=-1)
        external = torch.cuda.ExternalStream(stream.cuda_stream, device=1)
        self.assertEqual(external.device, SECOND)
        self.assertEqual((external.cuda_stream, external.priority), (stream.cuda_stream, -1))
        self.assertEqual(torch.cuda.get_stream_from_external(stream.cuda_stream, 1), external)
        with torch.cuda.stream(external):
            self.assertEqual(torch.cuda.current_stream(1), external)
        self.assertEqual(stream.__cuda_stream__(), (0, stream.cuda_stream))
        with self.assertRaisesRegex(RuntimeError, "Priority was explicitly set for a external stream"):
            torch.cuda.ExternalStream(stream.cuda_stream, device=1, priority=-1)

    def test_an_external_stream_of_the_runtime(self):
        runtime, handle = torch.cuda.cudart(), ctypes.c_void_p()
        self.assertEqual(runtime.cudaStreamCreate(ctypes.addressof(handle)), 0)
        external = torch.cuda.ExternalStream(handle.value)
        self.assertEqual(external.cuda_stream, handle.value)
        with torch.cuda.stream(external):
            self.assertEqual(torch.cuda.current_stream().cuda_stream, handle.value)
        self.assertEqual(runtime.cudaStreamDestroy(handle.value), 0)

    def test_an_external_stream_is_ordered_as_its_original(self):
        host = pinned()
        stream = torch.cuda.Stream(1)
        with torch.cuda.stream(stream):
            host.copy_(torch.ones(3, device=SECOND), non_blocking=True)
        torch.cuda.ExternalStream(stream.cuda_stream, device=1).synchronize()
        self.assertEqual(host.tolist(), [1, 1, 1])

    def test_an_external_stream_shares_its_originals_memory(self):
        stream = torch.cuda.Stream(1)
        with torch.cuda.stream(stream):
            first = torch.empty(1 << 20, device=SECOND)
            address = first.data_ptr()
            del first
        with torch.cuda.stream(torch.cuda.ExternalStream(stream.cuda_stream, device=1)):
            self.assertEqual(torch.empty(1 << 20, device=SECOND).data_ptr(), address)

    def test_accelerator_streams(self):
        stream = torch.Stream("cuda:1")
        with stream:
            self.assertEqual(torch.accelerator.current_stream(1), stream)
            self.assertEqual(torch.cuda.current_stream(1).stream_id, stream.stream_id)
        self.assertEqual(stream.native_handle, torch.cuda.Stream(stream_id=stream.stream_id, device_index=1).cuda_stream)


class Events(unittest.TestCase):
    def test_before_the_record(self):
        event = torch.cuda.Event()
        self.assertTrue(event.query())
        event.synchronize()
        event.wait()
        self.assertIsNone(event.device)
        self.assertEqual(event.cuda_event, 0)
        self.assertEqual(repr(event), "<torch.cuda.Event uninitialized>")
        event.record(torch.cuda.Stream(1))
        self.assertEqual(event.device, SECOND)
        self.assertRegex(repr(event), "^<torch.cuda.Event 0x[0-9a-f]+>$")
        with self.assertRaisesRegex(RuntimeError, "Event device index 1 does not match recording stream's device index 0"):
            event.record(torch.cuda.default_stream(0))

    def test_times(self):
        start, end, untimed = (torch.cuda.Event(enable_timing=timed) for timed in (True, True, False))
        with self.assertRaisesRegex(ValueError, "Both events must be recorded before calculating elapsed time."):
            start.elapsed_time(end)
        start.record()
        untimed.record()
        with self.assertRaisesRegex(ValueError, "Both events must be created with argument 'enable_timing=True'."):
            start.elapsed_time(untimed)
        host = pinned()
        host.copy_(torch.ones(3, device=FIRST), non_blocking=True)
        end.record()
        with self.assertRaisesRegex(RuntimeError, "Both events must be completed before calculating elapsed time."):
            start.elapsed_time(end)
        end.synchronize()
        self.assertGreater(start.elapsed_time(end), 0.0)
        self.assertLess(end.elapsed_time(start), 0.0)
        other = torch.cuda.Event(enable_timing=True)
        other.record(torch.cuda.Stream(1))
        with self.assertRaisesRegex(torch.AcceleratorError, "CUDA error: invalid resource handle"):
            start.elapsed_time(other)
        generic = [torch.Event("cuda", enable_timing=True) for _ in range(2)]
        for index, event in enumerate(generic):
            event.record(torch.Stream(f"cuda:{index}"))
        with self.assertRaisesRegex(RuntimeError, "CUDA error: invalid resource handle"):
            generic[0].elapsed_time(generic[1])

    def test_kinds(self):
        event = torch.cuda.Event(blocking=True, interprocess=True)
        event.record()
        with self.assertRaisesRegex(NotImplementedError, "not simulated: torch.cuda.Event.ipc_handle"):
            event.ipc_handle()
        with self.assertRaisesRegex(NotImplementedError, "not simulated: torch.cuda.Event.from_ipc_handle"):
            torch.cuda.Event.from_ipc_handle(FIRST, bytes(64))
        generic = torch.Event("cuda", enable_timing=True)
        torch.cuda.current_stream().record_event(generic)
        torch.cuda.Stream().wait_event(generic)
        self.assertTrue(generic.query())


def wait_by_item(stream, event, host):
    with torch.cuda.stream(stream):
        torch.ones(1, device=SECOND).item()


def wait_by_nonzero(stream, event, host):
    with torch.cuda.stream(stream):
        torch.ones(1, device=SECOND).nonzero()


def wait_by_download(stream, event, host):
    with torch.cuda.stream(stream):
        torch.ones(1, device=SECOND).cpu()


def wait_by_pageable_download(stream, event, host):
    with torch.cuda.stream(stream):
        torch.empty(1).copy_(torch.ones(1, device=SECOND), non_blocking=True)


def wait_by_upload(stream, event, host):
    with torch.cuda.stream(stream):
        torch.ones(1).to(SECOND)


def wait_by_stream_query(stream, event, host):
    while not stream.query():
        pass


def wait_by_event_query(stream, event, host):
    while not event.query():
        pass


def wait_on_another_stream(stream, event, host):
    other = torch.cuda.Stream(0)
    other.wait_event(event)
    last = torch.cuda.Stream(1)
    last.wait_stream(other)
    last.synchronize()


def wait_in_another_thread(stream, event, host):
    thread = threading.Thread(target=event.synchronize)
    thread.start()
    thread.join()


WAYS_TO_WAIT = (
    lambda stream, event, host: stream.synchronize(),
    lambda stream, event, host: event.synchronize(),
    lambda stream, event, host: torch.cuda.synchronize(1),
    lambda stream, event, host: torch.accelerator.synchronize(1),
    wait_by_item,
    wait_by_download,
    wait_by_pageable_download,
    wait_by_upload,
    wait_by_stream_query,
    wait_by_event_query,
    wait_on_another_stream,
    wait_in_another_thread,
)


class Downloads(unittest.TestCase):
    def test_arrive_when_the_host_waits(self):
        for wait in WAYS_TO_WAIT:
            for _ in range(3):
                stream, event, host = torch.cuda.Stream(1), torch.cuda.Event(), pinned()
                with torch.cuda.stream(stream):
                    host.copy_(torch.ones(3, device=SECOND), non_blocking=True)
                    event.record()
                self.assertEqual(host.tolist(), [0, 0, 0], wait)
                torch.cuda.current_stream(1).synchronize()
                torch.cuda.synchronize(0)
                torch.ones(1, device=SECOND).item()
                self.assertEqual(host.tolist(), [0, 0, 0], wait)
                wait(stream, event, host)
                self.assertEqual(host.tolist(), [1, 1, 1], wait)

    def test_every_way_to_ask_for_one(self):
        source = torch.arange(3.0, device=SECOND)
        destination, listed = pinned(7.0, 7.0, 7.0), [pinned(7.0, 7.0, 7.0), pinned(7.0, 7.0, 7.0)]
        destination.copy_(source, non_blocking=True)
        torch._foreach_copy_(listed, [source, source + 1], non_blocking=True)
        late = [destination, *listed]
        self.assertEqual([one.tolist() for one in late], [[7.0] * 3] * 3)
        moved = source.to("cpu", non_blocking=True)
        self.assertTrue(moved.is_pinned())
        torch.cuda.synchronize(1)
        self.assertEqual([one.tolist() for one in late], [[0, 1, 2], [0, 1, 2], [1, 2, 3]])
        self.assertEqual(moved.tolist(), [0, 1, 2])

    def test_what_is_read_late_in_place(self):
        # What a program reads of `.to("cpu", non_blocking=True)` before it waits is memory that nobody wrote.
        zeros = torch.zeros(1 << 16, device=SECOND)
        moved = (zeros + 5).to("cpu", non_blocking=True)
        moved.zero_()
        self.assertEqual(moved.sum().item(), 0)
        torch.cuda.synchronize(1)
        self.assertEqual(moved[:2].tolist(), [5, 5])

    def test_are_taken_when_issued(self):
        host, source = pinned(), torch.ones(3, device=SECOND)
        host.copy_(source, non_blocking=True)
        source.fill_(9)
        del source
        torch.cuda.synchronize(1)
        self.assertEqual(host.tolist(), [1, 1, 1])

    def test_shapes_and_types(self):
        source = torch.arange(6.0, device=SECOND).view(2, 3)
        for host, given, late in (
            (torch.empty(2, 3).pin_memory(), source, True),
            (torch.empty(2, 3, dtype=torch.int64).pin_memory(), source, True),
            (torch.empty(3, 2).pin_memory(), source.t(), True),
            (torch.empty(2, 2, 3).pin_memory(), source, True),
            (torch.empty(4, 3).pin_memory()[1:3], source, True),
            (torch.empty(3, 2).pin_memory().t(), source, False),
            (torch.empty(2, 6).pin_memory()[:, ::2], source, False),
        ):
            host.fill_(9)
            host.copy_(given, non_blocking=True)
            self.assertEqual(bool((host == 9).all()), late)
            torch.cuda.synchronize(1)
            self.assertTrue(torch.equal(host, given.cpu().to(host.dtype).expand_as(host)))
        channels_last = torch.rand(2, 3, 4, 5, device=SECOND).to(memory_format=torch.channels_last)
        host = torch.zeros(2, 3, 4, 5).pin_memory().to(memory_format=torch.channels_last).pin_memory()
        host.copy_(channels_last, non_blocking=True)
        self.assertEqual(host.abs().sum().item(), 0)
        torch.cuda.synchronize(1)
        self.assertTrue(torch.equal(host, channels_last.cpu()))

    def test_block_without_non_blocking_or_pinned_memory(self):
        source = torch.ones(3, device=SECOND)
        self.assertEqual(pinned().copy_(source).tolist(), [1, 1, 1])
        self.assertEqual(torch.zeros(3).copy_(source, non_blocking=True).tolist(), [1, 1, 1])
        self.assertEqual(source.cpu().tolist(), [1, 1, 1])
        self.assertEqual(torch.empty(0).pin_memory().copy_(torch.empty(0, device=SECOND), non_blocking=True).numel(), 0)

    def test_arrive_in_order(self):
        host = pinned()
        host.copy_(torch.ones(3, device=SECOND), non_blocking=True)
        host[1:].copy_(torch.full((2,), 2.0, device=SECOND), non_blocking=True)
        torch.cuda.synchronize(1)
        self.assertEqual(host.tolist(), [1, 2, 2])

    def test_a_later_upload_in_stream_order_sees_them(self):
        host = pinned()
        host.copy_(torch.ones(3, device=SECOND), non_blocking=True)
        self.assertEqual(host.to(SECOND, non_blocking=True).add(1).tolist(), [2, 2, 2])
        for synchronise in (True, False):
            host, stream = pinned(), torch.cuda.Stream(1)
            host.copy_(torch.ones(3, device=SECOND), non_blocking=True)
            if synchronise:
                stream.wait_stream(torch.cuda.current_stream(1))
            with torch.cuda.stream(stream):
                self.assertEqual(host.to(SECOND).tolist(), [1, 1, 1] if synchronise else [0, 0, 0])
            torch.cuda.synchronize(1)

    def test_queries(self):
        stream, event, host = torch.cuda.Stream(1), torch.cuda.Event(), pinned()
        with torch.cuda.stream(stream):
            event.record()
            host.copy_(torch.ones(3, device=SECOND), non_blocking=True)
        self.assertTrue(event.query())
        self.assertEqual([stream.query() for _ in range(3)], [False, True, True])
        self.assertEqual(host.tolist(), [1, 1, 1])

    def test_memory_is_kept(self):
        host = pinned()
        address = host.data_ptr()
        host.copy_(torch.ones(3, device=SECOND), non_blocking=True)
        del host
        others = [pinned(3.0, 3.0, 3.0) for _ in range(50)]
        self.assertNotIn(address, [other.data_ptr() for other in others])
        torch.cuda.synchronize(1)
        self.assertTrue(all(other.tolist() == [3, 3, 3] for other in others))

    def test_without_end(self):
        source = torch.ones(1 << 18, device=SECOND)
        before = peak_memory()
        for _ in range(2000):
            source.to("cpu", non_blocking=True)
        self.assertLess(peak_memory() - before, 1 << 29)

    def test_the_oldest_arrives_when_the_queue_is_full(self):
        hosts = [pinned() for _ in range(1030)]
        source = torch.ones(3, device=SECOND)
        for host in hosts:
            host.copy_(source, non_blocking=True)
        arrived = [host[0].item() == 1 for host in hosts]
        self.assertEqual((all(arrived[:6]), any(arrived[6:])), (True, False))
        torch.cuda.synchronize(1)
        self.assertTrue(all(host[0].item() == 1 for host in hosts))

    def test_a_program_that_never_waits(self):
        host, source = pinned(), torch.ones(3, device=SECOND)

        def seconds():
            start = time.thread_time()
            for _ in range(1500):
                host.copy_(source, non_blocking=True)
            return time.thread_time() - start

        rounds = [seconds() for _ in range(5)]
        torch.cuda.synchronize(1)
        self.assertLess(rounds[4], 2 * rounds[1])

    def test_allocations_while_blocks_wait(self):
        side, kept = torch.cuda.Stream(), []

        def seconds():
            def once():
                start = time.perf_counter()
                for _ in range(500):
                    torch.empty(8, device="cuda")
                return time.perf_counter() - start

            return min(once() for _ in range(5))

        before = seconds()
        for _ in range(300):
            with torch.cuda.stream(side):
                kept.append(torch.empty(1000).pin_memory())
                kept[-1].copy_(torch.ones(1000, device="cuda"), non_blocking=True)
            block = torch.ones(1000, device="cuda")
            block.record_stream(side)
            del block
        waiting = seconds()
        torch.cuda.synchronize(0)
        self.assertLess(waiting, 4 * before)

    def test_the_host_memory_is_resized(self):
        host = torch.ones(3000000, device=SECOND).to("cpu", non_blocking=True)
        host.untyped_storage().resize_(0)
        torch.cuda.synchronize(1)

    def test_the_second_of_two_into_one_buffer_is_watched(self):
        in_child(self, """if True:
            import torch
            host, source, event = torch.zeros(4096).pin_memory(), torch.ones(4096, device="cuda"), torch.cuda.Event()
            host.copy_(source, non_blocking=True)
            event.record()
            host.copy_(source * 2, non_blocking=True)
            event.synchronize()
            assert host[0].item() == 1
            torch.cuda.synchronize()
            assert host[0].item() == 2
        """, "before anything waited for it")

    def test_in_a_forked_child(self):
        host, device = pinned(), torch.ones(3, device=SECOND)
        child = os.fork()
        if child == 0:
            refused = 0
            for use in (lambda: host.copy_(device, non_blocking=True), lambda: device.copy_(host), device[:1].item):
                try:
                    use()
                except torch.AcceleratorError as error:
                    refused += "initialization error" in str(error)
            os._exit(refused)
        self.assertEqual(os.waitpid(child, 0)[1] >> 8, 3)

    def test_threads(self):
        wrong = []

        def work(index):
            stream, source = torch.cuda.Stream(1), torch.full((64,), float(index), device=SECOND)
            source.sum().item()
            with torch.cuda.stream(stream):
                for _ in range(200):
                    host = torch.zeros(64).pin_memory()
                    host.copy_(source, non_blocking=True)
                    early = host.sum().item()
                    stream.synchronize()
                    if early != 0 or host.sum().item() != 64 * index:
                        wrong.append(index)

        threads = [threading.Thread(target=work, args=(index,)) for index in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Uploads(unittest.TestCase):
    def test_read_the_buffer_when_the_device_needs_it(self):
        buffer = pinned(1.0, 1.0, 1.0)
        first = buffer.to(SECOND, non_blocking=True)
        buffer.fill_(2)
        self.assertEqual(first.tolist(), [2, 2, 2])
        second = buffer.to(SECOND, non_blocking=True)
        result = second + 1
        buffer.fill_(7)
        self.assertEqual((result.tolist(), second.tolist()), ([3, 3, 3], [2, 2, 2]))

    def test_a_prefetched_batch_is_overwritten(self):
        buffer, stream = pinned(1.0, 1.0, 1.0), torch.cuda.Stream(1)
        for wait in (lambda: None, stream.synchronize):
            buffer.fill_(1)
            with torch.cuda.stream(stream):
                batch = buffer.to(SECOND, non_blocking=True)
            wait()
            buffer.fill_(2)
            torch.cuda.current_stream(1).wait_stream(stream)
            self.assertEqual(batch.tolist(), [1, 1, 1] if wait == stream.synchronize else [2, 2, 2])

    def test_blocking_ones_are_done(self):
        for buffer in (pinned(1.0), torch.ones(1)):
            copy = buffer.to(SECOND)
            buffer.zero_()
            self.assertEqual(copy.tolist(), [1])
        pageable = torch.ones(1)
        copy = pageable.to(SECOND, non_blocking=True)
        pageable.zero_()
        self.assertEqual(copy.tolist(), [1])

    def test_every_use_sees_them(self):
        def fresh(buffer=torch.arange(6.0).pin_memory()):
            return buffer.to(SECOND, non_blocking=True)

        expected = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        self.assertEqual(fresh().cpu().tolist(), expected)
        self.assertEqual(fresh().clone().tolist(), expected)
        self.assertEqual(fresh().to(FIRST).tolist(), expected)
        self.assertEqual(fresh()[3].item(), 3)
        self.assertEqual(fresh().view(2, 3).t().contiguous().tolist(), [[0, 3], [1, 4], [2, 5]])
        self.assertEqual(torch.cat([fresh(), fresh()]).tolist(), expected * 2)
        self.assertEqual(fresh().resize_(4).tolist(), expected[:4])
        self.assertEqual(fresh().untyped_storage().cpu().tolist()[:4], torch.zeros(1).untyped_storage().tolist())
        self.assertEqual(fresh().to(torch.int64).tolist(), [0, 1, 2, 3, 4, 5])
        storage = fresh()
        storage.untyped_storage().resize_(12)
        self.assertEqual(storage.resize_(3).tolist(), expected[:3])
        shorter = fresh()
        shorter.untyped_storage().resize_(0)
        torch.cuda.synchronize(1)

    def test_into_views_and_other_types(self):
        base = torch.zeros(4, 3, device=SECOND)
        base[1:3].copy_(torch.ones(2, 3).pin_memory(), non_blocking=True)
        self.assertEqual(base.sum().item(), 6)
        base.t().copy_(torch.arange(12.0).view(3, 4).pin_memory(), non_blocking=True)
        self.assertEqual(base[1].tolist(), [1, 5, 9])
        base.copy_(torch.arange(3).pin_memory(), non_blocking=True)
        self.assertEqual(base[3].tolist(), [0, 1, 2])
        base.copy_(torch.ones(4, 3, dtype=torch.int32).pin_memory(), non_blocking=True)
        self.assertEqual(base.sum().item(), 12)

    def test_keep_the_order_of_host_memory(self):
        buffer, ones = pinned(5.0, 5.0, 5.0), torch.ones(3, device=SECOND)
        up = buffer.to(SECOND, non_blocking=True)
        buffer.copy_(ones, non_blocking=True)
        torch.cuda.synchronize(1)
        self.assertEqual((up.tolist(), buffer.tolist()), ([5, 5, 5], [1, 1, 1]))
        buffer.fill_(5)
        up = buffer.to(SECOND, non_blocking=True)
        buffer.copy_(ones, non_blocking=True)
        self.assertEqual(up.tolist(), [5, 5, 5])

    def test_dropped_destinations(self):
        before = memory_now()
        for _ in range(200):
            torch.ones(1 << 18).pin_memory().to(SECOND, non_blocking=True)
        self.assertLess(memory_now() - before, 50 << 20)
        data = torch.utils.data.TensorDataset(torch.zeros(2000, 1 << 12))
        before = memory_now()
        for (batch,) in torch.utils.data.DataLoader(data, batch_size=16, pin_memory=True):
            batch = batch.cuda(non_blocking=True)
        self.assertLess(memory_now() - before, 20 << 20)

    def test_through_another_library(self):
        for interior in (False, True):
            device = torch.zeros(1000, device=FIRST)
            other = torch.from_dlpack(device[500:] if interior else device)
            device.copy_(torch.full((1000,), 2.0).pin_memory(), non_blocking=True)
            self.assertEqual(other.sum().item(), 2 * other.numel())
            other.copy_(torch.full_like(other, 3.0, device="cpu").pin_memory(), non_blocking=True)
            self.assertEqual(device[500:].tolist(), [3] * 500)
            device.copy_(torch.ones(1000).pin_memory(), non_blocking=True)
            other.fill_(7)
            torch.cuda.synchronize(0)
            self.assertEqual(device[-1].item(), 7)
        late = torch.ones(4).pin_memory().to(FIRST, non_blocking=True)
        array = type("Array", (), {"__cuda_array_interface__": late.__cuda_array_interface__})()
        self.assertEqual(torch.as_tensor(array, device=FIRST).tolist(), [1] * 4)

    def test_the_copy_allocates(self):
        # The CPU's copy between these layouts takes memory, which asks whether blocks may be given out again.
        code = """if True:
            import torch
            side = torch.cuda.Stream()
            source = torch.arange(4000.0).view(4000, 1).pin_memory().t()
            device = torch.empty(1, 4000, device="cuda")
            for late in (False, True):
                block = torch.empty(10, device="cuda")
                block.record_stream(side)
                del block
                if not late:
                    device.copy_(source, non_blocking=True)
            assert (device + 1).sum().item() == 4000 * 4001 / 2
        """
        in_child(self, code)

    def test_the_host_memory_is_resized(self):
        host = torch.empty(100000, pin_memory=True).fill_(1)
        device = host.to(SECOND, non_blocking=True)
        host.untyped_storage().resize_(0)
        self.assertEqual(device.sum().item(), 100000)

    def test_running_out_of_many_threads(self):
        wrong = []

        def work(index):
            stream = torch.cuda.Stream(1)
            with torch.cuda.stream(stream):
                for number in range(100):
                    device = torch.full((64,), float(number)).pin_memory().to(SECOND, non_blocking=True)
                    host = torch.zeros(64).pin_memory()
                    host.copy_(device, non_blocking=True)
                    if number % 3 == index % 3:
                        torch.cuda.synchronize(1)
                    else:
                        stream.synchronize()
                    if host.sum().item() != 64 * number:
                        wrong.append((index, number))

        threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_training_is_as_on_the_cpu(self):
        def losses(device):
            torch.manual_seed(0)
            model = torch.nn.Linear(4, 2).to(device)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            data = torch.utils.data.TensorDataset(torch.arange(32.0).view(8, 4) / 32, torch.arange(8) % 2)
            result = []
            for inputs, targets in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=device != "cpu"):
                inputs, targets = inputs.to(device, non_blocking=True), targets.to(device, non_blocking=True)
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(inputs), targets)
                loss.backward()
                optimizer.step()
                result.append(loss.detach())
            return torch.stack(result).tolist()

        self.assertEqual(losses("cpu"), losses("cuda:1"))


class PinnedMemory(unittest.TestCase):
    def test_kinds(self):
        self.assertFalse(torch.ones(2).is_pinned())
        self.assertTrue(torch.ones(2).pin_memory().is_pinned())
        self.assertTrue(torch.ones(2).pin_memory()[1:].is_pinned())
        self.assertTrue(torch.empty(2, pin_memory=True).is_pinned())
        tensor = torch.ones(2).pin_memory()
        self.assertIs(tensor.pin_memory(), tensor)
        self.assertEqual(torch.empty(0).pin_memory().numel(), 0)
        with self.assertRaisesRegex(RuntimeError, "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"):
            torch.ones(2, device=SECOND).pin_memory()

    def test_with_a_device(self):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertTrue(torch.ones(2).pin_memory("cuda").is_pinned("cuda"))
        self.assertTrue(torch.ones(4).untyped_storage().pin_memory().is_pinned())

    def test_loaders(self):
        data = torch.utils.data.TensorDataset(torch.arange(6.0))
        for workers in (0, 1):
            batches = []
            for (batch,) in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True, num_workers=workers):
                self.assertTrue(batch.is_pinned())
                batches.append(batch.to(SECOND, non_blocking=True))
            self.assertEqual(torch.cat(batches).tolist(), [0, 1, 2, 3, 4, 5])

    def test_registered_memory(self):
        tensor = torch.zeros(1024)
        cudart = torch.cuda.cudart()
        self.assertEqual(int(cudart.cudaHostRegister(tensor.data_ptr(), tensor.nbytes, 0)), 0)
        self.assertTrue(tensor.is_pinned())
        self.assertTrue(tensor[1000:].is_pinned())
        tensor.copy_(torch.ones(1024, device=SECOND), non_blocking=True)
        self.assertEqual(tensor.sum().item(), 0)
        torch.cuda.synchronize(1)
        self.assertEqual(tensor.sum().item(), 1024)
        self.assertEqual(int(cudart.cudaHostUnregister(tensor.data_ptr())), 0)
        self.assertFalse(tensor.is_pinned())
        self.assertNotEqual(int(cudart.cudaHostUnregister(tensor.data_ptr())), 0)


def memory_now():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def in_child(test, code, said=""):
    """Runs a program as `devsan run` would, for what would hang or end this process."""
    program = "from devsan import sim\nsim.install()\n" + code
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    test.assertEqual((child.returncode, said in child.stderr), (0, True), child.stderr)


def peak_memory():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    unittest.main()
