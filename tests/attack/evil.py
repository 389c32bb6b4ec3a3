# SPDX-License-Identifier: Apache-2.0
"""Files of every format that the program reads, the commands that read them, and ways to spoil them."""
import gzip
import json
import lzma
import os
import shutil
import struct
import zlib
from dataclasses import dataclass

import numpy as np

from attack import CLASSES, NEW, ok, read

CORPUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fuzz", "corpus")
HUGE = ("0", "-1", "99999999999", "4294967295", "2147483648", "18446744073709551615", "1e308", "nan", "-inf")


@dataclass
class Target:
    """A command, and the file that it reads and an attack spoils."""
    file: str
    args: list
    asks: bool = False  # the file says how much to train: it may ask for years, which an interrupt ends


TRAIN = ["--model", "mlp", "--width", "4", "--epochs", "1", "--out", "made"]
SETTLED = ["--set", "model.name=mlp", "--set", "model.width=4", "--set", "train.epochs=1"]
TARGETS = [
    Target("pool.npy", ["select", "coreset", "--features", "pool.npy", "--batch", "5"]),
    Target("pool.npz", ["select", "npc", "--features", "pool.npz:x", "--batch", "5"]),
    Target("probs.npy", ["select", "margin", "--probs", "probs.npy", "--batch", "5"]),
    Target("labels.npy", ["select", "coreset", "--features", "pool.npy", "--labels", "labels.npy", "--batch", "5"]),
    Target("ids.txt", ["select", "random", "--features", "pool.npy", "--ids", "ids.txt", "--batch", "5"]),
    Target("ids.npy", ["select", "random", "--features", "pool.npy", "--ids", "ids.npy", "--batch", "5"]),
    Target("albl.json", ["select", "albl", "--features", "pool.npy", "--probs", "probs.npy", "--labels", "labels.npy",
                         "--batch", "3", "--state", "albl.json"]),
    Target("table.csv", ["train", "--data", "table.csv", *TRAIN]),
    Target("images-idx3-ubyte", ["train", "--data", "images-idx3-ubyte", "--labels", "labels-idx1-ubyte", *TRAIN]),
    Target("labels-idx1-ubyte", ["train", "--data", "images-idx3-ubyte", "--labels", "labels-idx1-ubyte", *TRAIN]),
    Target("packed.bin.gz", ["train", "--data", "packed.bin.gz", *TRAIN]),
    Target("packed.bin.xz", ["train", "--data", "packed.bin.xz", *TRAIN]),
    Target("pictures/0.png", ["new", "born", "--images", "pictures", *NEW]),
    Target("folder/a/picture.jpg", ["train", "--data", "folder", "--size", "8", *TRAIN]),
    Target("folder/b/picture.png", ["train", "--data", "folder", "--size", "8", *TRAIN]),
    Target("net/weights.safetensors", ["embed", "--data", "pool.npy", "--from", "net", "--out", "h.npy"]),
    Target("net/train.json", ["embed", "--data", "pool.npy", "--from", "net", "--out", "h.npy"]),
    Target("net/state.safetensors", ["train", "--data", "pool.npy", "--labels", "truth.npy", "--model", "mlp",
                                     "--width", "8", "--epochs", "3", "--out", "net", "--resume"]),
    Target("experiment.ini", ["run", "experiment.ini", "--out", "results"], True),
    Target("experiment/experiment.ini", ["run", "experiment/experiment.ini", "--out", "experiment", "--resume"], True),
    Target("experiment/runs/badge-0.json", ["run", "experiment/experiment.ini", "--out", "experiment", "--resume"]),
    Target("experiment/log.jsonl", ["run", "experiment/experiment.ini", "--out", "experiment", "--resume"]),
    Target("experiment/curve.csv", ["report", "experiment", "--out", "page"]),
    Target("experiment/picks.csv", ["report", "experiment", "--out", "page"]),
    Target("experiment/calibration.csv", ["report", "experiment", "--out", "page"]),
    Target("experiment/trainings.csv", ["compare", "experiment"]),
    Target("manifest.csv", ["new", "born", "--features", "pool.npy", "--manifest", "manifest.csv", *NEW]),
    Target("manifest.jsonl", ["new", "born", "--features", "pool.npy", "--manifest", "manifest.jsonl", *NEW]),
    Target("labels.csv", ["label", "project", "--import", "labels.csv", "--partial", "--add-classes"]),
    Target("labels.jsonl", ["label", "project", "--import", "labels.jsonl", "--partial", "--add-classes"]),
    Target("tasks.json", ["label", "project", "--import", "tasks.json", "--partial", "--add-classes"]),
    Target("project/project.db", ["status", "project"]),
    Target("project/project.db", ["query", "project", "--batch", "3"]),
    Target("project/project.db", ["export", "project", "--out", "out.csv"]),
    Target("project/models/0001.safetensors", ["predict", "project", "--out", "out.csv"]),
    Target("project/cache/features.npy", ["train", "project"]),
    Target("project/cache/probs-0001.npy", ["export", "project", "--out", "out.csv"]),
]


def idx(array):
    return struct.pack(">I", 0x0800 | array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write(folder, name, data):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def prepare_formats(folder):
    """Adds files of all formats to the inputs of all commands."""
    draw = np.random.default_rng(3)
    pool, truth = np.load(os.path.join(folder, "pool.npy")), np.load(os.path.join(folder, "truth.npy"))
    some = np.where(np.arange(len(truth)) < 12, truth, -1)
    np.savez_compressed(os.path.join(folder, "pool.npz"), x=pool)
    np.save(os.path.join(folder, "labels.npy"), some)
    np.save(os.path.join(folder, "ids.npy"), np.array([f"row {i}" for i in range(len(pool))]))
    write(folder, "ids.txt", "".join(f"row {i}\n" for i in range(len(pool))))
    write(folder, "table.csv", "a,b,label\n" + "".join(f"{x[0]},{x[1]},{CLASSES[c]}\n" for x, c in zip(pool, truth)))
    images = draw.integers(0, 256, (30, 8, 8)).astype("u1")
    labels = (np.arange(30) % 3).astype("u1")
    write(folder, "images-idx3-ubyte", idx(images))
    write(folder, "labels-idx1-ubyte", idx(labels))
    for name in ("ten.gz", "ten.xz"):
        shutil.copy(os.path.join(CORPUS, "data_records", name), os.path.join(folder, "packed.bin" + name[3:]))
    for place, kind in (("a", ".jpg"), ("b", ".png")):
        [seed, *_] = sorted(name for name in os.listdir(os.path.join(CORPUS, "data_pictures")) if name.endswith(kind))
        for copy in ("picture", "other"):
            write(folder, f"folder/{place}/{copy}{kind}", read(CORPUS, "data_pictures", seed))
    write(folder, "experiment.ini", read(folder, "experiment", "experiment.ini"))
    write(folder, "manifest.csv", "id,row,label\n" + "".join(f"i{i},{i},{CLASSES[truth[i]]}\n" for i in range(40)))
    write(folder, "manifest.jsonl", "".join(json.dumps({"id": f"i{i}", "row": i}) + "\n" for i in range(40)))
    write(folder, "labels.jsonl", "".join(json.dumps({"id": str(i), "label": CLASSES[truth[i]]}) + "\n" for i in range(40)))
    write(folder, "tasks.json", json.dumps([{"data": {"id": str(i)}, "annotations": [{"result": [
        {"type": "choices", "value": {"choices": [CLASSES[truth[i]]]}}]}]} for i in range(20)]))
    ok(["select", "albl", "--features", "pool.npy", "--probs", "probs.npy", "--labels", "labels.npy", "--batch", "3",
        "--state", "albl.json"], folder)


# ---- ways to spoil bytes ---------------------------------------------------------------

def flip(data, draw):
    for _ in range(draw.choice((1, 1, 4, 64))):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return data


def truncate(data, draw):
    return data[:draw.randrange(len(data))]


def extend(data, draw):
    return data + draw.choice((b"\0" * 4096, b"[" * 4096, bytes(data), b"\xff" * 100, b"\n" * 100))


def repeat(data, draw):
    a, b = sorted((draw.randrange(len(data)), draw.randrange(len(data))))
    return data[:b] + data[a:b] * draw.choice((1, 2, 50)) + data[b:]


def remove(data, draw):
    a, b = sorted((draw.randrange(len(data)), draw.randrange(len(data))))
    return data[:a] + data[b:]


def count(data, draw):
    """A binary count becomes huge; in the first bytes, where headers are, more often."""
    size = draw.choice((2, 4, 8))
    at = draw.randrange(min(len(data), 200) if draw.random() < 0.7 else len(data))
    value = draw.choice((2**(8 * size) - 1, 2**(8 * size - 1), 2**(8 * size - 1) - 1, 0, 1 << 4 * size))
    data[at:at + size] = value.to_bytes(size, draw.choice(("little", "big")))
    return data


def number(data, draw):
    """A number in the text becomes huge, or none."""
    places = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return flip(data, draw)
    at = end = draw.choice(places)
    while end < len(data) and 48 <= data[end] <= 57:
        end += 1
    return data[:at] + draw.choice(HUGE).encode() + data[end:]


def empty(data, draw):
    return draw.choice((b"", b"\0", b"\n", b"{}", b"[]", b"\x93NUMPY", bytes(len(data))))


WAYS = (flip, flip, truncate, extend, repeat, remove, count, count, number, number, empty)


def packer(data):
    """The functions that pack and unpack the bytes, so that what is inside can be spoilt, too."""
    if data[:2] == b"\x1f\x8b":
        return gzip.compress, gzip.decompress
    if data[:6] == b"\xfd7zXZ\0":
        return lzma.compress, lzma.decompress
    return None, None


def repair_png(data):
    """Corrects the checksums of chunks, so that what a chunk says is read."""
    at = 8
    while at + 12 <= len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        if at + 12 + size > len(data):
            break
        data[at + 8 + size:at + 12 + size] = zlib.crc32(data[at + 4:at + 8 + size]).to_bytes(4, "big")
        at += 12 + size
    return data


def spoil(data, draw):
    pack, unpack = packer(data)
    inside = pack is not None and draw.random() < 0.5
    out = bytearray(unpack(data) if inside else data)
    for _ in range(draw.choice((1, 1, 2, 3))):
        out = bytearray(draw.choice(WAYS)(out, draw)) or bytearray(b"\0")
    if out[:4] == b"\x89PNG" and draw.random() < 0.7:
        out = repair_png(out)
    return pack(bytes(out)) if inside else bytes(out)
