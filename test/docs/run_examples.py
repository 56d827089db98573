"""Runs the Python examples of rule pages, each in a child of its own: one program, one import of PyTorch.

usage: run_examples.py FILE...

Each finds the names that its fragment of a program takes for granted.
"""

import os
import sys
import traceback

import torch


def names():
    torch.manual_seed(0)
    device = torch.device("cuda:0")
    return {
        "__name__": "__main__",
        "DataLoader": torch.utils.data.DataLoader,
        "data": torch.utils.data.TensorDataset(torch.rand(256, 512), torch.rand(256)),
        "device": device,
        "log": lambda value: None,
        "torch": torch,
    }


def main():
    failed = 0
    for file in sys.argv[1:]:
        child = os.fork()
        if child == 0:
            status = 0
            try:
                with open(file, encoding="utf-8") as source:
                    exec(compile(source.read(), file, "exec"), names())
            except Exception:
                traceback.print_exc()
                status = 1
            sys.stderr.flush()
            os._exit(status)
        _, status = os.waitpid(child, 0)
        print(f"{file}: status {os.waitstatus_to_exitcode(status)}", file=sys.stderr)
        failed += status != 0
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
