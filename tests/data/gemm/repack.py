#!/usr/bin/env python3
"""Keeps a small, representative part of a recording of GEMMs.

usage: repack.py RECORDING.json OUTPUT.json   (each with its .bin beside it)

A case is kept when it is the smallest that shows some combination of operand types, output, transposition,
scale modes, fast accumulation, alpha and beta, or some (operands, family), or split-K. Bytes are copied
unchanged; offsets are renumbered.
"""
import json
import pathlib
import sys


def pieces(case):
    """(offset field, bytes) of every array of a case."""
    width = {"bf16": 2, "f16": 2, "f8_e4m3": 1, "f8_e5m2": 1, "f32": 4}
    m, n, k = case["m"], case["n"], case["k"]
    outputs = m * n * width[case["d"]]
    return [
        ("off_a", m * k * width[case["a"]]),
        ("off_b", n * k * width[case["b"]]),
        ("off_sa", 4 * case["len_sa"]),
        ("off_sb", 4 * case["len_sb"]),
        ("off_c", outputs),
        ("off_d", outputs),
    ]


def size(case):
    return sum(length for _, length in pieces(case))


def traits(case):
    operands = (case["a"], case["b"])
    yield ("rules", operands, case["d"], case["trans"], case["scale_a"], case["scale_b"], case["fast_accum"],
           case["alpha"], case["beta"])
    yield ("family", operands, case["family"])
    if case["split_k"] > 1:
        yield ("split",)


def main(source, target):
    cases = json.loads(source.read_text())["cases"]
    data = source.with_suffix(".bin").read_bytes()
    seen, kept, packed = set(), [], bytearray()
    for case in sorted(cases, key=size):
        new = set(traits(case)) - seen
        if new:
            seen |= new
            kept.append(case)
    for case in sorted(kept, key=lambda case: case["id"]):
        for field, length in pieces(case):
            offset = case[field]
            case[field] = len(packed)
            packed += data[offset:offset + length]
    lines = ",\n".join(json.dumps(case) for case in sorted(kept, key=lambda case: case["id"]))
    target.write_text('{"cases": [\n' + lines + "\n]}\n")
    target.with_suffix(".bin").write_bytes(packed)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
