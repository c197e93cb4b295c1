"""The numbers of a case: inputs x and output gradients dy of every contribution, by wgrad 10.1.

Contribution i of a parameter carries 4^(i / lanes) in the elements of lane i % lanes, so that digit i of the final
gradient in base 4 is the multiplicity of that contribution. The judge computes the same numbers on its own.
"""

from dataclasses import dataclass

SIGNIFICAND = {"f32": 24, "bf16": 8, "f16": 11}


@dataclass
class Coding:
    digits: int
    lanes: int
    along_columns: bool


def coding_of(case, index):
    """The coding of the parameter with that index, or None when it has no room for its contributions."""
    parameter, uses = case.parameters[index], case.uses_of(index)
    bits = min(SIGNIFICAND[case.main_grad], SIGNIFICAND[case.comm])
    if case.returned[index] > 1:
        bits = min(bits, SIGNIFICAND[parameter.dtype])
    digits = min(bits // 2, 8 if parameter.dtype == "f16" else 12)
    contributions = uses * case.ranks * case.steps * case.microbatches
    lanes = max(-(-contributions // digits), 1)
    along_columns = parameter.columns >= lanes
    if not along_columns and parameter.rows < lanes:
        return None
    return Coding(digits, lanes, along_columns)


def index_of(case, parameter, step, rank, microbatch, use):
    """Position of a contribution among those of its parameter."""
    return ((step * case.ranks + rank) * case.microbatches + microbatch) * case.uses_of(parameter) + use


def sign_of(position):
    return -1.0 if bin(position).count("1") % 2 else 1.0


def operands(case, parameter, step, rank, microbatch, use):
    """x (columns) and dy (rows) of the token that carries the contribution, as lists of exact numbers."""
    shape, coding = case.parameters[parameter], coding_of(case, parameter)
    if coding is None:  # a frozen weight, whose gradient nobody reads
        return [0.0] * shape.columns, [0.0] * shape.rows
    length, width = (shape.columns, shape.rows) if coding.along_columns else (shape.rows, shape.columns)
    index = index_of(case, parameter, step, rank, microbatch, use)
    lanes = [0.0] * length
    for i in range(index % coding.lanes, length, coding.lanes):
        turn = i // coding.lanes
        place = (index // coding.lanes + turn % coding.digits) % coding.digits
        lanes[i] = sign_of(turn) * float(4 ** place)
    cross = [sign_of(i) for i in range(width)]
    return (lanes, cross) if coding.along_columns else (cross, lanes)
