#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""torch_nets.py train|norms|fixmatch MODEL IMAGES.npy LABELS.npy RUNS THREADS [BATCH]: PyTorch's
side.

Prints a JSON object with the seconds of each step of training (batch 128, SGD with momentum,
one mini-batch that is already in memory), of one backward pass per sample over RUNS samples, or of
each step of FixMatch (BATCH labelled and 7 * BATCH unlabelled images, all in memory; every
pseudo-label counts).
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


def fixmatch(net, x, y, batch, runs):
    """Seconds of each step. With batch normalisation all samples go through the network together.
    Without it the weak views have their own pass without gradients, which is faster."""
    others = 7 * batch
    labelled, weak, strong = x[:batch], x[batch:batch + others], x[batch:batch + others]
    normalises = any(isinstance(m, torch.nn.BatchNorm2d) for m in net.modules())
    decayed = [p for p in net.parameters() if p.ndim > 1]
    plain = [p for p in net.parameters() if p.ndim <= 1]
    step = torch.optim.SGD([{"params": decayed, "weight_decay": 5e-4}, {"params": plain}], lr=0.001,
                           momentum=0.9, nesterov=True)
    average = [p.detach().clone() for p in net.parameters()]
    ce = torch.nn.functional.cross_entropy
    seconds = []
    net.train()
    for _ in range(runs):
        start = time.perf_counter()
        step.zero_grad(set_to_none=True)
        if normalises:
            z = net(torch.cat([labelled, weak, strong]))
            told, said, shown = z[:batch], z[batch:batch + others].detach(), z[batch + others:]
        else:
            with torch.no_grad():
                said = net(weak)
            z = net(torch.cat([labelled, strong]))
            told, shown = z[:batch], z[batch:]
        sure, label = torch.softmax(said, 1).max(1)
        loss = ce(told, y[:batch]) + (ce(shown, label, reduction="none") * (sure >= 1e-9)).mean()
        loss.backward()
        step.step()
        with torch.no_grad():
            torch._foreach_mul_(average, 0.999)
            torch._foreach_add_(average, list(net.parameters()), alpha=0.001)
        seconds.append(time.perf_counter() - start)
    return seconds


def main():
    what, model, images, labels, runs, threads = sys.argv[1:7]
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    x = np.load(images).astype(np.float32) / 255
    x = x[:, None] if x.ndim == 3 else x.transpose(0, 3, 1, 2)
    x = torch.from_numpy(np.ascontiguousarray((x - x.mean()) / x.std()))
    y = torch.from_numpy(np.load(labels).astype(np.int64))
    net = torch_models.build(model, x.shape[1], tuple(x.shape[2:]), 10)
    seconds = []
    if what == "fixmatch":
        seconds = fixmatch(net, x, y, int(sys.argv[7]), int(runs))
    elif what == "train":
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
