"""python3 tests/run_tests.py: the tests of the probe. Without torch those that need it are skipped, with status 77."""

import importlib.util
import os
import sys
import unittest

PROBE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SKIPPED = 77


def main():
    sys.path.insert(0, PROBE)
    names = ["tests.test_case", "tests.test_coding"]
    has_torch = importlib.util.find_spec("torch") is not None
    if has_torch:
        names.append("tests.test_run")
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromNames(names))
    if not result.wasSuccessful():
        return 1
    if not has_torch:
        print(f"skipped: torch is missing in {sys.executable}, so the runs through frameworks were left out")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
