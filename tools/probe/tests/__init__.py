"""Tests of the probe: run_tests.py."""
