"""DistributedDataParallel of PyTorch: persistent buckets, all-reduce; no_sync() on all microbatches but the last."""

import contextlib

from torch.nn.parallel import DistributedDataParallel

from shardcheck_probe.adapters.base import BaseAdapter, Wrapped, refuse_replicas, same_types

SMALL_BUCKET_MB = 1e-5  # ten bytes: every gradient has a bucket of its own


class WrappedDdp(Wrapped):
    def microbatch(self, number, last):
        waits = self.case.options["sync"] == "last" and not last
        return self.module.no_sync() if waits else contextlib.nullcontext()


class Adapter(BaseAdapter):
    name = "ddp"

    def check(self, case):
        refuse_replicas(case, self.name)
        same_types(case, self.name)

    def wrap(self, case, model, device):
        buckets = {"bucket_cap_mb": SMALL_BUCKET_MB} if case.options["small_buckets"] else {}
        return WrappedDdp(case, DistributedDataParallel(
            model, find_unused_parameters=case.options["find_unused"],
            gradient_as_bucket_view=case.options["bucket_view"], **buckets))
