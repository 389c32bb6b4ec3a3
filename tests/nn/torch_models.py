#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scant's networks in plain PyTorch, to compare with.

Parameters and buffers have the names of scant's weight files, which are torchvision's if
torchvision has the network. model(x) returns logits, model.embed(x) the input of the last linear
layer. build(name, channels, size, classes, **options) makes any of NAMES.

As a program, it compares the numbers of parameters with those of torchvision and the literature.
"""
import math
import re

import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = {
    "relu": F.relu,
    "leaky": lambda x: F.leaky_relu(x, 0.1),
    "relu6": F.relu6,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "swish": F.silu,
    "square": torch.square,
}


class Activation(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.call = ACTIVATIONS[name]

    def forward(self, x):
        return self.call(x)


class Model(nn.Module):
    """A network whose last layer is linear and called `head`."""
    head = "fc"

    def embed(self, x):
        raise NotImplementedError

    def forward(self, x):
        return self.get_submodule(self.head)(self.embed(x))


def pooled(x):
    return F.max_pool2d(x, 2)


def averaged(x):
    return x.mean((2, 3))


# ---- small networks ------------------------------------------------------------------------

class Linear(Model):
    def __init__(self, channels, size, classes):
        super().__init__()
        self.fc = nn.Linear(channels * size[0] * size[1], classes)

    def embed(self, x):
        return x.flatten(1)


class Mlp(Model):
    def __init__(self, channels, size, classes, width=256, depth=1, activation="relu"):
        super().__init__()
        self.depth, self.activation = depth, ACTIVATIONS[activation]
        before = channels * size[0] * size[1]
        for k in range(1, depth + 1):
            self.add_module(f"fc{k}", nn.Linear(before, width))
            before = width
        self.head = f"fc{depth + 1}"
        self.add_module(self.head, nn.Linear(before, classes))

    def embed(self, x):
        x = x.flatten(1)
        for k in range(1, self.depth + 1):
            x = self.activation(self.get_submodule(f"fc{k}")(x))
        return x


class Fixed(nn.Module):
    """A layer without bias and with fixed weights +1 and -1, scaled by 1/sqrt(inputs)."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.register_buffer("weight", torch.randint(0, 2, (outputs, inputs)) * 2.0 - 1.0)

    def forward(self, x):
        return F.linear(x, self.weight) / math.sqrt(x.shape[1])


class OneHidden(Model):
    """f(x) = A act(W x) / sqrt(m); A is fixed."""
    head = "out"

    def __init__(self, channels, size, classes, width=1024, activation="relu"):
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.fc1 = nn.Linear(channels * size[0] * size[1], width, bias=False)
        self.out = Fixed(width, classes)

    def embed(self, x):
        return self.activation(self.fc1(x.flatten(1)))


class Lenet(Model):
    """lenet5 (padding 2) and cnn (padding 0), which are otherwise the same."""
    head = "fc3"

    def __init__(self, channels, size, classes, pad):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5, padding=pad)
        self.conv2 = nn.Conv2d(6, 16, 5)
        sides = [((side + 2 * pad - 4) // 2 - 4) // 2 for side in size]
        self.fc1 = nn.Linear(16 * sides[0] * sides[1], 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def embed(self, x):
        x = pooled(F.relu(self.conv1(x)))
        x = pooled(F.relu(self.conv2(x)))
        return F.relu(self.fc2(F.relu(self.fc1(x.flatten(1)))))


def lenet5(channels, size, classes):
    return Lenet(channels, size, classes, pad=2)


def cnn(channels, size, classes):
    return Lenet(channels, size, classes, pad=0)


class GapCnn(Model):
    def __init__(self, channels, size, classes, width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.conv3 = nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.fc = nn.Linear(2 * width, classes)

    def embed(self, x):
        x = pooled(F.relu(self.conv1(x)))
        x = pooled(F.relu(self.conv2(x)))
        return averaged(F.relu(self.conv3(x)))


class GapCnnNopool(Model):
    def __init__(self, channels, size, classes, width=32):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.conv3 = nn.Conv2d(2 * width, 4 * width, 3, padding=1)
        self.fc = nn.Linear(4 * width, classes)

    def embed(self, x):
        return averaged(F.relu(self.conv3(F.relu(self.conv2(F.relu(self.conv1(x)))))))


# ---- VGG -----------------------------------------------------------------------------------

VGG = {
    "vgg11": [64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"],
    "vgg16": [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M",
              512, 512, 512, "M"],
}


class Vgg(Model):
    def __init__(self, channels, size, classes, plan, norm="batch", head="small", dropout=0.5,
                 activation="relu"):
        super().__init__()
        layers = []
        for width in plan:
            if width == "M":
                layers.append(nn.MaxPool2d(2))
                continue
            layers.append(nn.Conv2d(channels, width, 3, padding=1))
            if norm != "none":  # a folded one keeps its place, and so the numbering
                layers.append(nn.BatchNorm2d(width) if norm == "batch" else nn.Identity())
            layers.append(Activation(activation))
            channels = width
        self.features = nn.Sequential(*layers)
        self.full = head == "full"
        if self.full:
            self.classifier = nn.Sequential(
                nn.Linear(512 * 7 * 7, 4096), nn.ReLU(), nn.Dropout(dropout),
                nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(dropout), nn.Linear(4096, classes))
            self.head = "classifier.6"
        else:
            self.classifier = nn.Linear(512 * (size[0] // 32) * (size[1] // 32), classes)
            self.head = "classifier"

    def embed(self, x):
        x = self.features(x)
        if not self.full:
            return x.flatten(1)
        x = F.adaptive_avg_pool2d(x, 7).flatten(1)
        return self.classifier[:6](x)


def vgg11(channels, size, classes, **options):
    return Vgg(channels, size, classes, VGG["vgg11"], **options)


def vgg16(channels, size, classes, **options):
    return Vgg(channels, size, classes, VGG["vgg16"], **options)


# ---- residual networks ---------------------------------------------------------------------

def maybe_norm(width, norm):
    return nn.BatchNorm2d(width) if norm == "batch" else nn.Identity()


class BasicBlock(nn.Module):
    def __init__(self, before, width, stride, norm):
        super().__init__()
        bias = norm != "batch"
        self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=bias)
        self.bn1 = maybe_norm(width, norm)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=bias)
        self.bn2 = maybe_norm(width, norm)
        self.downsample = None
        if stride != 1 or before != width:
            self.downsample = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=bias),
                                            maybe_norm(width, norm))

    def forward(self, x):
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(out + (x if self.downsample is None else self.downsample(x)))


class Resnet18(Model):
    def __init__(self, channels, size, classes, stem=None, norm="batch"):
        super().__init__()
        self.small = (stem or ("small" if size[0] <= 64 else "original")) == "small"
        kernel, stride, pad = (3, 1, 1) if self.small else (7, 2, 3)
        self.conv1 = nn.Conv2d(channels, 64, kernel, stride, pad, bias=norm != "batch")
        self.bn1 = maybe_norm(64, norm)
        before = 64
        for k, width in enumerate([64, 128, 256, 512], 1):
            self.add_module(f"layer{k}", nn.Sequential(
                BasicBlock(before, width, 1 if k == 1 else 2, norm),
                BasicBlock(width, width, 1, norm)))
            before = width
        self.fc = nn.Linear(512, classes)

    def embed(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        if not self.small:
            x = F.max_pool2d(x, 3, 2, 1)
        for k in range(1, 5):
            x = self.get_submodule(f"layer{k}")(x)
        return averaged(x)


class WideBlock(nn.Module):
    """If the shape changes, the shortcut also starts after the first activation."""

    def __init__(self, before, width, stride, dropout):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(before)
        self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.dropout = dropout
        self.shortcut = None
        if stride != 1 or before != width:
            self.shortcut = nn.Conv2d(before, width, 1, stride, bias=False)

    def forward(self, x):
        active = F.leaky_relu(self.bn1(x), 0.1)
        out = F.leaky_relu(self.bn2(self.conv1(active)), 0.1)
        out = self.conv2(F.dropout(out, self.dropout, self.training))
        return out + (x if self.shortcut is None else self.shortcut(active))


class WideResnet(Model):
    def __init__(self, channels, size, classes, depth, widen, dropout=0.0):
        super().__init__()
        assert depth % 6 == 4, "the depth of a wide residual network is 6n + 4"
        self.conv1 = nn.Conv2d(channels, 16, 3, 1, 1, bias=False)
        before = 16
        for k in range(1, 4):
            width, blocks = 16 * widen * 2 ** (k - 1), []
            for i in range((depth - 4) // 6):
                blocks.append(WideBlock(before, width, 2 if k > 1 and i == 0 else 1, dropout))
                before = width
            self.add_module(f"block{k}", nn.Sequential(*blocks))
        self.bn1 = nn.BatchNorm2d(before)
        self.fc = nn.Linear(before, classes)

    def embed(self, x):
        x = self.block3(self.block2(self.block1(self.conv1(x))))
        return averaged(F.leaky_relu(self.bn1(x), 0.1))


# ---- MobileNetV2 ---------------------------------------------------------------------------

def conv_norm(before, after, kernel, stride, groups, folded, activation):
    """Convolution, normalization (unless folded into the convolution), activation."""
    layers = [nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=folded)]
    if not folded:
        layers.append(nn.BatchNorm2d(after))
    if activation:
        layers.append(Activation(activation))
    return layers


class Inverted(nn.Module):
    def __init__(self, before, after, stride, expand, folded, activation):
        super().__init__()
        wide, layers = before * expand, []
        if expand != 1:
            layers.append(nn.Sequential(*conv_norm(before, wide, 1, 1, 1, folded, activation)))
        layers.append(nn.Sequential(*conv_norm(wide, wide, 3, stride, wide, folded, activation)))
        self.conv = nn.Sequential(*layers, *conv_norm(wide, after, 1, 1, 1, folded, None))
        self.residual = stride == 1 and before == after

    def forward(self, x):
        return x + self.conv(x) if self.residual else self.conv(x)


class MobilenetV2(Model):
    head = "classifier.1"
    PLAN = [  # expansion, channels, blocks, stride of the first
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
        (6, 160, 3, 2), (6, 320, 1, 1)]

    def __init__(self, channels, size, classes, norm="batch", activation="relu6",
                 dropout=0.0):
        super().__init__()
        folded = norm != "batch"
        blocks = [nn.Sequential(*conv_norm(channels, 32, 3, 2, 1, folded, activation))]
        before = 32
        for expand, after, count, stride in self.PLAN:
            for i in range(count):
                blocks.append(Inverted(before, after, stride if i == 0 else 1, expand, folded,
                                       activation))
                before = after
        blocks.append(nn.Sequential(*conv_norm(before, 1280, 1, 1, 1, folded, activation)))
        self.features = nn.Sequential(*blocks)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(1280, classes))

    def embed(self, x):
        return self.classifier[0](averaged(self.features(x)))


# ---- by name -------------------------------------------------------------------------------

NAMES = {
    "linear": Linear, "mlp": Mlp, "onehidden": OneHidden, "lenet5": lenet5, "cnn": cnn,
    "gapcnn": GapCnn, "gapcnn-nopool": GapCnnNopool, "vgg11": vgg11, "vgg16": vgg16, "resnet18": Resnet18,
    "mobilenetv2": MobilenetV2,
}


def build(name, channels, size, classes, **options):
    """A new model; size: (height, width). "wrn-28-2" names depth and width."""
    wide = re.fullmatch(r"wrn-(\d+)-(\d+)", name)
    if wide:
        return WideResnet(channels, size, classes, int(wide[1]), int(wide[2]), **options)
    return NAMES[name](channels, size, classes, **options)


def parameters(model):
    return sum(p.numel() for p in model.parameters())


KNOWN = [  # from torchvision's tables, and for wrn-28-2 from the literature
    ("mobilenetv2", 3, 224, 1000, {}, 3504872),
    ("resnet18", 3, 224, 1000, {"stem": "original"}, 11689512),
    ("vgg16", 3, 224, 1000, {"head": "full"}, 138365992),
    ("vgg11", 3, 224, 1000, {"head": "full"}, 132868840),
    ("vgg11", 3, 224, 1000, {"head": "full", "norm": "none"}, 132863336),
    ("wrn-28-2", 3, 32, 10, {}, 1467610),
    ("lenet5", 1, 28, 10, {}, 61706),
    ("cnn", 3, 32, 10, {}, 62006),
]


def main():
    for name, channels, side, classes, options, known in KNOWN:
        model = build(name, channels, (side, side), classes, **options)
        count = parameters(model)
        print(f"{name}: {count} parameters")
        if count != known:
            raise SystemExit(f"{name}: expected {known}")
    for name in [*NAMES, "wrn-28-2", "wrn-28-8", "wrn-28-10"]:
        for channels, side in ((1, 32), (3, 64)):
            model = build(name, channels, (side, side), 7).eval()
            x = torch.randn(2, channels, side, side)
            with torch.no_grad():
                logits, embedded = model(x), model.embed(x)
                again = model.get_submodule(model.head)(embedded)
            if logits.shape != (2, 7) or not torch.equal(logits, again):
                raise SystemExit(f"{name}: the logits are not the output of the last layer")
    print("all models have the expected sizes and shapes")


if __name__ == "__main__":
    main()
