"""Megatron-FSDP, the package of that name on PyPI, without Transformer Engine. It runs on CUDA only.

`strategy` is its zero_dp_strategy. With sync "last" the microbatches before the last run under set_model_auto_sync
(False), as its own training loops do for gradient accumulation; the step finishes with finish_grad_sync().
"""

import torch
from torch.distributed.device_mesh import init_device_mesh

from shardcheck_probe import BadInput, MachineCannot
from shardcheck_probe.adapters.base import BaseAdapter, Wrapped, refuse_replicas
from shardcheck_probe.model import TYPES, Unit


class WrappedMegatronFsdp(Wrapped):
    def optimizer(self, rate):
        from megatron_fsdp import fully_shard_optimizer
        return fully_shard_optimizer(super().optimizer(rate))

    def microbatch(self, number, last):
        if self.case.options["sync"] == "last":
            self.module.is_last_microbatch = last
        return super().microbatch(number, last)

    def finish(self):
        if self.case.options["sync"] == "last":
            self.module.finish_grad_sync()

    def zero_grad(self, optimizer):
        optimizer.zero_grad()


class Adapter(BaseAdapter):
    name = "megatron-fsdp"

    def require(self):
        try:
            import megatron_fsdp
        except ImportError as error:
            raise MachineCannot(f"adapter megatron-fsdp: {error}; pip install megatron-fsdp") from None
        if not torch.cuda.is_available():
            raise MachineCannot("adapter megatron-fsdp: it needs CUDA, and torch sees no GPU")
        return f"megatron-fsdp {megatron_fsdp.__version__}"

    def check(self, case):
        refuse_replicas(case, self.name)
        if case.options["sync"] == "every" and case.microbatches > 1 and not self.adds(case):
            raise BadInput("adapter.sync: with this strategy Megatron-FSDP reduces into the buffer that accumulates, "
                           "and says that it must be done once; use \"last\"")

    @staticmethod
    def adds(case):
        return case.options["strategy"] in ("optim_grads", "optim_grads_params")

    def stored_type(self, case):
        return TYPES[case.parameters[0].dtype]

    def wrap(self, case, model, device):
        from megatron_fsdp import MixedPrecisionPolicy, fully_shard_model
        mesh = init_device_mesh("cuda", (case.ranks, 1), mesh_dim_names=("fsdp", "tp"))
        policy = MixedPrecisionPolicy(main_params_dtype=TYPES[case.main_grad], main_grads_dtype=TYPES[case.main_grad],
                                      grad_comm_dtype=TYPES[case.comm])
        module = fully_shard_model(
            module=model, device_mesh=mesh, dp_shard_dim="fsdp", tp_dim="tp", fsdp_unit_modules=[Unit],
            zero_dp_strategy=case.options["strategy"], device=device, mixed_precision_policy=policy,
            sync_model_each_microbatch=case.options["sync"] == "every")
        return WrappedMegatronFsdp(case, module)
