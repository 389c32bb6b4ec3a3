# SPDX-License-Identifier: Apache-2.0
"""Loss and gradients of a case in PyTorch, and the distance of other results from them."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import formula


def modes(case):
    """Without normalization, training and evaluation are the same."""
    if case.only:
        return [case.only]
    norm = any(isinstance(m, nn.BatchNorm2d) for m in case.build().modules())
    return ["train", "eval"] if norm else ["train"]


def state_names(model):
    """Names of parameters and buffers, without the counters, which scant does not have."""
    return [name for name in model.state_dict() if not name.endswith("num_batches_tracked")]


def weights_of(case):
    """The weights of formula.py, float32, by name."""
    model = case.build()
    norms = {name for name, module in model.named_modules() if isinstance(module, nn.BatchNorm2d)}
    state = model.state_dict()

    def tensor(name):
        module, _, last = name.rpartition(".")
        value = formula.tensor(case.seed, name, tuple(state[name].shape), module in norms)
        return value * np.float32(case.gain) if module in norms and last == "weight" else value

    return {name: tensor(name) for name in state_names(model)}


def batch_of(case):
    return (formula.inputs(case.seed, case.shape()),
            formula.labels(case.seed, case.batch, case.classes))


def evaluate(case, weights, x, y, mode, dtype=torch.float64):
    """loss, logits, embedding, grad.NAME of every parameter and, in mode train, stat.NAME of every
    running statistic, as float64 arrays."""
    model = case.build()
    state = {name: torch.from_numpy(array) for name, array in weights.items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and all(name.endswith("num_batches_tracked") for name in missing)
    model.to(dtype).train(mode == "train")
    rows = torch.from_numpy(x).to(dtype)
    captured = []
    handle = model.get_submodule(model.head).register_forward_hook(
        lambda module, given, output: captured.append(given[0]))
    logits = model(rows)
    handle.remove()
    loss = F.cross_entropy(logits, torch.from_numpy(y))
    loss.backward()
    out = {"loss": loss, "logits": logits, "embedding": captured[0]}
    for name, parameter in model.named_parameters():
        out["grad." + name] = parameter.grad
    if mode == "train":
        for name, buffer in model.named_buffers():
            if "running_" in name:
                out["stat." + name] = buffer
    return {name: np.array(value.detach().numpy(), np.float64) for name, value in out.items()}


def compare(ours, reference):
    """{name: distance}: |a - b| in units of 1e-4 |b| + 1e-7; at most 1 passes. Missing tensors and
    other shapes are infinitely far. A gradient that is zero except for rounding (a bias before a
    normalization) is compared relative to the largest gradient."""
    largest = max(np.linalg.norm(value) for name, value in reference.items()
                  if name.startswith("grad."))
    out = {}
    for name, value in reference.items():
        if name not in ours or ours[name].shape != value.shape:
            out[name] = float("inf")
            continue
        size = np.linalg.norm(value)
        if name.startswith("grad.") and size < 1e-10 * largest:
            size = 1e-2 * largest
        out[name] = float(np.linalg.norm(ours[name] - value) / (1e-4 * size + 1e-7))
    return out


def worst(distances):
    name = max(distances, key=distances.get)
    return name, distances[name]
