"""One case on one rank, in a process of its own: wraps the model, trains, and leaves a trace whatever happens.

A thread watches the deadline. When it strikes, or when another rank has failed, the thread writes what there is and
what the rank was waiting in, and ends the process: nothing else can be relied on then.
"""

import faulthandler
import os
import sys
import threading
import time
import traceback

import torch
import torch.distributed as dist

from shardcheck_probe.model import Batches, build
from shardcheck_probe.recorder import Recorder
from shardcheck_probe.trace import RankTrace

RATE = 0.25  # of SGD: a power of two, so that the update is exact
GRACE_SECONDS = 3  # that the others get after a rank has failed
LAST_FRAMES = 12


def linear_probes(case):
    """The contributions to probe: none (what is left is garbage), then each by itself."""
    yield ()
    for rank in range(case.ranks):
        for microbatch in range(case.microbatches):
            for position in range(len(case.uses)):
                yield (rank, microbatch, position)


class Training:
    """The training loop of a case on this rank."""

    def __init__(self, case, adapter, rank, device, trace, recorder):
        self.case, self.rank, self.device, self.trace, self.recorder = case, rank, device, trace, recorder
        model = build(case, adapter.stored_type(case), device)
        self.wrapped = adapter.wrap(case, model, device)
        self.batches = Batches(case, rank, device)
        self.optimizer = self.wrapped.optimizer(RATE)

    def accumulate(self, step, live=None):
        """Forward and backward of all microbatches of a step."""
        last = self.case.microbatches - 1
        for microbatch in range(self.case.microbatches):
            with self.wrapped.microbatch(microbatch, microbatch == last):
                self.recorder.at(step, microbatch, "forward")
                start = torch.zeros((), device=self.device, requires_grad=True)
                loss = self.wrapped.module(start * 1, self.batches.groups(step, microbatch, live))
                self.recorder.at(step, microbatch, "backward")
                self.wrapped.backward(loss, microbatch == last)
        self.recorder.at(step, last, "finish")
        self.wrapped.finish()
        self.synchronize()

    def synchronize(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        self.recorder.settle()

    def keep(self, what, step, shards):
        for index, shard in shards.items():
            self.trace.add(what, step, index, shard)

    def steps(self):
        for step in range(self.case.steps):
            with self.recorder:
                self.accumulate(step)
            self.keep("grad", step, self.wrapped.gradients())
            with self.recorder:
                self.recorder.at(step, self.case.microbatches - 1, "step")
                self.optimizer.step()
                self.synchronize()
            self.keep("param", step, self.wrapped.values())
            self.wrapped.zero_grad(self.optimizer)
            self.trace.save("died")  # what remains if the process ends by itself

    def probes(self):
        """N + 1 runs of step 0 with at most one contribution that is not zero (wgrad 10.1)."""
        for number, live in enumerate(linear_probes(self.case)):
            self.accumulate(0, live)
            self.keep("probe", number, self.wrapped.gradients())
            self.wrapped.zero_grad(self.optimizer)


class Watch(threading.Thread):
    """Ends the process at the deadline, or soon after another rank has failed."""

    def __init__(self, trace, store, seconds, main_thread, device):
        super().__init__(daemon=True)
        self.device = device
        self.trace, self.store, self.seconds, self.main_thread = trace, store, seconds, main_thread
        self.done = threading.Event()

    def waiting(self):
        frames = traceback.extract_stack(sys._current_frames()[self.main_thread])
        return [f"{frame.name} ({os.path.basename(frame.filename)}:{frame.lineno}): {frame.line}"
                for frame in frames[-LAST_FRAMES:]]

    def peer_failed(self):
        try:
            return self.store.check(["failed"])
        except (RuntimeError, ValueError):
            return False

    def run(self):
        end, outcome = time.monotonic() + self.seconds, "deadline"
        while not self.done.wait(0.25):
            if outcome == "deadline" and self.peer_failed():
                end, outcome = min(end, time.monotonic() + GRACE_SECONDS), "stopped"
            if time.monotonic() > end:
                if self.device.type == "cuda":
                    torch.cuda.set_device(self.device)  # of this thread, which asks whether collectives have completed
                self.trace.save(outcome, waiting=self.waiting())
                os._exit(0)


def process_group(case, rank, device, store):
    os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "0"  # the deadline is ours
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, rank=rank, world_size=case.ranks, store=store)


def run_case(case, adapter, rank, device, stores, folder, seconds):
    """Runs in the child; never returns. `stores` are one for the process group and one for the watch."""
    log = os.open(os.path.join(folder, f"rank-{rank}.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 2)  # what the framework says before it aborts
    recorder = Recorder(open(os.path.join(folder, f"rank-{rank}.journal"), "wb", buffering=0))
    trace = RankTrace(folder, rank, recorder)
    group_store, watch_store = stores
    watch = Watch(trace, watch_store, seconds, threading.get_ident(), device)
    watch.start()
    with open(os.path.join(folder, f"rank-{rank}.stack"), "w", encoding="utf-8") as stack:
        faulthandler.dump_traceback_later(seconds + 2 * GRACE_SECONDS, file=stack, exit=True)
        try:
            process_group(case, rank, device, group_store)
            training = Training(case, adapter, rank, device, trace, recorder)
            training.steps()
            if case.probing:
                training.probes()
            trace.save("finished")
        except Exception as error:  # of the framework, which the trace then shows
            watch_store.set("failed", str(rank))
            traceback.print_exc()
            trace.save("raised", error=f"{type(error).__name__}: {error}"[:2000])
        watch.done.set()
        faulthandler.cancel_dump_traceback_later()
    os.remove(stack.name)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
