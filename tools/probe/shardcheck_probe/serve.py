"""Many cases in one launch: every rank is a server that has imported torch once and forks a child for each case.

A case that hangs or mixes up its messages takes its own process group with it and no other. Children of one case find
each other through the launcher's store, under a prefix of their own.
"""

import importlib
import json
import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

from shardcheck_probe import SCHEMA
from shardcheck_probe.recorder import events_in
from shardcheck_probe.run import GRACE_SECONDS, RATE, run_case
from shardcheck_probe.trace import write_json, write_manifest

KILL_AFTER_SECONDS = 4 * GRACE_SECONDS  # behind the deadline, for a child that cannot even end itself


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def last_lines(path, count):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return [line.strip() for line in file if line.strip()][-count:]
    except OSError:
        return []


def warm_up():
    """What torch imports on first use is imported here, once, and not in every child.

    Nothing is computed: the threads of autograd and the driver of CUDA do not survive a fork.
    """
    for module in ("torch._dynamo", "torch.distributed.tensor", "torch.distributed.fsdp", "torch.nn.parallel",
                   "torch.distributed.device_mesh", "torch.optim"):
        try:
            importlib.import_module(module)
        except ImportError:
            pass  # an older torch; who needs it says so


def prefix_of(number, what):
    return f"shardcheck/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{number}/{what}"


class Launch:
    """What the launcher told this rank."""

    def __init__(self):
        self.rank, self.local_rank = int(os.environ["RANK"]), int(os.environ.get("LOCAL_RANK", "0"))
        self.address, self.port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        self.host = None
        if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True" and self.rank == 0:
            self.host = dist.TCPStore(self.address, self.port, is_master=True, wait_for_workers=False)

    def store(self, prefix):
        connection = dist.TCPStore(self.address, self.port, is_master=False, wait_for_workers=False,
                                   timeout=timedelta(minutes=30))
        return dist.PrefixStore(prefix, connection)


class Child:
    def __init__(self, number, case, folder, pid, seconds):
        self.number, self.case, self.folder, self.pid = number, case, folder, pid
        self.end = time.monotonic() + seconds + KILL_AFTER_SECONDS


class Server:
    def __init__(self, launch, cases, adapters, device_kind, options):
        self.launch, self.cases, self.adapters = launch, cases, adapters
        self.device_kind, self.options = device_kind, options
        self.children = []

    def device(self):
        return torch.device("cuda", self.launch.local_rank) if self.device_kind == "cuda" else torch.device("cpu")

    def start(self, number):
        case, adapter = self.cases[number], self.adapters[self.cases[number].adapter]
        folder = os.path.join(self.options.out, f"{number:04d}")
        os.makedirs(folder, exist_ok=True)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            try:
                stores = self.launch.store(prefix_of(number, "group")), self.launch.store(prefix_of(number, "watch"))
                run_case(case, adapter, self.launch.rank, self.device(), stores, folder, self.options.deadline)
            finally:
                os._exit(1)
        self.children.append(Child(number, case, folder, pid, self.options.deadline))

    def collect(self):
        """The children that have ended leave the list."""
        for child in list(self.children):
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid == 0 and time.monotonic() > child.end:
                os.kill(child.pid, signal.SIGKILL)
                pid, status = os.waitpid(child.pid, 0)
            if pid != 0:
                self.children.remove(child)
                self.ended(child, status)

    def ended(self, child, status):
        rank = self.launch.rank
        file = os.path.join(child.folder, f"rank-{rank}.json")
        left = read_json(file) or {"schema": SCHEMA, "rank": rank, "outcome": "died", "waiting": [], "tensors": []}
        if left["outcome"] == "died":
            how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
            said = last_lines(os.path.join(child.folder, f"rank-{rank}.log"), 4)
            left["error"] = f"the process ended with {how}. {' '.join(said)}"[:2000]
            left["waiting"] = last_lines(os.path.join(child.folder, f"rank-{rank}.stack"), 20)
            left["collectives"] = events_in(os.path.join(child.folder, f"rank-{rank}.journal"))
            write_json(file, left)
            self.launch.store(prefix_of(child.number, "watch")).set("failed", str(rank))  # the others need not wait
        self.tidy(child.folder, rank)
        if rank == 0:
            version = self.adapters[child.case.adapter].require()
            write_manifest(child.folder, child.case, self.device_kind, version, RATE)

    @staticmethod
    def tidy(folder, rank):
        """The journal is in the trace now; an empty log says nothing."""
        for name in (f"rank-{rank}.journal", f"rank-{rank}.stack", f"rank-{rank}.log"):
            path = os.path.join(folder, name)
            if os.path.exists(path) and (not name.endswith(".log") or os.path.getsize(path) == 0):
                os.remove(path)

    def run(self):
        warm_up()
        for number in range(len(self.cases)):
            while len(self.children) >= self.options.at_once:
                self.collect()
                time.sleep(0.005)
            self.start(number)
        while self.children:
            self.collect()
            time.sleep(0.005)


def serve(cases, adapters, device_kind, options):
    Server(Launch(), cases, adapters, device_kind, options).run()
