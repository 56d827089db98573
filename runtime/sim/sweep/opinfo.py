"""Runs PyTorch's own operator samples (OpInfo) on the CPU and on cuda:1 of two simulated devices, and compares.

usage: opinfo.py [--full] [--samples N] [--dtype NAME]... [--modes NAMES] [--seed N] [--jobs N] [--verbose] [OP...]

Without arguments a fixed subset runs with a few samples; --full takes every entry, dtype and sample. For each sample the
results (values, device, dtype, shape, strides) and gradients on cuda:1 must be the CPU's; so must the in-place, method
and out= forms on the first samples; and OpInfo's error inputs must raise what OpInfo expects on CUDA. A dtype that
OpInfo does not list for CUDA must be refused by at least one sample. With several --modes each sample runs in one of
them, on inputs made in one of them, as drawn: what a worker keeps from one call to the next meets every mode. The status
is 1 if anything else differs, or an exception listed here is no longer one.
Needs DEVSAN_SIM_DEVICES=2, DEVSAN_LIBS and the package `devsan` on PYTHONPATH, as `devsan run --sim=2` sets them; and
the PyPI package expecttest, which PyTorch's samples import.
"""

import argparse
import collections
import json
import operator
import os
import random
import re
import subprocess
import sys
import time
import warnings

from devsan import sim

sim.install()

import torch
from torch.testing._internal.common_methods_invocations import op_db

import values
from exceptions import (
    BROKEN_ON_THE_CPU,
    CUDA_LAYOUT,
    DETERMINISTIC,
    EXCEPTIONS,
    FORM_EXCEPTIONS,
    HOST_ARGUMENTS,
    OWN_NUMBERS,
)
from values import (
    CPU,
    REDUCED,
    WIDER,
    Mismatch,
    brief,
    compare,
    compare_gradients,
    compare_gradients_with_float,
    compare_with_float,
    copies,
    names_device,
    on,
    tensors_in,
    unlike,
    widened,
)

DEVICE = torch.device("cuda:1")
DTYPES = (
    torch.float32,
    torch.float64,
    torch.int64,
    torch.bool,
    torch.bfloat16,
    torch.complex64,
    torch.float16,
)
MODES = {"grad": torch.enable_grad, "no_grad": torch.no_grad, "inference": torch.inference_mode}
# How many samples of an entry and dtype also run in place, as a method and with out=.
VARIANT_SAMPLES = 3
# Seeds that show the distribution of an operator that draws its own numbers.
DRAWS = 400

SUBSET = (
    "add sub mul div addmm mm bmm matmul einsum cat stack split chunk unbind where masked_fill masked_select nonzero "
    "index_select index_put index_add gather scatter scatter_add take sort topk unique cumsum cumprod sum mean var std "
    "amax argmax max min norm softmax log_softmax exp log sqrt rsqrt pow sigmoid tanh clamp sign floor logical_and eq gt "
    "zeros_like ones_like full_like arange linspace eye randn rand_like bernoulli multinomial normal "
    "nn.functional.conv1d nn.functional.conv2d nn.functional.conv_transpose2d nn.functional.batch_norm "
    "nn.functional.layer_norm nn.functional.group_norm nn.functional.linear nn.functional.embedding "
    "nn.functional.embedding_bag nn.functional.cross_entropy nn.functional.mse_loss nn.functional.binary_cross_entropy "
    "nn.functional.ctc_loss nn.functional.dropout nn.functional.gelu nn.functional.relu nn.functional.silu "
    "nn.functional.max_pool2d nn.functional.avg_pool2d nn.functional.adaptive_avg_pool2d nn.functional.interpolate "
    "nn.functional.grid_sample nn.functional.pad nn.functional.scaled_dot_product_attention nn.functional.one_hot "
    "linalg.inv linalg.svd linalg.qr linalg.cholesky linalg.solve linalg.eigh fft.fft fft.irfft as_strided view reshape "
    "permute transpose expand narrow diagonal unfold flip roll tril triu bincount searchsorted histc complex real conj "
    "view_as_real to clone contiguous resize_ item equal"
).split()
SUBSET_SAMPLES = 3
# Started first, so that no worker is left alone with one.
SLOW = ("grid_sampler_3d", "logspace.tensor_overload", "unique", "nn.functional.max_pool2d")


def name_of(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


class Refused(Exception):
    """The device refuses a dtype that CUDA does not have."""


# What a refusal says; anything else, an internal assertion for example, is a difference.
REFUSAL = re.compile(
    r"not simulated: |not implemented for|Could not run 'aten::[^']*' with arguments from the 'CUDA'"
    # cuDNN's and histc's words
    r"|getCudnnDataTypeFromScalarType\(\) not supported for|HalfTensor is not supported"
)


def is_refusal(error):
    return isinstance(error, RuntimeError) and REFUSAL.search(str(error)) and "INTERNAL ASSERT" not in str(error)


def run(function, sample, arguments, keywords, mode):
    torch.manual_seed(0)
    with MODES[mode]():
        result = function(*arguments, **keywords)
    gradients = []
    if mode == "grad":
        inputs = [t for t in tensors_in((arguments, keywords)) if t.requires_grad]
        outputs = [t for t in tensors_in(sample.output_process_fn_grad(result)) if t.requires_grad and t.numel()]
        if inputs and outputs:
            gradients = torch.autograd.grad(
                outputs, inputs, [torch.ones_like(t) for t in outputs], allow_unused=True
            )
    return result, gradients


def run_on_cpu(function, sample, arguments, keywords, mode):
    """(the mode, which is no_grad where there are no gradients; what run() gave, None if the CPU cannot run it)."""
    for possible in (mode, "no_grad") if mode == "grad" else (mode,):
        try:
            return possible, run(function, sample, arguments, keywords, possible)
        except Exception:
            continue
    return mode, None


def moments(function, given):
    """Mean and variance of each element of the result over DRAWS seeds."""
    draws = []
    with torch.no_grad():
        for seed in range(DRAWS):
            torch.manual_seed(seed)
            draws.append(function(*given[0], **given[1]).cpu().to(torch.float64))
    variance, mean = torch.var_mean(torch.stack(draws), 0)
    return mean, variance


def agrees(expected, out):
    try:
        # Made in the mode that `out` was made in.
        compare(copies(expected, CPU), out, "out=", CPU, strides=False)
    except Mismatch:
        return False
    return True


class Entry:
    """One OpInfo entry with one dtype."""

    def __init__(self, op, dtype, options):
        self.op = op
        self.dtype = dtype
        self.limit = options.samples
        self.variants = options.variants
        self.modes = options.modes
        self.draw = random.Random(f"{options.seed} {name_of(op)} {dtype}")
        self.samples_run = 0
        self.refusals = 0
        self.form_exceptions = set()
        self.on_cuda = dtype in op.dtypesIfCUDA
        self.backward_on_cuda = dtype in op.backward_dtypesIfCUDA
        self.broken_on_cpu = False

    def check(self):
        torch.use_deterministic_algorithms(name_of(self.op) in DETERMINISTIC)
        try:
            return self.check_samples()
        finally:
            torch.use_deterministic_algorithms(False)

    def check_samples(self):
        """None if all samples agree, "refused", "skipped" if the CPU runs none, otherwise what went wrong."""
        backward = self.op.supports_autograd and (self.dtype.is_floating_point or self.dtype.is_complex)
        torch.manual_seed(0)
        for number, sample in enumerate(self.op.sample_inputs("cpu", self.dtype, requires_grad=backward)):
            if self.limit and number >= self.limit:
                break
            try:
                mode = self.draw.choice(self.modes)
                self.check_sample(number, sample, "no_grad" if mode == "grad" and not backward else mode)
            except Refused:
                self.refusals += 1
            except Exception as error:
                return brief(error)
        if not self.samples_run:
            return "skipped"
        if not (self.on_cuda and self.backward_on_cuda) and self.refusals:
            return "refused"
        if not self.on_cuda and not self.limit:
            return "CUDA does not have this dtype, the device takes it"
        return None

    def on_device(self, given):
        arguments, keywords = on(DEVICE, given)
        stays = HOST_ARGUMENTS.get(self.op.name, ())
        arguments = tuple(on(CPU, a) if position in stays else a for position, a in enumerate(arguments))
        return arguments, {key: on(CPU, value) if key in stays else value for key, value in keywords.items()}

    def check_sample(self, number, sample, mode):
        values_given = ((sample.input, *sample.args), sample.kwargs)
        made_in = self.draw.choice(self.modes)
        with MODES[made_in]():
            if made_in == "inference":
                values_given = copies(values_given, CPU)
            arguments, keywords = on(CPU, values_given)
            device_arguments, device_keywords = self.on_device(values_given)
        where = DEVICE if names_device((device_arguments, device_keywords)) else CPU
        mode, reference = run_on_cpu(self.op, sample, arguments, keywords, mode)
        if reference is None:
            return
        expected, expected_gradients = reference
        self.samples_run += 1
        try:
            actual, gradients = run(self.op, sample, device_arguments, device_keywords, mode)
        except Exception as error:
            lacking = not self.on_cuda or mode == "grad" and not self.backward_on_cuda
            if lacking and is_refusal(error):
                raise Refused(str(error)) from error
            raise Mismatch(f"sample {number}: {brief(error)}") from error
        if OWN_NUMBERS.get(name_of(self.op), lambda keywords: False)(keywords):
            again = run(self.op, sample, *self.on_device(values_given), mode)
            compare((actual, gradients), again, f"sample {number}, the same seed again", DEVICE)
            compare(expected, actual, f"sample {number}, result", where, strides=False, contents=False)
            self.compare_distribution(number, (arguments, keywords), (device_arguments, device_keywords))
            return
        try:
            strides = name_of(self.op) not in CUDA_LAYOUT
            compare(expected, actual, f"sample {number}, result", where, strides)
            compare_gradients(expected_gradients, gradients, f"sample {number}, gradient", DEVICE)
        except Mismatch:
            if self.dtype not in REDUCED and not (self.dtype in WIDER and name_of(self.op) in CUDA_LAYOUT):
                raise
            exact = run(self.op, sample, *on(CPU, widened(values_given, self.dtype)), mode)
            what = f"sample {number}, result"
            compare_with_float(exact[0], expected, actual, self.dtype, what, where, strides)
            what = f"sample {number}, gradient"
            compare_gradients_with_float(exact[1], expected_gradients, gradients, self.dtype, what, DEVICE)
        if self.variants and number < VARIANT_SAMPLES and not sample.broadcasts_input:
            self.check_variants(number, sample, expected, where)

    def compare_distribution(self, number, on_cpu, on_device):
        """Means over many seeds, within what chance allows: six standard errors, the widest of all elements."""
        function = operator.attrgetter(self.op.name)(torch)  # OpInfo's own callable may set the seed
        host, device = moments(function, on_cpu), moments(function, on_device)
        if not torch.equal(host[0].isfinite(), device[0].isfinite()):
            raise Mismatch(f"sample {number}: finite elsewhere than on the CPU")
        finite = host[0].isfinite()
        if not finite.any():
            return
        host, device = [m[finite] for m in host], [m[finite] for m in device]
        spread = ((host[1] + device[1]) / DRAWS).sqrt()
        if ((host[0] - device[0]).abs() > 6 * spread + values.tolerance(self.dtype)[1]).any():
            raise Mismatch(f"sample {number}: another mean than the CPU's over {DRAWS} seeds")
        host_variance, device_variance = host[1].mean().item(), device[1].mean().item()
        if not 0.8 * host_variance <= device_variance <= 1.25 * host_variance:
            raise Mismatch(f"sample {number}: variance {device_variance:.3g}, on the CPU {host_variance:.3g}")

    def check_variants(self, number, sample, expected, where):
        given = ((sample.input, *sample.args), sample.kwargs)
        if self.op.inplace_variant and isinstance(sample.input, torch.Tensor):
            self.attempt("in place", self.check_form, "in place", self.op.inplace_variant, number, sample, given)
        if self.op.method_variant and isinstance(sample.input, torch.Tensor):
            self.attempt("method", self.check_form, "method", self.op.method_variant, number, sample, given)
        if self.op.supports_out and tensors_in(expected) and "out" not in sample.kwargs:
            self.attempt("out=", self.check_out, number, sample, given, expected)

    def attempt(self, form, check, *what):
        """One way of calling the operator; a form that is an exception must still be one."""
        excuse = FORM_EXCEPTIONS.get(f"{name_of(self.op)} {form}")
        mode = self.draw.choice(("no_grad", "inference"))
        try:
            with MODES[mode]():
                check(*what, mode)
        except Exception as error:
            if excuse is None or not excuse.covers(str(error)):
                raise
            self.form_exceptions.add(form)

    def check_form(self, form, function, number, sample, given, mode):
        host_arguments, host_keywords = copies(on(CPU, given), CPU)
        device_arguments, device_keywords = copies(self.on_device(given), DEVICE)
        _, reference = run_on_cpu(function, sample, host_arguments, host_keywords, mode)
        if reference is None:
            return
        actual, _ = run(function, sample, device_arguments, device_keywords, mode)
        where = DEVICE if names_device((device_arguments, device_keywords)) else CPU
        what = f"sample {number}, {form}"
        try:
            compare(reference[0], actual, what, where, False)
            compare(host_arguments, device_arguments, f"{what}, arguments after", None, False)
        except Mismatch:
            if self.dtype not in REDUCED:
                raise
            arguments, keywords = copies(on(CPU, widened(given, self.dtype)), CPU)
            exact, _ = run(function, sample, arguments, keywords, mode)
            compare_with_float(exact, reference[0], actual, self.dtype, what, where, False)
            what = f"{what}, arguments after"
            compare_with_float(arguments, host_arguments, device_arguments, self.dtype, what, None, False)

    def check_out(self, number, sample, given, expected, mode):
        if not isinstance(expected, (torch.Tensor, tuple, list)):
            return
        for shape in ("full", "resized", "fresh") if number == 0 else ("full", "resized"):
            host_arguments, host_keywords = on(CPU, given)
            device_arguments, device_keywords = self.on_device(given)
            host_out, device_out = (outs_for(expected, shape, device) for device in (CPU, DEVICE))
            host_keywords, device_keywords = {**host_keywords, "out": host_out}, {**device_keywords, "out": device_out}
            _, reference = run_on_cpu(self.op, sample, host_arguments, host_keywords, mode)
            if reference is None or not agrees(expected, host_out):
                self.broken_on_cpu = True
                return
            run(self.op, sample, device_arguments, device_keywords, mode)
            what = f"sample {number}, out= ({shape})"
            try:
                compare(host_out, device_out, what, DEVICE)
            except Mismatch:
                if self.dtype not in REDUCED:
                    raise
                exact, _ = run(self.op, sample, *on(CPU, widened(given, self.dtype)), mode)
                compare_with_float(exact, host_out, device_out, self.dtype, what, DEVICE)


def outs_for(expected, shape, device):
    """Results to write: of the right shape or to be resized, holding nothing that could be taken for the result."""
    outs = []
    for tensor in tensors_in(expected):
        out = torch.empty(0, dtype=tensor.dtype, device=device) if shape == "fresh" else unlike(tensor).to(device)
        outs.append(out.resize_(0) if shape == "resized" else out)
    if isinstance(expected, torch.Tensor):
        return outs[0]
    return type(expected)(outs) if type(expected) in (list, tuple) else tuple(outs)


def outcome_of_error_input(op, error_input):
    """None if it raises as OpInfo says, otherwise what it does."""
    sample = error_input.sample_input
    expected = f"{error_input.error_type.__name__} /{error_input.error_regex}/"
    try:
        op(sample.input, *sample.args, **sample.kwargs)
    except error_input.error_type as error:
        if re.search(error_input.error_regex, str(error)):
            return None
        return f"says {brief(error)}, expected {expected}"
    except Exception as error:
        return f"raises {brief(error)}, expected {expected}"
    return f"raises nothing, expected {expected}"


def check_error_inputs(op):
    """(error inputs that ran, what went wrong or None): OpInfo's expectations for CUDA, as far as the CPU keeps them."""
    outcomes = [outcome_of_error_input(op, error_input) for error_input in op.error_inputs(str(DEVICE))]
    if not any(outcomes):
        return len(outcomes), None
    on_cpu = [outcome_of_error_input(op, error_input) for error_input in op.error_inputs("cpu")]
    comparable = len(on_cpu) == len(outcomes)
    for number, outcome in enumerate(outcomes):
        if outcome and not (comparable and on_cpu[number]):
            return len(outcomes), f"error input {number} {outcome}"
    return len(outcomes), None


def check_entry(op, options, dtypes):
    """Yields one record for each dtype and one for the error inputs."""
    for dtype in [d for d in dtypes if d in op.dtypes] or sorted(op.dtypes & op.dtypesIfCUDA, key=str):
        entry = Entry(op, dtype, options)
        started = time.perf_counter()
        try:
            outcome = entry.check()
        except Exception as error:
            outcome = f"making samples: {brief(error)}"
        yield {
            "what": dtype_name(dtype),
            "outcome": outcome,
            "samples": entry.samples_run,
            "forms": sorted(entry.form_exceptions),
            "broken_on_cpu": entry.broken_on_cpu,
            "seconds": time.perf_counter() - started,
        }
    if options.variants and op.error_inputs_func is not None:
        try:
            ran, outcome = check_error_inputs(op)
        except Exception as error:
            ran, outcome = 0, f"making error inputs: {brief(error)}"
        yield {"what": "errors", "outcome": outcome, "samples": ran, "seconds": 0.0}


def key_of_excuse(name, what):
    """The key in EXCEPTIONS, or None."""
    if what == "process":
        return None
    return next((key for key in (f"{name} {what}", name) if key in EXCEPTIONS), None)


def judge(name, record, options):
    """(column of the table, problem or None, key of the excuse or None)."""
    outcome, key = record["outcome"], key_of_excuse(name, record["what"])
    if outcome in ("skipped", "refused"):
        return outcome, None, None
    if outcome is None:
        if options.modes == ["grad"] and key == f"{name} {record['what']}":
            return "different", f"{key}: passes; take it off EXCEPTIONS", None
        return "equal", None, None
    if key and EXCEPTIONS[key].covers(outcome):
        return "exceptions", None, key
    return "different", f"{name} {record['what']}: {outcome}", None


def selected(options):
    wanted = set(options.ops or SUBSET)
    if options.full and not options.ops:
        wanted = {op.name for op in op_db}
    if unknown := wanted - {op.name for op in op_db} - {name_of(op) for op in op_db}:
        sys.exit("no such OpInfo entry: " + ", ".join(sorted(unknown)))
    chosen = [op for op in op_db if op.name in wanted or name_of(op) in wanted]
    if len(options.modes) > 1:
        random.Random(options.seed).shuffle(chosen)
    return sorted(chosen, key=lambda op: name_of(op) not in SLOW)


def work(options, entries, dtypes):
    """A worker: takes entry numbers on standard input and writes one line of JSON for each."""
    torch.set_num_threads(1)
    torch.cuda.set_device(DEVICE)  # some samples say device="cuda" where there is one
    warnings.simplefilter("ignore")
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        number = int(line)
        records = list(check_entry(entries[number], options, dtypes))
        print(json.dumps([number, records]), file=results, flush=True)


class Worker:
    def __init__(self, arguments):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.current = None

    def give(self, number):
        self.current = number
        if number is None:
            self.process.stdin.close()
            return
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()


def share(entries, jobs, arguments):
    """Yields (entry, records) as workers finish them; a worker that dies fails its entry and is replaced."""
    import selectors

    pending = collections.deque(range(len(entries)))
    selector = selectors.DefaultSelector()

    def start():
        worker = Worker(arguments)
        worker.give(pending.popleft() if pending else None)
        selector.register(worker.process.stdout, selectors.EVENT_READ, worker)

    for _ in range(min(jobs, len(entries))):
        start()
    while selector.get_map():
        for key, _ in selector.select():
            worker = key.data
            line = worker.process.stdout.readline()
            if line:
                number, records = json.loads(line)
                yield entries[number], records
                worker.give(pending.popleft() if pending else None)
                continue
            selector.unregister(worker.process.stdout)
            status = worker.process.wait()
            if worker.current is not None:
                yield entries[worker.current], [
                    {"what": "process", "outcome": f"the process ended with status {status}", "samples": 0, "seconds": 0.0}
                ]
                if pending:
                    start()


def kind_of_entry(columns):
    if "different" in columns:
        return "different"
    if "exceptions" in columns:
        return "with an exception"
    if set(columns) <= {"skipped"}:
        return "not run by the CPU"
    if "refused" in columns:
        return "equal, refusing dtypes that CUDA lacks" if "equal" in columns else "refused as on CUDA"
    return "equal in every dtype"


def table(counts, seconds, samples):
    columns = ("equal", "exceptions", "refused", "skipped", "different")
    lines = [f"{'':12}" + "".join(f"{column:>12}" for column in (*columns, "samples", "seconds"))]
    for what in counts:
        row = "".join(f"{counts[what][column]:>12}" for column in columns)
        lines.append(f"{what:12}{row}{samples[what]:>12}{seconds[what]:>12.0f}")
    return lines


def report(entries, options, arguments):
    counts = {}
    seconds, samples = collections.Counter(), collections.Counter()
    problems, used, broken = [], set(), set()
    started = time.perf_counter()
    entry_kinds = collections.Counter()
    for done, (op, records) in enumerate(share(entries, options.jobs, arguments), 1):
        name = name_of(op)
        entry_kinds[kind_of_entry([judge(name, record, options)[0] for record in records if record["what"] != "errors"])] += 1
        for record in records:
            column, problem, excuse = judge(name, record, options)
            counts.setdefault(record["what"], collections.Counter())[column] += 1
            seconds[record["what"]] += record["seconds"]
            samples[record["what"]] += record["samples"]
            used.update(f"{name} {form}" for form in record.get("forms", ()))
            used.add(excuse)
            if record.get("broken_on_cpu"):
                broken.add(name)
            if problem:
                problems.append(problem)
            if options.verbose:
                print(f"{name} {record['what']}: {record['outcome'] or 'equal'}, {record['samples']} samples, {record['seconds']:.1f} s", flush=True)
        if done % 50 == 0:
            print(f"{done} of {len(entries)} entries, {time.perf_counter() - started:.0f} s", flush=True)
    problems += [f"{name} out=: differs on the CPU itself; say why in BROKEN_ON_THE_CPU" for name in broken - BROKEN_ON_THE_CPU.keys()]
    if options.full and options.variants and not options.ops and not options.dtype and options.modes == ["grad"]:
        used |= broken
        known = [*EXCEPTIONS, *FORM_EXCEPTIONS, *BROKEN_ON_THE_CPU]
        problems += [f"{key}: nothing is wrong there; take it off exceptions.py" for key in known if key not in used]
    for problem in sorted(problems):
        print(problem)
    print("\n".join(table(counts, seconds, samples)))
    print(f"opinfo: {len(entries)} entries: " + ", ".join(f"{n} {kind}" for kind, n in entry_kinds.most_common()))
    print(f"opinfo: {len(problems)} problems in {time.perf_counter() - started:.0f} s")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="every OpInfo entry and dtype, all samples")
    parser.add_argument("--samples", type=int, help="samples per entry and dtype, 0 for all")
    parser.add_argument("--dtype", action="append", help="only this dtype, for example int64")
    parser.add_argument("--modes", default="grad", help=f"of {','.join(MODES)} those that samples run in (default grad)")
    parser.add_argument("--seed", type=int, default=0, help="which mode is drawn when (default 0)")
    parser.add_argument("--no-variants", dest="variants", action="store_false", help="neither in-place, method, out= nor errors")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (default 2)")
    parser.add_argument("--verbose", action="store_true", help="a line for each entry and dtype")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("ops", nargs="*", metavar="OP", help="entries by name")
    arguments = [a for a in sys.argv[1:] if a != "--worker"]
    options = parser.parse_args()
    options.modes = options.modes.split(",")
    if not set(options.modes) <= MODES.keys():
        parser.error(f"argument --modes: takes names of {', '.join(MODES)} with commas between them")
    if options.samples is None:
        options.samples = 0 if options.full or options.ops else SUBSET_SAMPLES
    dtypes = tuple(getattr(torch, name) for name in options.dtype) if options.dtype else DTYPES
    entries = selected(options)
    if options.worker:
        work(options, entries, dtypes)
        return 0
    return report(entries, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
