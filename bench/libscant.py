# SPDX-License-Identifier: Apache-2.0
"""libscant for NumPy arrays, through ctypes: a part of include/scant/scant.h."""
import ctypes
from collections import namedtuple
from ctypes import (POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint64,
                    c_void_p, cast)

import numpy as np

DTYPES = {"f2": 1, "f4": 2, "f8": 3, "u1": 4, "i1": 5, "u2": 6, "i2": 7, "u4": 8, "i4": 9,
          "u8": 10, "i8": 11}
ARRAYS = ("features", "probs", "logits", "calibrated", "gradients", "draws", "slopes",
          "lengths", "labels", "candidates")


RESERVED = [("reserved", c_uint64 * 8)]


class CtxOpts(ctypes.Structure):
    _fields_ = [("threads", c_uint), ("memory", c_size_t)] + [
        (name, c_void_p)
        for name in ("user", "log", "progress", "cancel", "allocate", "release")] + RESERVED


class Evidence(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ARRAYS] + [
        ("rows", c_size_t), ("temperature", c_double), ("calibrate_on", c_void_p)] + RESERVED


class Setting(ctypes.Structure):
    _fields_ = [("key", c_char_p), ("value", c_char_p)]


class SelectOpts(ctypes.Structure):
    _fields_ = [("seed", c_uint64), ("settings", POINTER(Setting)), ("n_settings", c_size_t),
                ("state", c_char_p), ("state_size", c_size_t), ("state_name", c_char_p),
                ("kernel", c_char_p)] + RESERVED


class Pick(ctypes.Structure):
    _fields_ = [("index", c_size_t), ("weight", c_double), ("score", c_double)]


class Figure(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class Picks(ctypes.Structure):
    _fields_ = [("strategy", c_char_p), ("count", c_size_t), ("rows", c_size_t),
                ("items", POINTER(Pick)),
                ("n_settings", c_size_t), ("settings", POINTER(Setting)),
                ("n_info", c_size_t), ("info", POINTER(Figure)),
                ("state", c_char_p), ("state_size", c_size_t), ("kernel", c_char_p)] + RESERVED


# Picks, best first; settings and info by name, as the strategy reports them.
Chosen = namedtuple("Chosen", "indices scores weights settings info")


class Scant:
    """A context of the library at `path`."""

    def __init__(self, path, threads=0):
        self.lib = ctypes.CDLL(path)
        self.lib.scant_version.restype = c_char_p
        self.lib.scant_ctx_errmsg.restype = c_char_p
        self.lib.scant_ctx_errmsg.argtypes = [c_void_p]
        self.lib.scant_array_wrap.argtypes = [c_void_p, c_char_p, c_void_p, c_int, c_size_t,
                                              POINTER(c_size_t), POINTER(c_void_p)]
        self.lib.scant_array_free.argtypes = [c_void_p]
        self.lib.scant_select.argtypes = [c_void_p, c_char_p, POINTER(Evidence), c_size_t,
                                          POINTER(SelectOpts), POINTER(POINTER(Picks))]
        self.lib.scant_picks_free.argtypes = [c_void_p, POINTER(Picks)]
        self.ctx = c_void_p()
        if self.lib.scant_ctx_create(byref(CtxOpts(threads=threads)), byref(self.ctx)):
            raise MemoryError("scant_ctx_create failed")

    def version(self):
        return self.lib.scant_version().decode()

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.scant_ctx_errmsg(self.ctx).decode())

    def wrap(self, name, array):
        """A handle to the array's memory, which the caller must keep alive."""
        if not array.flags.c_contiguous or not array.dtype.isnative:
            raise ValueError(f"{name}: C order and native bytes are needed")
        handle = c_void_p()
        shape = (c_size_t * array.ndim)(*array.shape)
        self.check(self.lib.scant_array_wrap(self.ctx, name.encode(), array.ctypes.data,
                                             DTYPES[array.dtype.str[1:]], array.ndim, shape,
                                             byref(handle)))
        return handle

    def select(self, strategy, batch, seed=0, settings=None, temperature=0, kernel=None,
               **arrays):
        """Returns Chosen. settings are the strategy's own options; arrays are named like the
        flags."""
        evidence, handles = Evidence(temperature=temperature), []
        picks = POINTER(Picks)()
        pairs = [(key.encode(), str(value).encode()) for key, value in (settings or {}).items()]
        opts = SelectOpts(seed, (Setting * len(pairs))(*pairs), len(pairs),
                          kernel=kernel.encode() if kernel else None)
        try:
            for name, array in arrays.items():
                handles.append(self.wrap(name, array))
                setattr(evidence, name, handles[-1])
            self.check(self.lib.scant_select(self.ctx, strategy.encode(), byref(evidence), batch,
                                             byref(opts), byref(picks)))
            return chosen(picks.contents)
        finally:
            if picks:
                self.lib.scant_picks_free(self.ctx, picks)
            for handle in handles:
                self.lib.scant_array_free(handle)


def chosen(picks):
    """Copies the picks, because the library frees its own."""
    settings = {picks.settings[i].key.decode(): (picks.settings[i].value or b"").decode()
                for i in range(picks.n_settings)}
    info = {picks.info[i].name.decode(): picks.info[i].value for i in range(picks.n_info)}
    if picks.count == 0:
        return Chosen(np.empty(0, np.int64), np.empty(0), np.empty(0), settings, info)
    table = np.frombuffer(cast(picks.items, POINTER(Pick * picks.count)).contents,
                          np.dtype(Pick))
    return Chosen(table["index"].astype(np.int64), table["score"].copy(),
                  table["weight"].copy(), settings, info)
