"""A wrapper of the user's own: custom:FILE.py, a Python file with

    def wrap(model, case, device): ...     # returns the wrapped module; its parameters carry the gradients in .grad

and, where they are needed, `microbatch(module, number, last)` (a context manager around forward and backward),
`finish(module)` (after the last backward of a step) and `stored_type(case)`.
"""

import importlib.util
import os

from shardcheck_probe import BadInput
from shardcheck_probe.adapters.base import BaseAdapter, Wrapped


def load(path):
    if not os.path.isfile(path):
        raise BadInput(f"adapter custom:{path}: there is no such file")
    spec = importlib.util.spec_from_file_location("shardcheck_custom_adapter", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the user's file raises is the user's to mend
        raise BadInput(f"adapter custom:{path}: raises {type(error).__name__}: {error}") from error
    if not callable(getattr(module, "wrap", None)):
        raise BadInput(f"adapter custom:{path}: defines no function wrap(model, case, device)")
    return module


class WrappedCustom(Wrapped):
    def __init__(self, case, module, hooks):
        super().__init__(case, module)
        self.hooks = hooks

    def microbatch(self, number, last):
        if hasattr(self.hooks, "microbatch"):
            return self.hooks.microbatch(self.module, number, last)
        return super().microbatch(number, last)

    def finish(self):
        if hasattr(self.hooks, "finish"):
            self.hooks.finish(self.module)


class Adapter(BaseAdapter):
    def __init__(self, path):
        self.name, self.hooks = f"custom:{path}", load(path)

    def stored_type(self, case):
        return self.hooks.stored_type(case) if hasattr(self.hooks, "stored_type") else super().stored_type(case)

    def wrap(self, case, model, device):
        return WrappedCustom(case, self.hooks.wrap(model, case, device), self.hooks)
