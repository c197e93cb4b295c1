"""python3 -m shardcheck_probe --cases CASES.json --out DIR [--ranks N] [--adapter NAME] [--deadline SECONDS]

Reads cases (one, or a list), launches itself under torchrun and leaves one trace folder a case in DIR. Under torchrun
(RANK is set), on one host or several that share DIR, it is one of the ranks. Exit status: 0 the traces are there; 2 the input is wrong; 3 the machine cannot.
"""

import argparse
import os
import shlex
import subprocess
import sys

from shardcheck_probe import BadInput, MachineCannot

OLDEST_TORCH = (2, 4)
RENDEZVOUS = ("--rdzv", "--master", "--nnodes", "--node", "--standalone")  # who names one of these says where to meet
# GPUs are counted without the CUDA driver, which must not be started before serve.py forks.
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"


def arguments():
    parser = argparse.ArgumentParser(prog="shardcheck_probe", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--cases", required=True, metavar="FILE", help="a case, or a list of cases, as JSON")
    parser.add_argument("--out", required=True, metavar="DIR", help="a folder for the traces, one a case: 0000, 0001...")
    parser.add_argument("--adapter", default="", metavar="NAME", help="instead of the adapter of the cases")
    parser.add_argument("--deadline", type=float, default=60, metavar="SECONDS", help="for a case (default 60)")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="cases that run side by side (default 1)")
    parser.add_argument("--device", choices=["auto", "cuda", "cpu"], default="auto", help="auto: cuda where there is one")
    parser.add_argument("--torchrun", default="", metavar="ARGS", help="more arguments for the torchrun that it starts")
    return parser.parse_args()


def require_torch():
    try:
        import torch
        import torch.distributed as dist
    except ImportError as error:
        raise MachineCannot(f"torch is missing in {sys.executable} ({error}); install it, or name another --python")
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST_TORCH:
        raise MachineCannot(f"torch {torch.__version__} is too old; use {OLDEST_TORCH[0]}.{OLDEST_TORCH[1]} or newer")
    if not dist.is_available():
        raise MachineCannot(f"torch {torch.__version__} was built without torch.distributed")
    return torch


def device_kind(torch, options, ranks):
    """cuda or cpu; raises MachineCannot when there are fewer GPUs than ranks here."""
    count = torch.cuda.device_count() if options.device != "cpu" else 0
    if options.device == "auto" and count == 0:
        return "cpu"
    here = int(os.environ.get("LOCAL_WORLD_SIZE", ranks))
    if options.device != "cpu" and count < here:
        raise MachineCannot(f"the case has {here} ranks here and torch sees {count} GPUs; use fewer ranks, or --device cpu")
    return "cpu" if options.device == "cpu" else "cuda"


def prepare(options):
    """Everything that can be wrong before anything is launched."""
    torch = require_torch()
    from shardcheck_probe.adapters import adapter_of
    from shardcheck_probe.case import read_cases
    from shardcheck_probe.coding import coding_of
    cases, adapters = read_cases(options.cases), {}
    for number, case in enumerate(cases):
        if options.adapter:
            case.adapter = options.adapter
            case.text = {**case.text, "adapter": {**case.text.get("adapter", {}), "name": options.adapter}}
        if case.ranks != cases[0].ranks:
            raise BadInput(f"{options.cases}[{number}]: has {case.ranks} ranks and the first case {cases[0].ranks}; "
                           "a launch has one number of ranks")
        if case.adapter not in adapters:
            adapters[case.adapter] = adapter_of(case.adapter)
            adapters[case.adapter].require()
        adapters[case.adapter].check(case)
        for index, parameter in enumerate(case.parameters):
            if parameter.trainable and case.uses_of(index) > 0 and coding_of(case, index) is None:
                raise BadInput(f"{options.cases}: parameter {parameter.name} has no room for its contributions; "
                               "make a size larger, or use fewer steps, microbatches or ranks")
    return cases, adapters, device_kind(torch, options, cases[0].ranks)


def launch(options, ranks):
    """Starts torchrun with the same arguments and gives its status back: 0, or 3."""
    more = shlex.split(options.torchrun)
    alone = [] if any(word.startswith(RENDEZVOUS) for word in more) else ["--standalone"]
    command = [sys.executable, "-m", "torch.distributed.run", *alone, "--nproc-per-node", str(ranks), *more,
               "-m", "shardcheck_probe", *sys.argv[1:]]
    environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    return 0 if subprocess.run(command, env=environment, check=False).returncode == 0 else 3


def main():
    options = arguments()
    cases, adapters, kind = prepare(options)
    os.makedirs(options.out, exist_ok=True)
    if "RANK" not in os.environ:
        return launch(options, cases[0].ranks)
    if int(os.environ["WORLD_SIZE"]) != cases[0].ranks:
        raise BadInput(f"{options.cases}: the cases have {cases[0].ranks} ranks, the launch {os.environ['WORLD_SIZE']}")
    from shardcheck_probe.serve import serve
    serve(cases, adapters, kind, options)
    return 0


def run():
    try:
        return main()
    except BadInput as error:
        print(f"shardcheck_probe: {error}", file=sys.stderr)
        return 2
    except MachineCannot as error:
        print(f"shardcheck_probe: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(run())
