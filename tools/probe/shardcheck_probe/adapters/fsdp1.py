"""FSDP1 of PyTorch (FullyShardedDataParallel): flat parameters; gradients are read whole, as its own API gathers them.

summon_full_params(with_grads=True) gives every rank the whole gradient, so each rank owns all elements of the trace.
"""

import contextlib

from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy

from shardcheck_probe import BadInput
from shardcheck_probe.adapters.base import BaseAdapter, Shard, Wrapped, refuse_replicas, same_types
from shardcheck_probe.model import parameters_by_index


class WrappedFsdp1(Wrapped):
    def __init__(self, case, module):
        self.case, self.module = case, module
        self.parameters = parameters_by_index(module)

    def microbatch(self, number, last):
        waits = self.case.options["sync"] == "last" and not last
        return self.module.no_sync() if waits else contextlib.nullcontext()

    def gathered(self, with_gradients):
        with FullyShardedDataParallel.summon_full_params(self.module, with_grads=with_gradients, writeback=False):
            for i, p in parameters_by_index(self.module).items():
                tensor = p.grad if with_gradients else p
                yield i, Shard(0, None if tensor is None else tensor.detach().flatten().to("cpu", copy=True))

    def gradients(self):
        return dict(self.gathered(True))

    def values(self):
        return dict(self.gathered(False))


class Adapter(BaseAdapter):
    name = "fsdp1"

    def check(self, case):
        refuse_replicas(case, self.name)
        same_types(case, self.name)
        if not all(p.trainable for p in case.parameters):
            raise BadInput("scenario.parameters: this adapter has no frozen weights; a flat parameter mixes them")

    def wrap(self, case, model, device):
        strategy = ShardingStrategy.FULL_SHARD if case.options["reshard"] else ShardingStrategy.SHARD_GRAD_OP
        how = {"sharding_strategy": strategy, "use_orig_params": True,
               "device_id": device if device.type == "cuda" else None}
        for number in list(model.units):
            model.units[number] = FullyShardedDataParallel(model.units[number], **how)
        return WrappedFsdp1(case, FullyShardedDataParallel(model, **how))
