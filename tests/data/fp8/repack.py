#!/usr/bin/env python3
"""Turns a golden table of casts from all 65,536 16-bit inputs into planes of 65,536 bytes, one a column.

usage: repack.py TABLE.csv OUTPUT.bin
"""
import csv
import pathlib
import sys


def main(source, target):
    rows = list(csv.reader(source.open()))[1:]
    assert [int(row[0], 16) for row in rows] == list(range(65536))
    columns = range(1, len(rows[0]))
    target.write_bytes(b"".join(bytes(int(row[column], 16) for row in rows) for column in columns))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
