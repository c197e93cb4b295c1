"""The sequence of collectives of a rank: kind, reduction, group, type, sizes, place in the schedule, finished or not.

A TorchDispatchMode sees every collective of torch.distributed, whoever issues it: the reducer of DDP in C++, FSDP,
functional collectives. Nothing of the framework is patched.
"""

import json

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

NAMESPACES = ("c10d", "_c10d_functional")
REDUCTIONS = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum")
TYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in tensors_in(each)]
    return []


def unboxed(kind, value):
    """The Python object of a value that the dispatcher passes in a box."""
    return value if isinstance(value, kind) else kind.unbox(value)


class Recorder(TorchDispatchMode):
    """`journal` is a file that gets a line for every event before it is issued: it survives an abort."""

    def __init__(self, journal):
        super().__init__()
        self.journal = journal
        self.events, self.works, self.place = [], [], {"step": 0, "microbatch": 0, "phase": "wrap"}

    def at(self, step, microbatch, phase):
        self.place = {"step": step, "microbatch": microbatch, "phase": phase}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace not in NAMESPACES or "wait" in function._schema.name:
            return function(*args, **(kwargs or {}))
        event = {"kind": function._schema.name.split("::")[1].strip("_"), **self.place}
        try:
            self.describe(event, function._schema.arguments, args)
        except (AttributeError, RuntimeError, TypeError) as error:  # another torch: the call itself must go on
            event["undescribed"] = f"{type(error).__name__}: {error}"[:200]
        for name, unknown in (("group", []), ("dtype", ""), ("sent", 0), ("received", 0)):
            event.setdefault(name, unknown)
        self.events.append(event)
        self.works.append(None)
        self.note(event)
        number = len(self.works) - 1
        result = function(*args, **(kwargs or {}))
        self.works[number] = result[-1] if isinstance(result, tuple) and result else True
        return result

    def settle(self):
        """Called when the device is idle: everything that was issued has completed."""
        self.works = [True] * len(self.works)
        self.note("settled")

    def note(self, line):
        self.journal.write((json.dumps(line) + "\n").encode())

    def describe(self, event, arguments, values):
        sent, received = [], []
        for argument, value in zip(arguments, values):
            tensors = tensors_in(value)
            if argument.name == "process_group":
                event["group"] = dist.get_process_group_ranks(unboxed(dist.ProcessGroup, value))
            elif argument.name == "group_name":
                event["group"] = dist.get_process_group_ranks(dist.distributed_c10d._resolve_process_group(value))
            elif argument.name == "reduce_op":
                event["reduction"] = self.reduction(value)
            elif tensors:
                (received if argument.name.startswith("output") else sent).extend(tensors)
        event["dtype"] = TYPES.get(sent[0].dtype, str(sent[0].dtype).replace("torch.", "")) if sent else ""
        event["sent"] = sum(tensor.numel() for tensor in sent)
        event["received"] = sum(tensor.numel() for tensor in received)

    @staticmethod
    def reduction(value):
        if isinstance(value, str):
            return value
        try:
            operation = unboxed(dist.ReduceOp, value).op
            return str(operation).rsplit(".", 1)[-1].lower()
        except (AttributeError, RuntimeError, TypeError):
            return ""  # this torch does not say

    def finished(self):
        """The events, each with whether it has completed."""
        return [{**event, "completed": is_completed(work)} for event, work in zip(list(self.events), self.works)]


def events_in(journal):
    """The events of a journal, each with whether it has completed for certain."""
    events = []
    try:
        with open(journal, encoding="utf-8") as file:
            for line in file:
                entry = json.loads(line)
                if entry == "settled":
                    events = [{**event, "completed": True} for event in events]
                else:
                    events.append({**entry, "completed": False})
    except (OSError, ValueError):
        pass  # what was read before the broken line counts
    return events


def is_completed(work):
    if work is None or isinstance(work, bool):
        return bool(work)
    try:
        return bool(unboxed(dist.Work, work).is_completed())
    except (AttributeError, RuntimeError, TypeError):
        return False  # not known
