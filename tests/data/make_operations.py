#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/data/make_operations.py > tests/data/operations.h: what Pillow makes of two images.

Needs Pillow and NumPy (written with Pillow 9.4). Levels are those of src/data/augment_ops.c.
"""
import numpy
from PIL import Image, ImageEnhance, ImageOps


def keep(level):
    return 0.05 + 0.09 * level


def affine(picture, *matrix):
    return picture.transform(picture.size, Image.AFFINE, matrix, Image.NEAREST)


def pixels(level, size):
    return (abs(level) * size * 3 // 100) * (1 if level > 0 else -1)


OPERATIONS = {
    "AUTOCONTRAST": lambda p, v: ImageOps.autocontrast(p),
    "EQUALIZE": lambda p, v: ImageOps.equalize(p),
    "BRIGHTNESS": lambda p, v: ImageEnhance.Brightness(p).enhance(keep(v)),
    "COLOR": lambda p, v: ImageEnhance.Color(p).enhance(keep(v)),
    "CONTRAST": lambda p, v: ImageEnhance.Contrast(p).enhance(keep(v)),
    "SHARPNESS": lambda p, v: ImageEnhance.Sharpness(p).enhance(keep(v)),
    "POSTERIZE": lambda p, v: ImageOps.posterize(p, 4 + v * 4 // 10),
    "SOLARIZE": lambda p, v: ImageOps.solarize(p, 256 - v * 256 // 10),
    "ROTATE": lambda p, v: p.rotate(3 * v),
    "SHEAR_X": lambda p, v: affine(p, 1, 0.03 * v, 0, 0, 1, 0),
    "SHEAR_Y": lambda p, v: affine(p, 1, 0, 0, 0.03 * v, 1, 0),
    "TRANSLATE_X": lambda p, v: affine(p, 1, 0, pixels(v, p.size[0]), 0, 1, 0),
    "TRANSLATE_Y": lambda p, v: affine(p, 1, 0, 0, 0, 1, pixels(v, p.size[1])),
}
LEVELS = {"AUTOCONTRAST": [1], "EQUALIZE": [1]}


def levels(name):
    geometric = name.startswith(("ROTATE", "SHEAR", "TRANSLATE"))
    return LEVELS.get(name, [9, -7] if geometric else [2, 7])


def planes(picture):
    array = numpy.asarray(picture)
    return (array.transpose(2, 0, 1) if array.ndim == 3 else array).ravel()


def show(numbers):
    return "{" + ", ".join(str(n) for n in numbers) + "}"


def main():
    random = numpy.random.default_rng(20)
    colour = Image.fromarray(random.integers(10, 240, (4, 5, 3)).astype(numpy.uint8))
    grey = Image.fromarray((random.random((17, 24)) ** 2 * 200).astype(numpy.uint8))
    print("/* SPDX-License-Identifier: Apache-2.0")
    print(" *\n * Made by tests/data/make_operations.py: do not edit.\n */")
    print("/* clang-format off */")
    print(f"static const unsigned char colour[60] = {show(planes(colour))}; /* 3 x 4 x 5 */")
    print(f"static const unsigned char grey[408] = {show(planes(grey))}; /* 17 x 24 */")
    print(f"static const unsigned char grey_equalized[408] = {show(planes(ImageOps.equalize(grey)))};")
    print("static const struct {\n    scant__operation operation;\n    int level;")
    print("    unsigned char out[60];\n} colour_made[] = {")
    for name, run in OPERATIONS.items():
        for level in levels(name):
            print(f"    {{SCANT__{name}, {level}, {show(planes(run(colour, level)))}}},")
    print("};\n/* clang-format on */")


main()
