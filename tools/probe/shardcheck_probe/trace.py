"""The trace of a rank: rank-N.json (outcome, tensors, collectives) beside rank-N.safetensors (their bytes).

Files appear whole: they are written beside and renamed. safetensors is 8 bytes of header length, a JSON header and the
bytes, so no package is needed. The manifest, written last, names the case and the versions.
"""

import json
import os
import platform
import struct

import torch

from shardcheck_probe import SCHEMA

NAMES = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16"}


def write_bytes(path, data):
    beside = f"{path}.writing-{os.getpid()}"
    with open(beside, "wb") as file:
        file.write(data)
    os.replace(beside, path)


def write_json(path, value):
    """An object whose lists have an element a line, so that traces can be read and compared."""
    fields = []
    for name, field in value.items():
        text = json.dumps(field)
        if isinstance(field, list) and field:
            text = "[\n  " + ",\n  ".join(json.dumps(each) for each in field) + "]"
        fields.append(f" {json.dumps(name)}: {text}")
    write_bytes(path, ("{\n" + ",\n".join(fields) + "\n}\n").encode())


def raw_bytes(tensor):
    return bytes(tensor.contiguous().view(torch.uint8).flatten().tolist()) if tensor.numel() else b""


def safetensors(tensors):
    """The bytes of a file that holds the named tensors."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = raw_bytes(tensor)
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


class RankTrace:
    """What one rank did. `save` may be called at any time, by any thread: what there is, is written."""

    def __init__(self, folder, rank, recorder):
        self.folder, self.rank, self.recorder = folder, rank, recorder
        self.entries, self.tensors = [], {}

    def add(self, what, step, index, shard):
        """A gradient or a parameter that the rank owns from element `first` on; without a tensor there is none."""
        entry = {"what": what, "step": step, "parameter": index, "first": shard.first, "tensor": None}
        if shard.tensor is not None:
            entry["tensor"] = f"{what}/{step}/{index}"
            self.tensors[entry["tensor"]] = shard.tensor
        self.entries.append(entry)

    def save(self, outcome, error="", waiting=()):
        entries, tensors = list(self.entries), dict(self.tensors)
        write_bytes(os.path.join(self.folder, f"rank-{self.rank}.safetensors"), safetensors(tensors))
        write_json(os.path.join(self.folder, f"rank-{self.rank}.json"),
                   {"schema": SCHEMA, "rank": self.rank, "outcome": outcome, "error": error, "waiting": list(waiting),
                    "tensors": [entry for entry in entries if entry["tensor"] in tensors or entry["tensor"] is None],
                    "collectives": self.recorder.finished()})


def versions(adapter_version):
    found = {"python": platform.python_version(), "torch": torch.__version__}
    if torch.cuda.is_available():
        found["cuda"] = torch.version.cuda
        found["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
    if adapter_version:
        found["adapter"] = adapter_version
    return found


def write_manifest(folder, case, device, adapter_version, rate):
    write_json(os.path.join(folder, "manifest.json"),
               {"schema": SCHEMA, "kind": "shardcheck-trace", "ranks": case.ranks, "device": device, "rate": rate,
                "versions": versions(adapter_version), "case": case.text})
