"""Cases that the tests of the probe share: two weights, two ranks."""

import copy

CASE = {
    "schema": 1,
    "scenario": {
        "schema": 1, "owner": {"strategy": "megatron-ddp"}, "protocol": {"write_mode": "R5"}, "mesh": {"ranks": 2},
        "schedule": {"steps": 2, "microbatches": 2, "tokens": 1},
        "numerics": {"loss": "mean", "main_grad": "f32", "comm": "f32", "data": "provenance"},
        "parameters": [{"name": "a", "shape": [2, 3], "dtype": "f32", "unit": 1},
                       {"name": "b", "shape": [3], "dtype": "f32"}],
        "uses": [{"parameter": "a", "producer": "unfused"}, {"parameter": "b", "producer": "unfused"},
                 {"parameter": "a", "producer": "unfused"}]},
    "adapter": {"name": "ddp"}}


def case(adapter="ddp", silent=(), **options):
    """A copy with another adapter, its options, and silent weights."""
    made = copy.deepcopy(CASE)
    made["adapter"] = {"name": adapter, **options}
    made["scenario"]["schedule"]["silent"] = list(silent)
    return made
