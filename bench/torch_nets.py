#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""torch_nets.py train|norms MODEL IMAGES.npy LABELS.npy RUNS THREADS: PyTorch's side.

Prints a JSON object with the seconds of each step of training (batch 128, SGD with momentum,
one batch that is in memory already), or of one backward pass a sample over RUNS samples.
"""
import json
import os
import sys
import time

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "nn"))
import torch_models  # noqa: E402

BATCH = 128


def main():
    what, model, images, labels, runs, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    x = np.load(images).astype(np.float32) / 255
    x = x[:, None] if x.ndim == 3 else x.transpose(0, 3, 1, 2)
    x = torch.from_numpy(np.ascontiguousarray((x - x.mean()) / x.std()))
    y = torch.from_numpy(np.load(labels).astype(np.int64))
    net = torch_models.build(model, x.shape[1], tuple(x.shape[2:]), 10)
    seconds = []
    if what == "train":
        net.train()
        x, y = x[:BATCH], y[:BATCH]
        step = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
        for _ in range(int(runs)):
            start = time.perf_counter()
            step.zero_grad(set_to_none=True)
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            step.step()
            seconds.append(time.perf_counter() - start)
    else:
        net.eval()
        parameters = list(net.parameters())
        for i in range(int(runs)):
            start = time.perf_counter()
            loss = torch.nn.functional.cross_entropy(net(x[i:i + 1]), y[i:i + 1])
            sum(float(g.square().sum()) for g in torch.autograd.grad(loss, parameters))
            seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
