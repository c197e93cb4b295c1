"""The numbers of contributions: every sum of them can be read digit by digit. Needs no torch."""

import unittest

from shardcheck_probe.case import read_case
from shardcheck_probe.coding import coding_of, index_of, operands
from tests.small_cases import case


class Coding(unittest.TestCase):
    def test_all_contributions_together_show_each_digit_once(self):
        read = read_case(case(), "case.json")
        coding = coding_of(read, 0)
        self.assertEqual((coding.digits, coding.lanes), (12, 2))  # 2 steps x 2 ranks x 2 microbatches x 2 uses
        total = [[0.0] * 3 for _ in range(2)]
        for step in range(2):
            for rank in range(2):
                for microbatch in range(2):
                    for use in range(2):
                        x, dy = operands(read, 0, step, rank, microbatch, use)
                        for row in range(2):
                            for column in range(3):
                                total[row][column] += dy[row] * x[column]
        # Sixteen contributions in two lanes: columns 0 and 1 hold 4^0 + ... + 4^7 each.
        self.assertEqual(total[0][:2], [21845.0, 21845.0])
        self.assertEqual(total[1][:2], [-21845.0, -21845.0])

    def test_positions_follow_step_rank_microbatch_use(self):
        read = read_case(case(), "case.json")
        self.assertEqual(index_of(read, 0, 0, 0, 0, 1), 1)
        self.assertEqual(index_of(read, 0, 0, 0, 1, 0), 2)
        self.assertEqual(index_of(read, 0, 0, 1, 0, 0), 4)
        self.assertEqual(index_of(read, 0, 1, 0, 0, 0), 8)

    def test_two_uses_in_bf16_have_four_digits(self):
        made = case()
        made["scenario"]["parameters"][0].update(dtype="bf16", shape=[2, 4])
        self.assertEqual(coding_of(read_case(made, "case.json"), 0).digits, 4)


if __name__ == "__main__":
    unittest.main()
