# SPDX-License-Identifier: Apache-2.0
"""Images and labels of MNIST's and CIFAR-10's file formats, read without scant, and their scaling.

scant reads the same files with its own readers, so a difference in reading shows as a difference
in losses.
"""
import gzip
import lzma
import os

import numpy as np
import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# the variable that the tests of the program use, too
SHARED = os.environ.get("SCANT_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data"))
FASHION = "/usr/share/datasets/fashion-mnist"
IDX = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz",
       "t10k-labels-idx1-ubyte.gz")
CIFAR = ("cifar10_train_20000.bin.xz", "cifar10_test_5000.bin.xz")
SCALING_SAMPLES = 10000


class Missing(Exception):
    """Data that this machine does not have; the text says what to do."""


def content(path):
    """The bytes of a plain, gzip or xz file."""
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(os.path.splitext(path)[1], open)
    with opener(path, "rb") as file:
        return file.read()


def read_idx(path):
    """An IDX file of bytes as an array."""
    raw = content(path)
    if raw[:3] != b"\0\0\x08":
        raise ValueError(f"{path}: no IDX file of bytes")
    shape = np.frombuffer(raw, ">u4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def read_cifar(path):
    """(images, labels) of a file of CIFAR-10 records: a label byte and 3 x 32 x 32 bytes."""
    records = np.frombuffer(content(path), np.uint8).reshape(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]


class Images:
    """Images n x c x h x w with values 0 to 1, and labels, as tensors."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    @classmethod
    def of_bytes(cls, images, labels):
        if images.ndim == 3:
            images = images[:, None]
        # byte * (1 / 255) may differ from byte / 255, which scant uses, in the last bit
        return cls(torch.from_numpy(np.asarray(images, np.float32) / np.float32(255)),
                   torch.from_numpy(np.asarray(labels, np.int64)))

    def __len__(self):
        return len(self.y)

    def measure(self, rows=None):
        """Mean and deviation of each channel over at most 10,000 evenly spaced samples (of rows):
        the scaling that scant's manual describes."""
        rows = np.arange(len(self)) if rows is None else np.asarray(rows)
        x = self.x[rows[::-(-len(rows) // SCALING_SAMPLES)]].double()
        return x.mean((0, 2, 3)), x.std((0, 2, 3), unbiased=False)

    def scaled(self, mean, deviation):
        """The images less the mean, divided by the deviation of their channel."""
        shape = (1, -1, 1, 1)
        x = self.x - mean.float().reshape(shape)
        return Images(x.div_(deviation.float().reshape(shape)), self.y)


def idx_paths(folder):
    """The four files of MNIST's format in a folder."""
    paths = [os.path.join(folder, name) for name in IDX]
    missing = [path for path in paths if not os.path.exists(path)]
    if missing:
        raise Missing(f"no {missing[0]}")
    return paths


def open_idx(folder):
    """(train, test) of a folder with MNIST's file names."""
    images, labels, test_images, test_labels = map(read_idx, idx_paths(folder))
    return Images.of_bytes(images, labels), Images.of_bytes(test_images, test_labels)


def open_cifar():
    """(train, test): the 20,000 and 5,000 images of CIFAR-10 in SCANT_SHARED_DATA."""
    return tuple(Images.of_bytes(*read_cifar(path)) for path in cifar_paths())


def cifar_paths():
    paths = [os.path.join(SHARED, name) for name in CIFAR]
    for path in paths:
        if not os.path.exists(path):
            raise Missing(f"no {path}: the variable SCANT_SHARED_DATA names its folder")
    return paths


class Source:
    """A data set by the name on the command line: what scant is given, and how it is read here."""

    def __init__(self, flags, open_here):
        self.flags, self.open = flags, open_here


def source(name):
    """fashion-mnist, mnist or cifar10; Missing if its files are not there."""
    if name == "cifar10":
        train, test = cifar_paths()
        return Source(["--data", train, "--test", test], open_cifar)
    folder = {"fashion-mnist": FASHION, "mnist": SHARED}[name]
    try:
        paths = idx_paths(folder)
    except Missing as missing:
        help_text = "the package dataset-fashion-mnist has it" if name == "fashion-mnist" \
            else "the variable SCANT_SHARED_DATA names its folder"
        raise Missing(f"{missing}: {help_text}") from None
    flags = [word for pair in zip(("--data", "--labels", "--test", "--test-labels"), paths)
             for word in pair]
    return Source(flags, lambda: open_idx(folder))
