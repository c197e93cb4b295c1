"""The probe end to end on the CPU with Gloo: two ranks, real frameworks, and what it says when they are missing."""

import json
import os
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

    def test_adapters_that_cannot_run_are_sentences(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run([case("megatron-fsdp")], folder)
            self.assertEqual(done.returncode, 3)
            self.assertIn("adapter megatron-fsdp", done.stderr)
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
