"""The model of a case: units that hold its parameters, and a forward pass that uses them in the given order.

Each use adds sum((x W^T) * dy) to a running scalar, so the weight gradient of the use is exactly dy^T x while the
units hang on each other in autograd as layers do. Unit 0 is the root. Weights begin at zero.
"""

import torch

from shardcheck_probe import coding

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def use_weights(h, module, calls):
    """Adds every call to h: the weight of that name with its x and dy."""
    for name, x, dy in calls:
        weight = getattr(module, name)
        y = torch.nn.functional.linear(x, weight) if weight.dim() == 2 else x * weight
        h = h + (y * dy).sum()
    return h


class Unit(torch.nn.Module):
    """The weights that a sharding wrapper wraps together."""

    def __init__(self, weights):
        super().__init__()
        for name, weight in weights.items():
            self.register_parameter(name, weight)

    def forward(self, h, calls):
        return use_weights(h, self, calls)


class Model(torch.nn.Module):
    """The root: weights of its own, and the units."""

    def __init__(self, own, units):
        super().__init__()
        for name, weight in own.items():
            self.register_parameter(name, weight)
        self.units = torch.nn.ModuleDict({str(number): Unit(weights) for number, weights in units.items()})

    def forward(self, h, groups):
        for unit, calls in groups:
            h = use_weights(h, self, calls) if unit == 0 else self.units[str(unit)](h, calls)
        return h


def build(case, stored, device):
    """The model with its weights in the type `stored`; attribute p3 of its unit is parameter 3."""
    units = {}
    for i, parameter in enumerate(case.parameters):
        weight = torch.nn.Parameter(torch.zeros(parameter.shape, dtype=stored, device=device))
        weight.requires_grad_(parameter.trainable)
        units.setdefault(parameter.unit, {})[f"p{i}"] = weight
    return Model(units.pop(0, {}), units).to(device)


def parameters_by_index(model):
    """The parameters of a model, wrapped or not, by their index in the case."""
    found = {}
    for name, parameter in model.named_parameters():
        found[int(name.rsplit(".", 1)[-1][1:])] = parameter
    return found


class Batches:
    """The inputs of the model. `live` names the only contribution that is not zero, for linear probing."""

    def __init__(self, case, rank, device):
        self.case, self.rank, self.device = case, rank, device

    def groups(self, step, microbatch, live=None):
        """Calls in forward order, those of one unit that follow each other together."""
        groups, seen = [], {}
        for position, parameter in enumerate(self.case.uses):
            use = seen.get(parameter, 0)
            seen[parameter] = use + 1
            if not self.case.is_used(parameter, step, self.rank, microbatch):
                continue
            is_live = live is None or live == (self.rank, microbatch, position)
            call = (f"p{parameter}", *self.operands(parameter, step, microbatch, use, is_live))
            unit = self.case.parameters[parameter].unit
            if not groups or groups[-1][0] != unit:
                groups.append((unit, []))
            groups[-1][1].append(call)
        return groups

    def operands(self, parameter, step, microbatch, use, is_live):
        kind = {"dtype": TYPES[self.case.parameters[parameter].dtype], "device": self.device}
        columns, rows = coding.operands(self.case, parameter, step, self.rank, microbatch, use)
        tokens = self.case.tokens_of(self.rank, microbatch)
        x = torch.zeros((tokens, len(columns)), **kind)
        dy = torch.zeros((tokens, len(rows)), **kind)
        if tokens > 0:
            x[0] = torch.tensor(columns, **kind)
            if is_live:
                dy[0] = torch.tensor(rows, **kind)
        return x, dy
