"""usage: parts_and_link.py DEVSAN_CHECK FOLDER N [ARG...] -- FLAGS...

In FOLDER, compares a run over all files with N parts whose summaries are put together, in several orders: exit status, stdout and stderr
have to be the same. ARGs of inputs (FOLDER itself where there are none) and options of both.
"""

import difflib
import os
import random
import re
import shutil
import subprocess
import sys


def main():
    program, folder, count, *rest = sys.argv[1:]
    dashes = rest.index("--")
    args, flags = rest[:dashes], rest[dashes:]
    inputs = [arg for arg in args if not arg.startswith("-")] or ["."]
    options = [arg for arg in args if arg.startswith("-")]
    judging = [option for option in options if option.startswith(("--format", "--fail-on", "--strict", "--no-strict", "--baseline", "--suppressions"))]
    analysing = [option for option in options if option not in judging]
    of_link = [option for option in options if not option.startswith(("--checks", "--alone"))]

    def run(*arguments):
        # Each analyses anew; only LibTorch's headers stay parsed.
        shutil.rmtree(os.path.join(os.environ["XDG_CACHE_HOME"], "devsan", "results"), ignore_errors=True)
        done = subprocess.run([program, *arguments, *flags], cwd=folder, capture_output=True)
        return done.returncode, done.stdout, re.sub(rb"(?m)^devsan check: parsing LibTorch's headers.*\n", b"", done.stderr)

    parts = [f"{folder}.part-{i}" for i in range(1, int(count) + 1)]
    for i, part in reversed(list(enumerate(parts, 1))):
        shard = [f"--shard={i}/{count}"] if len(parts) > 1 else []
        done = run(*analysing, *shard, f"--summary={part}", *inputs)
        if done[0] != 0 or done[1]:
            sys.exit(f"{done}")
        with open(part, "rb") as file:
            first = file.read()
        if len(parts) > 1:
            continue
        run(*analysing, *shard, f"--summary={part}", *inputs)
        with open(part, "rb") as file:
            if file.read() != first:
                sys.exit(f"{part} differs when written again")
    whole = run(*options, *inputs)
    for seed in range(2):
        random.Random(seed).shuffle(parts)
        linked = run(*of_link, "--from-summaries", *parts)
        if linked != whole:
            texts = [f"{status}\n{out.decode()}{err.decode()}".splitlines() for status, out, err in (whole, linked)]
            print(*difflib.unified_diff(*texts, "whole", "of parts", lineterm=""), sep="\n", file=sys.stderr)
            sys.exit(3)
    print(whole[1].decode(), end="")
    sys.exit(whole[0])


if __name__ == "__main__":
    main()
