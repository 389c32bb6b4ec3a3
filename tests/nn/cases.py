# SPDX-License-Identifier: Apache-2.0
"""The networks, batches and seeds for which scant and PyTorch are compared.

Rectifiers and maxima have kinks. If an activation is within rounding error of a kink, two correct
programs can take different sides, and their gradients differ by parts in a thousand. A case's seed
is therefore the first for which no activation is so close, measured by the rounding of PyTorch's
own float32 (`make_golden.py --seeds` finds it).
mobilenetv2 with batch statistics has no such seed; it is compared with a smooth activation.
"""
import torch_models


class Case:
    """A network, a batch size and the options for both programs."""

    def __init__(self, name, model, channels, size, classes, batch, seed, only=None,
                 stored=True, gain=1, **options):
        self.name, self.model, self.channels, self.size = name, model, channels, size
        self.classes, self.batch, self.seed, self.options = classes, batch, seed, options
        self.only = only  # one mode; the other mode has a case of its own
        self.gain = gain  # scale of normalised planes: > 1 makes relu6 clip
        self.stored = stored  # False: only tests/parity uses it, to keep the tests fast

    def shape(self):
        return (self.batch, self.channels, *self.size)

    def build(self):
        return torch_models.build(self.model, self.channels, self.size, self.classes,
                                  **self.options)

    def options_text(self):
        return ",".join(f"{key}={value}" for key, value in self.options.items())


CASES = [
    Case("linear", "linear", 2, (5, 7), 4, 9, 1),
    Case("mlp", "mlp", 1, (1, 20), 5, 9, 1),
    Case("mlp-deep", "mlp", 1, (1, 20), 5, 9, 1, depth=3, width=32, activation="tanh"),
    Case("onehidden", "onehidden", 1, (1, 20), 3, 9, 1, width=64, activation="swish"),
    Case("onehidden-square", "onehidden", 1, (1, 20), 3, 9, 1, stored=False, width=64, activation="square"),
    Case("lenet5", "lenet5", 1, (28, 28), 10, 9, 1),
    Case("cnn", "cnn", 3, (32, 32), 10, 9, 1),
    Case("gapcnn", "gapcnn", 3, (16, 12), 10, 9, 1, width=16),
    Case("gapcnn-nopool", "gapcnn-nopool", 3, (12, 10), 10, 9, 1, width=8),
    Case("vgg11", "vgg11", 3, (32, 32), 10, 8, 2),
    Case("vgg11-relu6", "vgg11", 3, (32, 32), 10, 8, 1, only="train", stored=False, gain=4,
         activation="relu6"),
    Case("vgg11-plain", "vgg11", 3, (32, 64), 10, 4, 3, stored=False, norm="none"),
    Case("resnet18", "resnet18", 3, (16, 24), 10, 4, 11),
    Case("resnet18-original", "resnet18", 3, (64, 64), 10, 4, 4, stored=False,
         stem="original"),
    Case("wrn-28-2", "wrn-28-2", 3, (16, 16), 10, 8, 9),
    Case("mobilenetv2", "mobilenetv2", 3, (32, 32), 10, 2, 1, only="eval"),
    Case("mobilenetv2-tanh", "mobilenetv2", 3, (48, 48), 10, 4, 1, only="train",
         activation="tanh"),
    Case("mobilenetv2-folded", "mobilenetv2", 3, (32, 32), 10, 2, 3, norm="folded"),
]
