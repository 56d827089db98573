"""torch.cuda on simulated devices: streams and events. Run by ctest under _simulated."""

import unittest

from devsan import sim

sim.install()

import torch

SECOND = torch.device("cuda:1")


class Streams(unittest.TestCase):
    def test_streams_are_current_per_device(self):
        stream = torch.cuda.Stream(1)
        with torch.cuda.stream(stream):
            self.assertEqual(torch.cuda.current_stream(1), stream)
            self.assertEqual(torch.cuda.current_device(), 1)
            inner = torch.cuda.Stream(0)
            with torch.cuda.stream(inner):
                self.assertEqual(torch.cuda.current_stream(0), inner)
            self.assertEqual(torch.cuda.current_stream(1), stream)
        self.assertEqual(torch.cuda.current_stream(1), torch.cuda.default_stream(1))
        self.assertEqual(torch.cuda.current_device(), 0)
        torch.ones(1, device=SECOND).record_stream(stream)
        stream.wait_stream(torch.cuda.default_stream(1))
        stream.synchronize()
        self.assertTrue(stream.query())
        self.assertNotEqual(stream, inner)

    def test_events(self):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with self.assertRaisesRegex(ValueError, "must be recorded"):
            start.elapsed_time(end)
        start.record()
        torch.ones(64, 64, device="cuda").sum()
        end.record()
        end.synchronize()
        self.assertGreater(start.elapsed_time(end), 0.0)
        torch.cuda.current_stream().wait_event(start)
        with self.assertRaisesRegex(ValueError, "enable_timing=True"):
            start.elapsed_time(torch.cuda.Event())


if __name__ == "__main__":
    unittest.main()
