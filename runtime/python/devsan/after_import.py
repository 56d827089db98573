"""A loader that acts once another one has executed its module: for finders that watch imports and find nothing themselves."""

import importlib.abc


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
