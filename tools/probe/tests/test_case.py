"""Reading cases: what is let in, and the sentences for the rest. Needs no torch."""

import unittest

from shardcheck_probe import BadInput
from shardcheck_probe.case import read_case
from tests.small_cases import case


class ReadCase(unittest.TestCase):
    def refused(self, made, *words):
        with self.assertRaises(BadInput) as caught:
            read_case(made, "case.json")
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_a_case_is_read(self):
        read = read_case(case(silent=[{"parameter": "b", "rank": 1}], find_unused=True), "case.json")
        self.assertEqual(read.uses, [0, 1, 0])
        self.assertEqual(read.returned, [2, 1])
        self.assertTrue(read.options["find_unused"])
        self.assertFalse(read.is_used(1, 0, 1, 0))
        self.assertTrue(read.is_used(1, 0, 0, 0))

    def test_another_schema_is_refused(self):
        self.refused({**case(), "schema": 2}, "case.json.schema", "2")

    def test_an_unknown_option_is_named(self):
        self.refused(case(colour="red"), "adapter", "colour")

    def test_fused_uses_cannot_be_run(self):
        made = case()
        made["scenario"]["uses"][0]["producer"] = "fused"
        self.refused(made, "uses[0].producer", "main_grad")

    def test_experts_cannot_be_run(self):
        made = case()
        made["scenario"]["parameters"][0]["expert"] = True
        self.refused(made, "parameters[0].expert")

    def test_a_loop_that_does_not_go_straight_on_cannot_be_run(self):
        made = case()
        made["scenario"]["schedule"]["resumes"] = [0]
        self.refused(made, "schedule.resumes", "[0]")

    def test_replicas_divide_the_ranks(self):
        self.refused(case("fsdp2", replicas=3), "replicas", "2 ranks")


if __name__ == "__main__":
    unittest.main()
