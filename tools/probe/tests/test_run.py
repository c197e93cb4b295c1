"""The probe end to end on the CPU with Gloo: two ranks, real frameworks, and what it says when they are missing."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest

from tests.small_cases import case

PROBE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(cases, folder, *arguments, module="shardcheck_probe"):
    path = os.path.join(folder, "cases.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(cases, file)
    environment = {**os.environ, "PYTHONPATH": PROBE, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-m", module, "--cases", path, "--out", os.path.join(folder, "out"),
                           "--device", "cpu", *arguments], env=environment, capture_output=True, text=True, check=False)


def rank_trace(folder, number, rank):
    with open(os.path.join(folder, "out", f"{number:04d}", f"rank-{rank}.json"), encoding="utf-8") as file:
        return json.load(file)


class Probe(unittest.TestCase):
    def test_traces_of_several_cases_in_one_launch(self):
        hangs = "import torch.distributed as dist\n" \
                "def wrap(model, case, device):\n" \
                "    if dist.get_rank() == 0:\n" \
                "        dist.barrier()\n" \
                "    return model\n"
        with tempfile.TemporaryDirectory() as folder:
            adapter = os.path.join(folder, "hangs.py")
            with open(adapter, "w", encoding="utf-8") as file:
                file.write(hangs)
            silent = [{"parameter": "b", "rank": 1, "microbatch": 0}]
            cases = [case("ddp", silent, find_unused=True), case("fsdp2"), case(f"custom:{adapter}")]
            done = run(cases, folder, "--deadline", "8")
            self.assertEqual(done.returncode, 0, done.stderr)
            for number, kind in ((0, "allreduce"), (1, "reduce_scatter_base")):
                for rank in (0, 1):
                    trace = rank_trace(folder, number, rank)
                    self.assertEqual(trace["outcome"], "finished", trace["error"])
                    self.assertEqual(len(trace["tensors"]), 2 * 2 * 2)  # steps, gradients and parameters, weights
                    self.assertIn(kind, [event["kind"] for event in trace["collectives"]])
                    self.assertTrue(all(event["completed"] for event in trace["collectives"]))
            # Rank 0 waits in a barrier that rank 1 never enters: the deadline ends it and says where it was.
            waiting = rank_trace(folder, 2, 0)
            self.assertEqual(waiting["outcome"], "deadline")
            self.assertTrue(any("barrier" in frame for frame in waiting["waiting"]), waiting["waiting"])

    def test_a_launcher_of_several_hosts(self):
        """Two torchruns that meet, each with one rank, as two hosts with a common folder do."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "cases.json"), "w", encoding="utf-8") as file:
                json.dump([case("ddp")], file)
            environment = {**os.environ, "PYTHONPATH": PROBE, "PYTHONDONTWRITEBYTECODE": "1"}
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            hosts = [subprocess.Popen(
                [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1",
                 "--node-rank", str(host), "--master-addr", "127.0.0.1", "--master-port", str(port),
                 "-m", "shardcheck_probe", "--cases", os.path.join(folder, "cases.json"),
                 "--out", os.path.join(folder, "out"), "--device", "cpu"],
                env=environment, stderr=subprocess.PIPE, text=True) for host in (0, 1)]
            for host in hosts:
                self.assertEqual(host.wait(timeout=120), 0, host.stderr.read())
                host.stderr.close()
            for rank in (0, 1):
                self.assertEqual(rank_trace(folder, 0, rank)["outcome"], "finished")

    def test_more_arguments_for_torchrun(self):
        with tempfile.TemporaryDirectory() as folder:
            logs = os.path.join(folder, "logs")
            done = run([case("ddp")], folder, f"--torchrun=--log-dir {logs} --redirects 3")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.listdir(logs))
            self.assertEqual(rank_trace(folder, 0, 1)["outcome"], "finished")

    @unittest.skipIf(importlib.util.find_spec("deepspeed") is None, "DeepSpeed is not installed")
    def test_deepspeed_shards_what_each_stage_shards(self):
        strategies = ("optim", "optim_grads", "optim_grads_params")
        with tempfile.TemporaryDirectory() as folder:
            done = run([case("deepspeed", strategy=each) for each in strategies], folder, "--deadline", "120")
            self.assertEqual(done.returncode, 0, done.stderr)
            for number, strategy in enumerate(strategies):
                trace = rank_trace(folder, number, 1)
                self.assertEqual(trace["outcome"], "finished", trace["error"])
                first = {entry["what"]: entry["first"] for entry in trace["tensors"] if entry["parameter"] == 0}
                self.assertEqual(first["param"], 3 if strategy == "optim_grads_params" else 0)
            # Element 3 is the first of rank 1's half of the 2 x 3 weight.
            self.assertEqual(first["grad"], 3)

    def test_adapters_that_cannot_run_are_sentences(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run([case("megatron-fsdp")], folder)
            self.assertEqual(done.returncode, 3)
            self.assertIn("adapter megatron-fsdp", done.stderr)
            if importlib.util.find_spec("deepspeed") is None:
                done = run([case("deepspeed")], folder)
                self.assertEqual(done.returncode, 3)
                self.assertIn("adapter deepspeed", done.stderr)
            done = run([case("horovod")], folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("horovod", done.stderr)
            with open(os.path.join(folder, "broken.py"), "w", encoding="utf-8") as file:
                file.write("raise KeyError('mine')\n")
            done = run([case(f"custom:{folder}/broken.py")], folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("KeyError", done.stderr)


if __name__ == "__main__":
    unittest.main()
