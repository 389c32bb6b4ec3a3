# SPDX-License-Identifier: Apache-2.0
"""safetensors files as dicts of NumPy arrays, for scripts without the safetensors package."""
import json
import struct

import numpy as np

DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "U8": "u1", "I8": "i1", "U16": "<u2",
          "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8", "I64": "<i8"}
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}


def read(path):
    """(arrays, metadata)"""
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    meta = header.pop("__metadata__", {})
    arrays = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        array = np.frombuffer(data[begin:end], DTYPES[info["dtype"]])
        arrays[name] = array.reshape(info["shape"])
    return arrays, meta


def write(path, arrays, meta=None):
    header, at = {"__metadata__": meta} if meta else {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape),
                        "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes())
