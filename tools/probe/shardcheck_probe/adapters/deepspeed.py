"""DeepSpeed's engine with ZeRO-1, -2 or -3 (strategy optim, optim_grads, optim_grads_params), on CUDA or the CPU.

The engine is configured with the case's accumulation count and owns the step, as in its own training loops. The loss is
not divided by that count, or (loss_division "accumulation", the engine's default) it is and was made that much larger
before, so that the right gradient is the same. What a rank owns is read from its partition, without communication.
"""

import importlib.metadata
import importlib.util

from shardcheck_probe import BadInput, MachineCannot
from shardcheck_probe.adapters.base import BaseAdapter, Shard, Wrapped, refuse_replicas
from shardcheck_probe.model import TYPES, parameters_by_index

STAGES = {"optim": 1, "optim_grads": 2, "optim_grads_params": 3}
NAMES = {"f32": "fp32", "bf16": "bf16"}
SMALL_BUCKET = 8  # elements: most gradients have a bucket of their own, and some are larger than one


def config_of(case):
    """The engine's configuration; what is not named has DeepSpeed's default. Clipping is on by default."""
    zero = {"stage": STAGES[case.options["strategy"]], "overlap_comm": case.options["overlap"]}
    if case.options["small_buckets"]:
        zero["reduce_bucket_size"] = SMALL_BUCKET
    if zero["stage"] == 3 and case.options["reshard"]:
        zero["stage3_param_persistence_threshold"] = 0  # weights as small as ours would never be freed
    return {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": case.microbatches,
            "zero_optimization": zero, "zero_allow_untested_optimizer": True, "gradient_clipping": 0.0,
            "bf16": {"enabled": case.parameters[0].dtype == "bf16"},
            "communication_data_type": NAMES[case.comm],
            "data_types": {"grad_accum_dtype": NAMES[case.main_grad]}}


class Steps:
    """The optimizer as the training loop sees it: the engine's step."""

    def __init__(self, wrapped):
        self.wrapped = wrapped

    def step(self):
        self.wrapped.step()


class WrappedDeepspeed(Wrapped):
    def __init__(self, case, engine):
        self.case, self.module, self.is_due = case, engine, False
        self.parameters = parameters_by_index(engine.module)
        self.rank = engine.global_rank

    def optimizer(self, rate):
        return Steps(self)

    def backward(self, loss, last):
        divides = self.case.options["loss_division"] == "accumulation"
        self.module.backward(loss * self.case.microbatches if divides else loss, scale_wrt_gas=divides)
        self.is_due = True
        if not last:
            self.step()  # counts the microbatch

    def step(self):
        self.module.step()
        self.is_due = False

    def zero_grad(self, optimizer):
        if self.is_due:  # the engine clears gradients in its step, and nowhere else
            self.step()

    def partition(self, parameter, tensor):
        """A partition of ZeRO-3: even pieces, the last ones padded."""
        first = min(self.rank * tensor.numel(), parameter.ds_numel)
        kept = tensor.detach().flatten()[:parameter.ds_numel - first]
        return Shard(first, kept.to("cpu", copy=True))

    def gradient(self, parameter):
        if not parameter.requires_grad:
            return Shard(0, None)
        if hasattr(parameter, "ds_id"):
            from deepspeed.utils import safe_get_local_grad
            return self.partition(parameter, safe_get_local_grad(parameter))
        mapping = parameter._hp_mapping
        if mapping is None:
            return Shard(0, parameter.detach().new_empty(0).cpu())
        first, count = mapping.lp_fragment_address.start, mapping.lp_fragment_address.numel
        try:
            kept = mapping.get_lp_grad_fragment(parameter._index_in_param_group)
        except ValueError:  # DeepSpeed's word for: there is none
            return Shard(first, None)
        if kept is None:
            return Shard(first, None)
        kept = kept.detach().flatten()
        whole = kept.numel() == parameter.numel() and count != kept.numel()
        return Shard(first, (kept.narrow(0, first, count) if whole else kept).to("cpu", copy=True))

    def gradients(self):
        return {i: self.gradient(p) for i, p in self.parameters.items()}

    def values(self):
        """The weights that the next forward pass sees: whole ones, or the partition where the rest is freed."""
        kept = {}
        for i, p in self.parameters.items():
            freed = hasattr(p, "ds_id") and p.numel() != p.ds_numel
            kept[i] = self.partition(p, p.ds_tensor) if freed else Shard(0, p.detach().flatten().to("cpu", copy=True))
        return kept


class Adapter(BaseAdapter):
    name = "deepspeed"

    def require(self):
        """Does not import it: that starts CUDA, which must not happen before serve.py forks."""
        if importlib.util.find_spec("deepspeed") is None:
            raise MachineCannot("adapter deepspeed: DeepSpeed is missing; DS_BUILD_OPS=0 pip install deepspeed")
        return f"deepspeed {importlib.metadata.version('deepspeed')}"

    def check(self, case):
        refuse_replicas(case, self.name)
        if case.options["strategy"] not in STAGES:
            raise BadInput(f"adapter.strategy: \"{case.options['strategy']}\" is no stage of ZeRO; use "
                           f"{', '.join(STAGES)}")
        if case.options["sync"] == "every" and case.microbatches > 1:
            raise BadInput("adapter.sync: DeepSpeed's engine decides when gradients are reduced; use \"last\"")
        if {case.main_grad, case.comm, *(p.dtype for p in case.parameters)} - set(NAMES):
            raise BadInput("scenario: this adapter runs f32 and bf16")
        if len({p.dtype for p in case.parameters}) > 1:
            raise BadInput("scenario.parameters: DeepSpeed has one type of weights; give all the same dtype")

    def stored_type(self, case):
        return TYPES[case.parameters[0].dtype]

    def wrap(self, case, model, device):
        import deepspeed
        import torch
        from shardcheck_probe.run import RATE
        deepspeed.utils.logger.setLevel("ERROR")
        trainable = [p for p in model.parameters() if p.requires_grad]
        engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.SGD(trainable, lr=RATE),
                                          config=config_of(case), dist_init_required=False)
        return WrappedDeepspeed(case, engine)
