"""FSDP2 of PyTorch (fully_shard): every unit and the root are groups; HSDP where there are replicas.

The types of the scenario become its policy: weights and gradients in main_grad, compute in the parameters' type,
reductions in comm. `sync` and `all_reduce` are set_requires_gradient_sync and set_requires_all_reduce.
"""

import contextlib

import torch
from torch.distributed.device_mesh import init_device_mesh

from shardcheck_probe import BadInput, MachineCannot
from shardcheck_probe.adapters.base import BaseAdapter, Wrapped
from shardcheck_probe.model import TYPES


class WrappedFsdp2(Wrapped):
    def microbatch(self, number, last):
        self.module.set_requires_gradient_sync(last or self.case.options["sync"] == "every")
        if self.case.replicas > 1:
            self.module.set_requires_all_reduce(last or self.case.options["all_reduce"] == "every")
        return contextlib.nullcontext()


class Adapter(BaseAdapter):
    name = "fsdp2"

    def require(self):
        try:
            from torch.distributed.fsdp import fully_shard  # noqa: F401
        except ImportError:
            raise MachineCannot(f"adapter fsdp2: torch {torch.__version__} has no fully_shard; use 2.6 or newer") from None
        return ""

    def check(self, case):
        if len({p.dtype for p in case.parameters}) > 1:
            raise BadInput("scenario.parameters: a policy of FSDP2 has one compute type; give all the same dtype")

    def wrap(self, case, model, device):
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        shape, names = (case.ranks,), ("shard",)
        if case.replicas > 1:
            shape, names = (case.replicas, case.ranks // case.replicas), ("replicate", "shard")
        mesh = init_device_mesh(device.type, shape, mesh_dim_names=names)
        compute, reduce, stored = case.parameters[0].dtype, case.comm, case.main_grad
        # A type that is not named is the one before it: unnamed is what most users have.
        policy = MixedPrecisionPolicy(param_dtype=TYPES[compute] if compute != stored else None,
                                      reduce_dtype=TYPES[reduce] if reduce != compute else None)
        how = {"mesh": mesh, "mp_policy": policy, "reshard_after_forward": case.options["reshard"]}
        for unit in model.units.values():
            fully_shard(unit, **how)
        fully_shard(model, **how)
        return WrappedFsdp2(case, model)
