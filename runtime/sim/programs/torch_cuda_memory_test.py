"""torch.cuda on simulated devices: memory: what is counted, pinned and stored. Run by ctest under _simulated."""

import unittest

from devsan import sim

sim.install()

import torch

SECOND = torch.device("cuda:1")


class Memory(unittest.TestCase):
    def test_counts_per_device(self):
        before = torch.cuda.memory_allocated(1), torch.cuda.memory_allocated(0)
        tensor = torch.ones(1000, device=SECOND)
        self.assertEqual(torch.cuda.memory_allocated(1) - before[0], 4096)
        self.assertEqual(torch.cuda.memory_allocated(0), before[1])
        result = tensor * 2
        self.assertEqual(torch.cuda.memory_allocated(1) - before[0], 8192)
        del tensor, result
        self.assertEqual(torch.cuda.memory_allocated(1), before[0])
        self.assertGreaterEqual(torch.cuda.max_memory_allocated(1), before[0] + 8192)
        torch.cuda.reset_peak_memory_stats(1)
        self.assertEqual(torch.cuda.max_memory_allocated(1), before[0])
        self.assertIn("Allocated memory", torch.cuda.memory_summary(1))
        free, total = torch.cuda.mem_get_info(1)
        self.assertLessEqual(free, total)

    def test_host_tensors_do_not_count(self):
        before = torch.cuda.memory_allocated(0)
        kept = torch.ones(1000) * 2
        self.assertEqual(torch.cuda.memory_allocated(0), before)
        del kept

    def test_pinned_batches(self):
        data = torch.utils.data.TensorDataset(torch.arange(6.0))
        for workers in (0, 1):
            for (batch,) in torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True, num_workers=workers):
                self.assertTrue(batch.is_pinned())
                self.assertEqual(batch.to(SECOND, non_blocking=True).device, SECOND)

    def test_storages(self):
        storage = torch.UntypedStorage(8, device=SECOND)
        self.assertEqual(storage.device, SECOND)
        tensor = torch.arange(4.0, device=SECOND)
        saved = tensor.untyped_storage().cpu()
        tensor.untyped_storage().resize_(0)
        self.assertEqual(tensor.untyped_storage().nbytes(), 0)
        tensor.untyped_storage().resize_(16)
        tensor.untyped_storage().copy_(saved)
        self.assertEqual(tensor.tolist(), [0.0, 1.0, 2.0, 3.0])


if __name__ == "__main__":
    unittest.main()
