"""Shows that each name by which intent.cpp knows LibTorch exists in a LibTorch: in one that has renamed them, intent would
change in silence. Usage: intent_names_test.py INTENT_CPP BACKWARD_CPP STEPS_CPP TORCH_DIR NM

Names are symbols of its libraries, functions and templates of its headers, or functions of its Python package.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

# Of the lists, by the name of the array: a symbol has to start with, to be, or to hold the class of an operator.
PREFIXES = {"kWrappers", "kConstructorHelpers"}
FUNCTIONS = {"kBulkMoves", "kConstructors", "kMovesBack", "kCommunication", "kOwnTimings"}
OPERATORS = {"kMoves", "kScalarReads"}
BINDINGS = {"kBindings", "kConstructorBindings"}
HEADERS = {"kMethodHeaders"}
# DevSan's own, and the languages' clocks; then what only some LibTorchs have: names, with the version that has them.
OTHER_LISTS = {"kPythonSimulator", "kClocks"}
EXPRESSIONS = {"<lambda>": ast.Lambda, "<genexpr>": ast.GeneratorExp}
ONLY_IN = {
    # The CPU wheel lacks what moves data between the devices of one process; a CUDA build has it.
    **{name: "CUDA builds" for name in (
        "torch::cuda::scatter", "torch::cuda::scatter_out", "torch::cuda::gather", "torch::cuda::gather_out",
        "torch::cuda::broadcast", "torch::cuda::broadcast_out", "torch::cuda::broadcast_coalesced",
        "torch::autograd::Scatter::apply", "torch::autograd::Gather::apply")},
    # Methods so far, which vanish in their callers; here in case they become operators.
    "cpu": "none", "cuda": "none",
}


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def lists_in(text):
    """The arrays of names: {"kMoves": ["to_device", …]}, and of Python's functions as (file, function)."""
    found = {}
    for name, body in re.findall(r"constexpr auto (k\w+) =\s*std::to_array<std::string_view>\(\s*\{(.*?)\}\)", text, re.S):
        found[name] = re.findall(r'"([^"]*)"', body)
    for name, body in re.findall(r"constexpr PythonFunction (k\w+)\[\] = \{(.*?)\};", text, re.S):
        found[name] = re.findall(r'\{"([^"]*)", "([^"]*)"\}', body)
    return found


class Torch:
    def __init__(self, directory, nm):
        self.directory, self.nm = directory, nm

    @cache
    def symbols(self):
        names = set()
        for library in ("libtorch_cpu.so", "libtorch_python.so", "libc10.so"):
            path = str(self.directory / "lib" / library)
            for options in ([], ["-D"]):
                text = subprocess.run([self.nm, "-C", *options, path], capture_output=True, text=True, check=False).stdout
                names.update(line[19:] for line in text.splitlines() if len(line) > 19)
        return names

    @cache
    def functions(self):
        """Qualified names, without arguments."""
        names = {symbol.partition("(")[0] for symbol in self.symbols()}
        return names | {name.rpartition(" ")[2] for name in names}  # of templates, whose results are named too

    @cache
    def headers(self):
        folders = ("torch/csrc/api/include", "torch/csrc/autograd", "torch/csrc/jit", "torch/csrc/utils", "ATen/core", "ATen")
        text = []
        for folder in folders:
            for path in (self.directory / "include" / folder).rglob("*.h"):
                if path.name in ("Functions.h", "Operators.h") or "/ops/" in str(path):
                    continue
                text.append(path.read_text(errors="replace"))
        return "\n".join(text)

    def has_function(self, name):
        if name in self.functions():
            return True
        # Inlined or a template.
        return re.search(rf"\b{re.escape(name.split('::')[-1])}\s*\(", self.headers()) is not None

    def has_prefix(self, prefix):
        return any(prefix in symbol for symbol in self.symbols()) or prefix.rstrip(":").split("::")[-1] in self.headers()

    def has_operator(self, name):
        return f"at::_ops::{name}::call" in self.functions()

    def has_binding(self, name):
        return any(symbol.startswith(f"torch::autograd::THPVariable_{name}(") for symbol in self.symbols())

    def has_python(self, file_end, function):
        path = self.directory / file_end.removeprefix("/torch/")
        if not path.exists():
            return False
        if not function:
            return True
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        if function in EXPRESSIONS:
            return any(isinstance(node, EXPRESSIONS[function]) for node in nodes)
        return any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == function for node in nodes)


def missing(torch, lists):
    for name, entries in lists.items():
        for entry in entries:
            if entry in ONLY_IN:
                continue
            if name in OTHER_LISTS:
                continue
            if isinstance(entry, tuple):
                good = torch.has_python(*entry)
            elif name in OPERATORS:
                good = torch.has_operator(entry)
            elif name in BINDINGS:
                good = torch.has_binding(entry)
            elif name in PREFIXES:
                good = torch.has_prefix(entry)
            elif name in HEADERS:
                good = (torch.directory / "include" / entry.lstrip("/")).exists()
            elif name in FUNCTIONS:
                good = torch.has_function(entry)
            else:
                yield f"{name}: this test does not know what kind of names it holds"
                break
            if not good:
                yield f"{name}: {entry}"


def moving_operators(directory):
    """Those that give their first operand back on the device of their second, such as `type_as`: the call says "move it"."""
    sys.path.insert(0, str(directory.parent))
    import torch
    here, there = torch.ones(2), torch.ones(2, device="meta")
    for schema in torch._C._jit_get_all_schemas():
        types = [str(argument.type) for argument in schema.arguments]
        writes = any(argument.alias_info and argument.alias_info.is_write for argument in schema.arguments)
        if not schema.name.startswith("aten::") or types[:2] != ["Tensor", "Tensor"] or len(schema.returns) != 1 or writes:
            continue
        try:
            operator = getattr(getattr(torch.ops.aten, schema.name[6:]), schema.overload_name or "default")
            if operator(here, there).device.type == "meta" and torch.equal(operator(here * 3, here), here * 3):
                yield "_".join(filter(None, (schema.name[6:], schema.overload_name)))
        except Exception:  # needs more operands, or refuses these
            continue


def missing_redirections(torch, *sources):
    """Functions whose calls are redirected, by their mangled names."""
    text = subprocess.run([torch.nm, "-D", "--defined-only", str(torch.directory / "lib/libtorch_cpu.so")],
                          capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in text.splitlines()}
    for source in sources:
        joined = re.sub(r'"\s*\n\s*"', "", without_comments(source))  # literals that go on in the next line
        names = re.findall(r'"(_ZN5torch\w+)"', joined)
        if not names:
            yield "no redirected function found in the source: did its form change?"
        yield from (f"redirected: {name}" for name in names if name not in exported)


def main():
    intent, *redirecting = (Path(argument).read_text(encoding="utf-8") for argument in sys.argv[1:4])
    torch = Torch(Path(sys.argv[4]), sys.argv[5])
    lists = lists_in(without_comments(intent))
    expected = PREFIXES | FUNCTIONS | OPERATORS | BINDINGS | HEADERS
    problems = [f"{name}: not found in intent.cpp" for name in expected - set(lists)]
    problems += missing(torch, lists)
    moving = set(moving_operators(torch.directory))
    problems += [f"kMoves lacks {name}, which moves its operand" for name in moving - set(lists["kMoves"])]
    if "to_other" not in moving:
        problems.append("no operator moves its operand to the device of another: the test does not look")
    problems += missing_redirections(torch, *redirecting)
    # That the test can fail at all.
    for check, invented in ((torch.has_operator, "to_nowhere"), (torch.has_binding, "nowhere"),
                            (torch.has_function, "torch::nn::Module::to_nowhere"), (torch.has_prefix, "torch::nowhere::")):
        if check(invented):
            problems.append(f"{invented} seems to exist: the test finds what is not there")
    if torch.has_python("/torch/_tensor.py", "nowhere"):
        problems.append("nowhere seems to exist in _tensor.py")
    for problem in problems:
        print(f"LibTorch in {torch.directory} has no such name: {problem}", file=sys.stderr)
    print(f"{sum(map(len, lists.values()))} names of {len(lists)} lists looked up")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
