"""Lays out devsan-check's code by the profile of a run, with llvm-bolt: parsing then takes about 0.7 of the time.

The program is instrumented, analyses SAMPLES twice (LibTorch's headers parsed, then loaded), and is written anew without
symbols. PROGRAM has to be linked with --emit-relocs. Counts of processes that run at once differ a little each time, and so would
what is laid out by them: with the profile of another build of the same code, --profile, it is what that build made.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(step, command, good=(0,), **options):
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen([str(word) for word in command], stdout=output, stderr=output, start_new_session=True,
                              **options) as process:
            status = process.wait()
            await_group(process.pid)
        if status not in good:
            output.seek(0)
            sys.exit(f"laying out devsan-check: {step} failed with status {status}: {' '.join(map(str, command))}\n"
                     f"{output.read()[-4000:]}")


def await_group(leader):
    deadline = time.monotonic() + 120
    try:
        while time.monotonic() < deadline:
            os.killpg(leader, 0)
            time.sleep(0.5)
    except ProcessLookupError:
        return
    os.killpg(leader, signal.SIGKILL)
    sys.exit("laying out devsan-check: processes that it started have not ended")


def train(command, **options):
    run("training", command, good=(1,), **options)  # it has findings, as the samples do


def record(arguments, samples, work, trained, profile):
    # The processes that parse end by _exit, so a watcher writes the counters until nobody else of its process group
    # is left.
    run("instrumenting", [arguments.bolt, arguments.program, "-o", trained, "--instrument",
                          f"--instrumentation-file={profile}", "--instrumentation-sleep-time=5",
                          "--instrumentation-no-counters-clear", "--instrumentation-wait-forks"])
    environment = dict(os.environ, XDG_CACHE_HOME=str(work / "cache"))
    for _ in range(2):
        train([trained, f"--torch={arguments.torch.resolve()}", "--strict", "-j", os.cpu_count() or 1, *samples, "--",
               f"-I{ROOT}"], env=environment, cwd=work)
        shutil.rmtree(work / "cache/devsan/results", ignore_errors=True)
    if not profile.exists():
        sys.exit(f"laying out devsan-check: the instrumented program has written no profile into {profile}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bolt", type=Path, required=True)
    parser.add_argument("--strip", type=Path, required=True)
    parser.add_argument("--torch", type=Path, required=True)
    parser.add_argument("--share", type=Path, required=True, help="the folder that devsan-check finds as ../share")
    parser.add_argument("--profile", type=Path, help="lay out by this, and do not train")
    parser.add_argument("--keep", type=Path, required=True, help="where the profile goes that it was laid out by")
    parser.add_argument("program", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("samples", type=Path, nargs="+")
    arguments = parser.parse_args()
    samples = [sample.resolve() for sample in arguments.samples]  # it works in a folder of its own
    with tempfile.TemporaryDirectory(prefix="devsan-layout-") as folder:
        work = Path(folder)
        (work / "libexec").mkdir()
        (work / "share").symlink_to(arguments.share.resolve())
        profile, trained, laid_out = work / "profile", work / "libexec/devsan-check", work / "devsan-check"
        if arguments.profile:
            shutil.copy2(arguments.profile, profile)
        else:
            record(arguments, samples, work, trained, profile)
        # A watcher may still write into the first.
        shutil.copy2(profile, arguments.keep)
        run("laying out", [arguments.bolt, arguments.program, "-o", laid_out, f"-data={arguments.keep}", "-reorder-blocks=ext-tsp",
                           "-reorder-functions=cdsort", "-split-functions", "-split-all-cold", "-split-eh", "-icf=1",
                           "-use-gnu-stack"])
        run("stripping", [arguments.strip, laid_out])
        beside = arguments.output.with_suffix(".laid-out")
        shutil.copy2(laid_out, beside)
        os.replace(beside, arguments.output)


if __name__ == "__main__":
    main()
