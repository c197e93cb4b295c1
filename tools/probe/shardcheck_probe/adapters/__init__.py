"""The adapters: how a framework wraps the model of a case. One file each; base.py says what they have to do."""

import importlib

from shardcheck_probe import BadInput

NAMES = {"ddp": "ddp", "fsdp2": "fsdp2", "megatron-fsdp": "megatron_fsdp", "deepspeed": "deepspeed", "fsdp1": "fsdp1",
         "custom": "custom"}


def adapter_of(name):
    """The adapter of that name ("custom:FILE.py" has its file behind the colon); raises BadInput, MachineCannot."""
    kind, _, argument = name.partition(":")
    if kind not in NAMES or (kind == "custom") != bool(argument):
        known = ", ".join(key for key in NAMES if key != "custom")
        raise BadInput(f"adapter {name}: is unknown; known are {known}, custom:FILE.py")
    module = importlib.import_module(f"shardcheck_probe.adapters.{NAMES[kind]}")
    return module.Adapter(argument) if argument else module.Adapter()
