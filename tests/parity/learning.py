# SPDX-License-Identifier: Apache-2.0
"""Training and prediction with torch, in the plainest way: what scant is compared with."""
import torch
from torch.nn import functional as F


def optimizer_of(model, settings):
    """torch's own SGD or Adam for settings with scant's names (optimizer, lr, momentum,
    weight_decay). In scant and in torch the decay applies to all parameters, also biases."""
    decay = settings.get("weight_decay", 0)
    if settings.get("optimizer", "sgd") == "adam":
        return torch.optim.Adam(model.parameters(), settings["lr"], weight_decay=decay)
    return torch.optim.SGD(model.parameters(), settings["lr"], settings.get("momentum", 0),
                           weight_decay=decay)


def step(model, optimizer, x, y):
    """One step on a mini-batch; returns its mean cross-entropy before the step."""
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def train(model, x, y, settings, generator):
    """Trains for settings["epochs"]. Each epoch is a new random order of all samples in batches of
    settings["batch"]; the last one may be smaller."""
    optimizer = optimizer_of(model, settings)
    model.train()
    for _ in range(settings["epochs"]):
        for rows in torch.randperm(len(y), generator=generator).split(settings["batch"]):
            step(model, optimizer, x[rows], y[rows])


def predict(model, x, rows=None, batch=250):
    """(logits, input of the last layer) of samples: all, or rows of x. Larger batches are slower,
    because their intermediate results do not fit in the cache."""
    model.eval()
    logits, features = [], []
    count = len(x) if rows is None else len(rows)
    with torch.no_grad():
        for at in range(0, count, batch):
            block = x[at:at + batch] if rows is None else x[rows[at:at + batch]]
            features.append(model.embed(block))
            logits.append(model.get_submodule(model.head)(features[-1]))
    return torch.cat(logits), torch.cat(features)


def evaluate(model, data):
    """(accuracy, mean cross-entropy) on data."""
    logits, _ = predict(model, data.x)
    return (float((logits.argmax(1) == data.y).double().mean()),
            float(F.cross_entropy(logits, data.y)))
