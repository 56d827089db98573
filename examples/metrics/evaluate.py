"""Evaluates on several ranks, of which each has another number of samples.

usage: torchrun --nproc-per-node 2 evaluate.py libevaluation.so
"""

import sys

import torch
import torch.distributed as dist

CLASSES = 3


def batch(rank):
    generator = torch.Generator().manual_seed(rank)
    samples = 20 + 13 * rank
    return (
        torch.rand(samples, CLASSES, generator=generator).softmax(1),
        torch.randint(CLASSES, (samples,), generator=generator),
    )


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.classes.load_library(sys.argv[1])
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()

    evaluation = torch.classes.devsan_example.Evaluation(CLASSES)
    evaluation.update(*batch(rank))
    results = evaluation.compute(dist.group.WORLD.group_name)

    # The same of all samples on one rank.
    batches = [batch(other) for other in range(ranks)]
    preds = torch.cat([preds for preds, _ in batches]).argmax(1)
    target = torch.cat([target for _, target in batches])
    by_class = [(preds[target == c] == c).float().mean() for c in range(CLASSES)]
    expected = torch.stack(by_class).mean()
    if rank == 0:
        print({name: round(value.item(), 4) for name, value in results.items()})
    torch.testing.assert_close(results["accuracy"], expected)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
