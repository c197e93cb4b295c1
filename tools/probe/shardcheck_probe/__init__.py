"""shardcheck_probe: runs a scenario of shardcheck through a real training framework and writes down what it did.

The model is made so that every gradient names its contributions (coding.py); the judge is `shardcheck audit`.
Start with __main__.py, which says how it is called; serve.py runs many cases in one launch.
"""

SCHEMA = 1  # of cases and traces


class BadInput(Exception):
    """The case, the command line or the adapter's file is wrong: a sentence for the user, exit status 2."""


class MachineCannot(Exception):
    """torch, a framework or a device is missing: a sentence for the user, exit status 3."""
