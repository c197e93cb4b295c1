"""python3 -m shardcheck_probe.standalone --case CASE.json --out SCRIPT.py [--title TEXT]

Writes a script for torchrun that runs one case and compares the gradients with the right ones. It imports torch and
the framework and nothing of shardcheck: it is fit for a bug report.
"""

import argparse
import inspect
import sys

from shardcheck_probe import BadInput, coding, model
from shardcheck_probe.adapters import deepspeed
from shardcheck_probe.case import read_cases
from shardcheck_probe.trace import write_bytes

IMPORTS = {
    "ddp": "from torch.nn.parallel import DistributedDataParallel",
    "fsdp2": "from torch.distributed.device_mesh import init_device_mesh\n"
             "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard",
    "fsdp1": "from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy",
    "megatron-fsdp": "from megatron_fsdp import MixedPrecisionPolicy, fully_shard_model, fully_shard_optimizer\n"
                     "from torch.distributed.device_mesh import init_device_mesh",
    "deepspeed": "import deepspeed\nfrom deepspeed.utils import safe_get_full_grad",
}

WRAPS = {
    "ddp": """
def wrap(net, device):
    return DistributedDataParallel(net, find_unused_parameters={find_unused}, gradient_as_bucket_view={bucket_view}{cap})


def microbatch(net, last):
    return contextlib.nullcontext() if last or {every} else net.no_sync()
""",
    "fsdp2": """
def wrap(net, device):
    mesh = init_device_mesh(device.type, {mesh_shape}, mesh_dim_names={mesh_names})
    how = dict(mesh=mesh, reshard_after_forward={reshard},
               mp_policy=MixedPrecisionPolicy(param_dtype={param_dtype}, reduce_dtype={reduce_dtype}))
    for unit in net.units.values():
        fully_shard(unit, **how)
    return fully_shard(net, **how)


def microbatch(net, last):
    net.set_requires_gradient_sync(last or {every}){all_reduce}
    return contextlib.nullcontext()
""",
    "fsdp1": """
def wrap(net, device):
    how = dict(sharding_strategy=ShardingStrategy.{sharding}, use_orig_params=True,
               device_id=device if device.type == "cuda" else None)
    for number in list(net.units):
        net.units[number] = FullyShardedDataParallel(net.units[number], **how)
    return FullyShardedDataParallel(net, **how)


def microbatch(net, last):
    return contextlib.nullcontext() if last or {every} else net.no_sync()
""",
    "megatron-fsdp": """
def wrap(net, device):
    mesh = init_device_mesh("cuda", (RANKS, 1), mesh_dim_names=("fsdp", "tp"))
    policy = MixedPrecisionPolicy(main_params_dtype={stored}, main_grads_dtype={stored}, grad_comm_dtype={comm})
    return fully_shard_model(module=net, device_mesh=mesh, dp_shard_dim="fsdp", tp_dim="tp", fsdp_unit_modules=[Unit],
                             zero_dp_strategy="{strategy}", device=device, mixed_precision_policy=policy,
                             sync_model_each_microbatch={every})


def microbatch(net, last):
    if not {every}:
        net.is_last_microbatch = last
    return contextlib.nullcontext()
""",
    "deepspeed": """
def wrap(net, device):
    sgd = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=RATE)
    config = {config}
    return deepspeed.initialize(model=net, optimizer=sgd, config=config, dist_init_required=False)[0]


def microbatch(net, last):
    return contextlib.nullcontext()
""",
    "custom": """
spec = importlib.util.spec_from_file_location("adapter", {file})
adapter = importlib.util.module_from_spec(spec)
spec.loader.exec_module(adapter)


def wrap(net, device):
    return adapter.wrap(net, None, device)


def microbatch(net, last):
    return adapter.microbatch(net, None, last) if hasattr(adapter, "microbatch") else contextlib.nullcontext()
""",
}

SCRIPT = '''# {title}
#
#   torchrun --standalone --nproc-per-node {ranks} {name}
#
# A model whose weight gradients can be written down: every call of a weight gets x and dy, and its weight gradient is
# outer(dy, x). A call that is not in the list of a rank and microbatch does not happen there. What the framework leaves
# in .grad is compared with the average over the ranks of the sum of all calls. Exit status 1 when it differs.
import contextlib
import faulthandler
import os
import sys

import torch
import torch.distributed as dist
{imports}

RANKS, STEPS, MICROBATCHES, RATE = {ranks}, {steps}, {microbatches}, 0.25
TYPE, STORED = {type}, {stored}
# weight: shape, trainable, the unit (a module that is wrapped by itself; 0 is the root)
WEIGHTS = {weights}
# step, rank, microbatch: calls in forward order: weight, tokens, x, dy (of the first token; the others are zero)
CALLS = {calls}
# step, weight: the right gradient, flattened; None where the weight is frozen or nobody uses it
RIGHT = {right}


{model}
{wrap}

def build(device):
    units = {{}}
    for name, (shape, trainable, unit) in WEIGHTS.items():
        weight = torch.nn.Parameter(torch.zeros(shape, dtype=STORED, device=device), requires_grad=trainable)
        units.setdefault(unit, {{}})[name] = weight
    return Model(units.pop(0, {{}}), units).to(device)


def groups(step, rank, microbatch, device):
    result = []
    for name, tokens, x, dy in CALLS[step, rank, microbatch]:
        first = [torch.zeros(tokens, len(values), dtype=TYPE, device=device) for values in (x, dy)]
        for tensor, values in zip(first, (x, dy)):
            if tokens:
                tensor[0] = torch.tensor(values, dtype=TYPE, device=device)
        unit = WEIGHTS[name][2]
        if not result or result[-1][0] != unit:
            result.append((unit, []))
        result[-1][1].append((name, *first))
    return result


def local_of(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def first_elements(parameters):
    """The first element of each weight that this rank owns, from what all ranks have."""
    mine = {{}}
    for name, p in parameters.items():
        cut = [i for i, q in enumerate(p.placements) if q.is_shard()] if hasattr(p, "placements") else []
        place = list(p.device_mesh.get_coordinate()) if cut else []
        mine[name] = ([c for i, c in enumerate(place) if i not in cut], [place[i] for i in cut], local_of(p).numel())
    everyone = [None] * RANKS
    dist.all_gather_object(everyone, mine)
    return {{name: sum(theirs[name][2] for theirs in everyone if theirs[name][0] == mine[name][0]
                      and theirs[name][1] < mine[name][1]) for name in parameters}}


{gradients}


def main():
    faulthandler.dump_traceback_later(60, exit=True)  # a run that hangs shows where
    rank = int(os.environ["RANK"])
    device = torch.device("{device}")
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    net = wrap(build(device), device)
    parameters = {{name.rsplit(".", 1)[-1]: p for name, p in net.named_parameters()}}
    first = first_elements(parameters)
    optimizer = torch.optim.SGD([p for p in parameters.values() if p.requires_grad], lr=RATE)
{optimizer}    wrong = 0
    for step in range(STEPS):
        for number in range(MICROBATCHES):
            with microbatch(net, number == MICROBATCHES - 1):
                start = torch.zeros((), device=device, requires_grad=True)
                loss = net(start * 1, groups(step, rank, number, device))
{backward}{finish}        for name, gradient in gradients(net, parameters):
            right = RIGHT[step, name]
            if gradient is None:
                if right is not None and any(right) and local_of(parameters[name]).numel():
                    print(f"rank {{rank}}, step {{step}}, {{name}}: no gradient; right is {{right}}", flush=True)
                    wrong += 1
                continue
            got = gradient.flatten().tolist()
            want = (right or [0.0] * (first[name] + len(got)))[first[name]:first[name] + len(got)]
            if got != want:
                print(f"rank {{rank}}, step {{step}}, {{name}}, elements from {{first[name]}} on: "
                      f"got {{got}}, right is {{want}}", flush=True)
                wrong += 1
        optimizer.step()
        optimizer.zero_grad({zero_grad})
    print(f"rank {{rank}}: {{'WRONG' if wrong else 'all gradients are right'}}", flush=True)
    os._exit(1 if wrong else 0)  # without waiting for ranks that may hang


main()
'''

GRADIENTS = '''def gradients(net, parameters):
    return [(name, None if p.grad is None else local_of(p.grad)) for name, p in parameters.items()]'''
GRADIENTS_FSDP1 = '''def gradients(net, parameters):
    with FullyShardedDataParallel.summon_full_params(net, with_grads=True, writeback=False):
        for name, p in net.named_parameters():
            yield name.rsplit(".", 1)[-1], None if p.grad is None else p.grad.clone()'''

GRADIENTS_DEEPSPEED = '''def gradients(net, parameters):
    return [(name, safe_get_full_grad(p) if p.requires_grad else None) for name, p in parameters.items()]'''

BACKWARD = "                loss.backward()\n"
BACKWARD_DEEPSPEED = """                net.backward(loss{times}, scale_wrt_gas={divides})
                if number < MICROBATCHES - 1:
                    net.step()
"""


def torch_type(name):
    return str(model.TYPES[name])


def right_gradients(case):
    """The average over the ranks of the sum of all contributions, by step and weight."""
    right = {}
    for step in range(case.steps):
        for index, parameter in enumerate(case.parameters):
            total = [0.0] * (parameter.rows * parameter.columns)
            used = False
            for rank in range(case.ranks):
                for microbatch in range(case.microbatches):
                    if not case.is_used(index, step, rank, microbatch) or not case.tokens_of(rank, microbatch):
                        continue
                    for use in range(case.uses_of(index)):
                        used = True
                        x, dy = coding.operands(case, index, step, rank, microbatch, use)
                        total = [t + d * e / case.ranks for t, (d, e) in zip(total, ((d, e) for d in dy for e in x))]
            right[step, f"p{index}"] = total if parameter.trainable and used else None
    return right


def calls_of(case):
    calls = {}
    for step in range(case.steps):
        for rank in range(case.ranks):
            for microbatch in range(case.microbatches):
                seen, here = {}, []
                for index in case.uses:
                    use = seen.get(index, 0)
                    seen[index] = use + 1
                    if case.is_used(index, step, rank, microbatch):
                        x, dy = coding.operands(case, index, step, rank, microbatch, use)
                        here.append((f"p{index}", case.tokens_of(rank, microbatch), x, dy))
                calls[step, rank, microbatch] = here
    return calls


def table(entries):
    return "{\n" + "".join(f"    {key!r}: {value!r},\n" for key, value in entries.items()) + "}"


def fields_of(case, kind):
    options, compute = case.options, case.parameters[0].dtype
    every = options["sync"] == "every"
    outer = case.replicas > 1
    return {
        "every": every, "find_unused": options["find_unused"], "bucket_view": options["bucket_view"],
        "cap": ", bucket_cap_mb=1e-5" if options["small_buckets"] else "", "reshard": options["reshard"],
        "mesh_shape": (case.replicas, case.ranks // case.replicas) if outer else (case.ranks,),
        "mesh_names": ("replicate", "shard") if outer else ("shard",),
        "param_dtype": torch_type(compute) if compute != case.main_grad else None,
        "reduce_dtype": torch_type(case.comm) if case.comm != compute else None,
        "all_reduce": f"\n    net.set_requires_all_reduce(last or {options['all_reduce'] == 'every'})" if outer else "",
        "sharding": "FULL_SHARD" if options["reshard"] else "SHARD_GRAD_OP", "stored": torch_type(case.main_grad),
        "comm": torch_type(case.comm), "strategy": options["strategy"],
        "config": deepspeed.config_of(case) if case.adapter == "deepspeed" else None,
        "file": repr(case.adapter.partition(":")[2])}


def backward_of(case):
    if case.adapter != "deepspeed":
        return BACKWARD
    divides = case.options["loss_division"] == "accumulation"
    return BACKWARD_DEEPSPEED.format(times=" * MICROBATCHES" if divides else "", divides=divides)


def script_of(case, title, name, device):
    """The text of the script."""
    kind = case.adapter.partition(":")[0]
    megatron = kind == "megatron-fsdp"
    stored = case.parameters[0].dtype if kind in ("megatron-fsdp", "deepspeed") else case.main_grad
    waits = megatron and case.options["sync"] == "last"
    zeroes = "" if kind in ("megatron-fsdp", "deepspeed") else f"set_to_none={case.options['zero_grad'] == 'none'}"
    sources = [inspect.getsource(thing) for thing in (model.use_weights, model.Unit, model.Model)]
    return SCRIPT.format(
        title=title.replace("\n", "\n# "), name=name, ranks=case.ranks, steps=case.steps,
        microbatches=case.microbatches, imports=IMPORTS.get(kind, "import importlib.util"),
        type=torch_type(case.parameters[0].dtype), stored=torch_type(stored), device=device,
        weights=table({f"p{i}": (p.shape, p.trainable, p.unit) for i, p in enumerate(case.parameters)}),
        calls=table(calls_of(case)), right=table(right_gradients(case)), model="\n\n".join(sources),
        wrap=WRAPS[kind].format(**fields_of(case, kind)),
        gradients={"fsdp1": GRADIENTS_FSDP1, "deepspeed": GRADIENTS_DEEPSPEED}.get(kind, GRADIENTS),
        optimizer={"megatron-fsdp": "    optimizer = fully_shard_optimizer(optimizer)\n",
                   "deepspeed": "    optimizer = net  # its step is the engine's\n"}.get(kind, ""),
        backward=backward_of(case),
        finish="        net.finish_grad_sync()\n" if waits else "", zero_grad=zeroes)


def main():
    parser = argparse.ArgumentParser(prog="shardcheck_probe.standalone", description=__doc__.split("\n\n")[1])
    parser.add_argument("--case", required=True, metavar="FILE")
    parser.add_argument("--out", required=True, metavar="SCRIPT.py")
    parser.add_argument("--title", default="A gradient that is not what it should be.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cpu")
    options = parser.parse_args()
    try:
        case = read_cases(options.case)[0]
    except BadInput as error:
        print(f"shardcheck_probe: {error}", file=sys.stderr)
        return 2
    name = options.out.rsplit("/", 1)[-1]
    write_bytes(options.out, script_of(case, options.title, name, options.device).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
