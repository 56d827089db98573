"""Lets a test file load that imports names which the installed packages no longer or not yet have.

Each such name gets a stand-in. While the file loads it decorates, is false and is empty; a test that uses it is skipped.
"""

import ast
import importlib
import sys
import types
import unittest

REASON = "no %s is installed"

# Whether a test runs, and the file is loaded no more.
running = False


class Missing:
    def __init__(self, name):
        self._name = name

    def _while_loading(self, value):
        if running:
            raise unittest.SkipTest(REASON % self._name)
        return value

    def __call__(self, *arguments, **named):
        """A decorator, or what makes one."""
        decorated = arguments[0] if len(arguments) == 1 and not named else None
        if isinstance(decorated, (type, types.FunctionType)):
            return self._while_loading(unittest.skip(REASON % self._name)(decorated))
        return self._while_loading(self)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._while_loading(Missing(f"{self._name}.{name}"))

    def __mro_entries__(self, bases):
        return (unittest.skip(REASON % self._name)(type("Missing", (unittest.TestCase,), {})),)

    def __bool__(self):
        return self._while_loading(False)

    def __iter__(self):
        return self._while_loading(iter(()))

    def __add__(self, other):
        return self._while_loading(other)

    __radd__ = __add__

    def __enter__(self):
        return self._while_loading(self)

    def __exit__(self, *_):
        pass


def imports(path):
    """(module, name or None) of each import of the file that stands neither in a function nor under `try`."""
    blocks = [ast.parse(path.read_bytes())]
    while blocks:
        for node in blocks.pop().body:
            if isinstance(node, ast.If):
                blocks.append(node)
            elif isinstance(node, ast.Import):
                yield from ((alias.name, None) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield from ((node.module, alias.name) for alias in node.names)


def module(name):
    while True:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            sys.modules[error.name] = Missing(error.name)


def supply(path):
    for of, name in imports(path):
        found = module(of)
        if name not in (None, "*") and not isinstance(found, Missing) and not hasattr(found, name):
            try:
                importlib.import_module(f"{of}.{name}")
            except ModuleNotFoundError:
                setattr(found, name, Missing(f"{of}.{name}"))
