"""What an adapter does: says whether its framework is there, which cases it can run, and wraps a model.

`Wrapped` is the wrapped model as the training loop (run.py) sees it. The defaults fit a framework whose gradients are
whole tensors or DTensors in `.grad` of the parameters; an adapter overrides what is different.
"""

import contextlib
from dataclasses import dataclass
from typing import Optional

import torch
import torch.distributed as dist

from shardcheck_probe import BadInput
from shardcheck_probe.model import TYPES, parameters_by_index


@dataclass
class Shard:
    """What a rank owns of a tensor: elements from `first` on, row-major; None where there is no tensor."""

    first: int
    tensor: Optional[torch.Tensor]


def local_of(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def sharded_dimensions(tensor):
    """The dimensions of the mesh over which a DTensor is cut; none for a plain tensor."""
    if not hasattr(tensor, "placements"):
        return []
    for placement in tensor.placements:
        if placement.is_shard() and placement.dim != 0:
            raise BadInput(f"a weight is cut along dimension {placement.dim}; only cuts along dimension 0 can be judged")
    return [i for i, placement in enumerate(tensor.placements) if placement.is_shard()]


def first_elements(parameters):
    """For each parameter the first element that this rank owns. Talks to the other ranks; call it on all of them."""
    mine = {}
    for index, parameter in parameters.items():
        cut = sharded_dimensions(parameter)
        coordinate = list(parameter.device_mesh.get_coordinate()) if cut else []
        group = tuple(-1 if i in cut else c for i, c in enumerate(coordinate))
        mine[index] = (group, tuple(coordinate[i] for i in cut), local_of(parameter).numel())
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    return {index: sum(size for group, place, size in (theirs[index] for theirs in everyone)
                       if group == mine[index][0] and place < mine[index][1])
            for index in parameters}


class Wrapped:
    def __init__(self, case, module):
        self.case, self.module = case, module
        self.parameters = parameters_by_index(module)
        self.first = first_elements(self.parameters)

    def optimizer(self, rate):
        trainable = [p for p in self.parameters.values() if p.requires_grad]
        return torch.optim.SGD(trainable, lr=rate)

    def microbatch(self, number, last):
        """The context of the forward and backward pass of a microbatch; `last` is true for the last of the step."""
        return contextlib.nullcontext()

    def backward(self, loss, last):
        """The backward pass of a microbatch."""
        loss.backward()

    def finish(self):
        """Called after the last backward of a step, before gradients are read."""

    def shard(self, index, tensor):
        kept = None if tensor is None else local_of(tensor).detach().flatten().to("cpu", copy=True)
        return Shard(self.first[index], kept)

    def gradients(self):
        return {i: self.shard(i, p.grad) for i, p in self.parameters.items()}

    def values(self):
        return {i: self.shard(i, p) for i, p in self.parameters.items()}

    def zero_grad(self, optimizer):
        optimizer.zero_grad(set_to_none=self.case.options["zero_grad"] == "none")


class BaseAdapter:
    name = ""

    def require(self):
        """The framework's version; raises MachineCannot where it is missing or too old."""
        return ""

    def check(self, case):
        """Raises BadInput where the framework has no way to do what the case asks."""

    def stored_type(self, case):
        """The type in which the model is built."""
        return TYPES[case.main_grad]

    def wrap(self, case, model, device):
        """The Wrapped model."""
        raise NotImplementedError


def refuse_replicas(case, name):
    if case.replicas != 1:
        raise BadInput(f"adapter.replicas: {name} has no outer axis; use 1")


def same_types(case, name):
    """DDP and the like have one type for weights, gradients and the wire."""
    types = {case.main_grad, case.comm, *(p.dtype for p in case.parameters)}
    if len(types) != 1:
        raise BadInput(f"scenario.numerics: {name} keeps weights, gradients and messages in one type; "
                       f"the case has {', '.join(sorted(types))}")
