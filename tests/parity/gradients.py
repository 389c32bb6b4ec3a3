#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gradients.py [--program PROGRAM] [CASE]...: compares scant's gradients with PyTorch's.

For each case and mode, PROGRAM (build/tests/parity_dump_gradients) reads weights, inputs and labels
from files and writes the loss, the logits, the embedding, each gradient and each running
statistic. They are compared with PyTorch's in float64: |a - b| <= 1e-4 |b| + 1e-7 for each tensor.
The table shows scant's largest distance in units of that bound, and that of PyTorch's own float32.
Without a PROGRAM it shows only the latter. The exit status is 0 if all tensors are within the
bound.

PROGRAM is called with MODEL OPTIONS MODE WEIGHTS INPUTS LABELS OUT: OPTIONS as in
"classes=10,norm=none", WEIGHTS and OUT in the safetensors format, INPUTS and LABELS as .npy.
OUT has loss, logits, embedding, grad.NAME and, in mode train, stat.NAME.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "nn"))

import tensors  # noqa: E402
from cases import CASES  # noqa: E402
from evaluate import batch_of, compare, evaluate, modes, weights_of, worst  # noqa: E402


def run(program, folder, case, weights, x, y, mode):
    paths = [os.path.join(folder, name) for name in ("w.safetensors", "x.npy", "y.npy",
                                                     "out.safetensors")]
    tensors.write(paths[0], weights)
    np.save(paths[1], x)
    np.save(paths[2], y)
    options = ",".join(filter(None, [f"classes={case.classes}", case.options_text()]))
    subprocess.run([program, case.model, options, mode, *paths], check=True)
    arrays, _ = tensors.read(paths[3])
    # a scalar may have shape (1,)
    if "loss" in arrays:
        arrays = {**arrays, "loss": arrays["loss"].reshape(())}
    return arrays


def main():
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.path.join(ROOT, "build/tests/parity_dump_gradients"))
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(names))
    given = parser.parse_args()
    unknown = set(given.cases) - set(names)
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}, expected one of {', '.join(names)}")
    with_program = os.path.exists(given.program)
    if not with_program:
        print(f"no {given.program}: only PyTorch's float32 is compared with its float64")
    print(f"{'case':20}{'mode':7}{'loss':>10}{'scant':>9}{'torch':>9}  scant's worst")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for case in [case for case in CASES if not given.cases or case.name in given.cases]:
            weights, (x, y) = weights_of(case), batch_of(case)
            for mode in modes(case):
                exact = evaluate(case, weights, x, y, mode)
                theirs = worst(compare(evaluate(case, weights, x, y, mode, torch.float32), exact))
                name, ours = theirs
                if with_program:
                    start = time.perf_counter()
                    name, ours = worst(compare(
                        run(given.program, folder, case, weights, x, y, mode), exact))
                    name += f" ({time.perf_counter() - start:.1f} s)"
                print(f"{case.name:20}{mode:7}{float(exact['loss']):10.4f}"
                      f"{ours if with_program else float('nan'):9.3f}{theirs[1]:9.3f}  {name}",
                      flush=True)
                failed |= not ours <= 1
    sys.exit("some tensors differ from PyTorch's" if failed else 0)


if __name__ == "__main__":
    main()
