"""Acts when modules of others are imported: finders that watch imports and find nothing themselves."""

import importlib.abc
import importlib.util
import sys


class AfterExec(importlib.abc.Loader):
    def __init__(self, loader, action):
        self.loader = loader
        self.action = action

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        self.action(module)

    def __getattr__(self, name):
        # get_source and kin, for tracebacks and inspect
        return getattr(self.loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Lets the others find, and acts after the module is there."""

    def __init__(self, actions, loss):
        self.actions = actions
        self.loss = loss
        self.searching = False

    def find_spec(self, name, path, target=None):
        if name not in self.actions or self.searching:
            return None
        self.searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = AfterExec(spec.loader, self.guarded(self.actions[name]))
        return spec

    def guarded(self, action):
        def act(module):
            try:
                action(module)
            except Exception as error:  # the program must run on, as it would without us
                print(f"devsan: {self.loss.format(module.__name__)}: {error!r}", file=sys.stderr)

        return act


def after_import(actions, loss):
    """Calls `actions[name]` with the module of that name once it has been executed. `loss` says what is missing where that
    fails; {} stands for the module's name."""
    sys.meta_path.insert(0, _Finder(actions, loss))
