"""A case: a scenario of shardcheck and the adapter that it runs through, read from JSON.

Only what a framework can express is let in; everything else is a sentence. Defaults are those of the scenario
format. Next: coding.py gives the numbers, model.py the model.
"""

import json
from dataclasses import dataclass, field

from shardcheck_probe import SCHEMA, BadInput

OPTIONS = {  # of every adapter: name, values, the first is the default
    "sync": ("last", "every"),
    "zero_grad": ("none", "zero"),
    "reshard": (True, False),
    "find_unused": (False, True),
    "bucket_view": (False, True),
    "small_buckets": (False, True),
    "all_reduce": ("last", "every"),
    "overlap": (False, True),
    "loss_division": ("none", "accumulation"),
    "strategy": ("optim_grads_params", "optim_grads", "optim", "no_shard"),
}
MOST_RANKS, MOST_CONTRIBUTIONS = 64, 4096


@dataclass
class Parameter:
    name: str
    shape: list
    dtype: str = "bf16"
    trainable: bool = True
    unit: int = 0

    @property
    def rows(self):
        return self.shape[0]

    @property
    def columns(self):
        return self.shape[1] if len(self.shape) == 2 else 1


@dataclass
class Case:
    text: dict  # as it was read: the trace repeats it
    parameters: list
    uses: list  # indices of parameters, in forward order
    returned: list  # for each parameter: its uses that return a gradient through autograd
    ranks: int
    steps: int
    microbatches: int
    tokens: int
    main_grad: str
    comm: str
    silent: list
    token_counts: dict = field(default_factory=dict)
    adapter: str = "ddp"
    options: dict = field(default_factory=dict)
    replicas: int = 1
    probing: bool = False

    def is_used(self, parameter, step, rank, microbatch):
        here = (parameter, step, rank, microbatch)
        return not any(all(s in (-1, h) for s, h in zip(silence, here)) for silence in self.silent)

    def tokens_of(self, rank, microbatch):
        return self.token_counts.get((rank, microbatch), self.tokens)

    def uses_of(self, parameter):
        return self.uses.count(parameter)


class Reader:
    """A JSON object whose mistakes are sentences with their path."""

    def __init__(self, value, where):
        self.value, self.where = value, where
        if not isinstance(value, dict):
            raise BadInput(f"{where}: is no JSON object")

    def get(self, name, kind, default=None):
        value = self.value.get(name, default)
        if value is None:
            raise BadInput(f"{self.where}.{name}: is missing")
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise BadInput(f"{self.where}.{name}: {json.dumps(value)[:60]} is no {kind.__name__}")
        return value

    def object(self, name):
        return Reader(self.value.get(name, {}), f"{self.where}.{name}")

    def only(self, name, allowed, default):
        value = self.value.get(name, default)
        if value not in allowed:
            right = ", ".join(json.dumps(each) for each in allowed)
            raise BadInput(f"{self.where}.{name}: {json.dumps(value)} cannot be run through a framework; use {right}")
        return value


def read_parameter(entry, where):
    reader = Reader(entry, where)
    reader.only("expert", [False], False)
    reader.only("thaws_at", [0], 0)
    shape = reader.get("shape", list)
    if len(shape) not in (1, 2) or not all(isinstance(size, int) and size > 0 for size in shape):
        raise BadInput(f"{where}.shape: {shape} is no shape of a weight; give 1 or 2 positive sizes")
    return Parameter(reader.get("name", str), shape, reader.only("dtype", ["f32", "bf16", "f16"], "bf16"),
                     reader.get("trainable", bool, True), reader.get("unit", int, 0))


def read_options(adapter):
    options = {}
    for name, values in OPTIONS.items():
        options[name] = adapter.only(name, values, values[0])
    unknown = set(adapter.value) - set(OPTIONS) - {"name", "replicas"}
    if unknown:
        raise BadInput(f"{adapter.where}: unknown option {sorted(unknown)[0]}; known are {', '.join(OPTIONS)}, replicas")
    return options


def read_uses(scenario, names, where):
    mode = scenario.object("protocol").value.get("write_mode", "R5")
    uses, returned = [], [0] * len(names)
    for i, entry in enumerate(scenario.get("uses", list)):
        use = Reader(entry, f"{where}.uses[{i}]")
        name = use.get("parameter", str)
        if name not in names:
            raise BadInput(f"{use.where}.parameter: {name} is no parameter")
        if use.value.get("producer", "fused") != "unfused" and mode != "R7":
            raise BadInput(f"{use.where}.producer: torch.autograd writes no main_grad; use \"unfused\" or write mode R7")
        uses.append(names[name])
        returned[names[name]] += 1
    return uses, returned


def read_case(text, where):
    """The case of a JSON value; raises BadInput."""
    root = Reader(text, where)
    root.only("schema", [SCHEMA], None)
    scenario, adapter = Reader(root.get("scenario", dict), f"{where}.scenario"), root.object("adapter")
    scenario.only("fault", [""], "")
    mesh, schedule, numerics = scenario.object("mesh"), scenario.object("schedule"), scenario.object("numerics")
    mesh.only("expert_parallel", [1], 1)
    mesh.only("outer", [1], 1)
    scenario.only("fp8", [None], None)
    for name in ("recompute", "aborts", "resumes"):
        schedule.only(name, [None, False, []], None)
    numerics.only("loss", ["mean"], "mean")
    numerics.only("data", ["provenance"], "provenance")
    parameters = [read_parameter(entry, f"{scenario.where}.parameters[{i}]")
                  for i, entry in enumerate(scenario.get("parameters", list))]
    names = {parameter.name: i for i, parameter in enumerate(parameters)}
    uses, returned = read_uses(scenario, names, scenario.where)
    case = Case(text=text, parameters=parameters, uses=uses, returned=returned,
                ranks=mesh.get("ranks", int, 2), steps=schedule.get("steps", int, 2),
                microbatches=schedule.get("microbatches", int, 2), tokens=schedule.get("tokens", int, 1),
                main_grad=numerics.only("main_grad", ["f32", "bf16", "f16"], "f32"),
                comm=numerics.only("comm", ["f32", "bf16", "f16"], "f32"),
                silent=[(names.get(s.get("parameter")), s.get("step", -1), s.get("rank", -1), s.get("microbatch", -1))
                        for s in schedule.get("silent", list, [])],
                token_counts={(c["rank"], c["microbatch"]): c["tokens"]
                              for c in schedule.get("token_counts", list, [])},
                adapter=adapter.get("name", str, "ddp"), options=read_options(adapter),
                replicas=adapter.get("replicas", int, 1), probing=root.get("probing", bool, False))
    check(case, where)
    return case


def check(case, where):
    if not 1 <= case.ranks <= MOST_RANKS:
        raise BadInput(f"{where}.scenario.mesh.ranks: {case.ranks} is out of range; give 1 to {MOST_RANKS}")
    if case.replicas < 1 or case.ranks % case.replicas:
        raise BadInput(f"{where}.adapter.replicas: {case.replicas} does not divide {case.ranks} ranks")
    if case.ranks * case.steps * case.microbatches * max(len(case.uses), 1) > MOST_CONTRIBUTIONS:
        raise BadInput(f"{where}.scenario: more than {MOST_CONTRIBUTIONS} contributions; use fewer steps or uses")


def read_cases(path):
    """The cases of a file: one case, or a list of them. Raises BadInput."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: {error}") from None
    if isinstance(value, dict):
        return [read_case(value, str(path))]
    if not isinstance(value, list) or not value:
        raise BadInput(f"{path}: is neither a case nor a list of cases")
    return [read_case(entry, f"{path}[{i}]") for i, entry in enumerate(value)]
