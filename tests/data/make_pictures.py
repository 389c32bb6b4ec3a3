#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/data/make_pictures.py FOLDER: small images of every kind, and how PIL reads them.

Writes the images and golden.npy: for each image, in the order of their names, the result of
PIL's exif_transpose and convert("RGB"), then Resize(16) and CenterCrop(14) as torchvision defines
them (uint8, n x 14 x 14 x 3). PNG files are built here byte by byte, to cover every depth, colour
type and interlacing; PIL writes the JPEG files. Needs python3-pil and python3-numpy. The result is
in tests/data/pictures; run this only to add a kind of image.
"""
import os
import struct
import sys
import zlib

import numpy as np
from PIL import Image, ImageOps

SIDE = 14


def scene(width, height, channels, seed, noise=6):
    """A smooth image with an edge and some noise, uint8."""
    rng = np.random.RandomState(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [127 + 90 * np.sin(x / (3.0 + c) + c) * np.cos(y / (5.0 - c / 2) + seed) for c in range(channels)]
    out = np.stack(planes, -1) + 40 * (x > 2 * y)[..., None] + rng.normal(0, noise, (height, width, channels))
    return np.clip(out, 0, 255).astype(np.uint8)


# ---- PNG -------------------------------------------------------------------------------------

def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def pack_rows(samples, depth):
    """samples (h, w, c) of ints as filtered rows (filters none and sub alternate)."""
    out = b""
    for number, row in enumerate(samples):
        flat = row.reshape(-1)
        if depth == 16:
            raw = flat.astype(">u2").tobytes()
        elif depth == 8:
            raw = flat.astype(np.uint8).tobytes()
        else:
            bits = ((flat[:, None] >> np.arange(depth - 1, -1, -1)) & 1).astype(np.uint8)
            raw = np.packbits(bits.reshape(-1)).tobytes()
        step = max(1, row.shape[-1] * depth // 8)
        if number % 2:
            now = np.frombuffer(raw, np.uint8).astype(int)
            before = np.concatenate([np.zeros(step, int), now[:-step]])
            out += b"\1" + ((now - before) % 256).astype(np.uint8).tobytes()
        else:
            out += b"\0" + raw
    return out


def png(samples, depth, colour, interlaced=False, extra=b""):
    height, width = samples.shape[:2]
    data = b""
    if interlaced:
        for x, y, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4),
                             (1, 0, 2, 2), (0, 1, 1, 2)):
            part = samples[y::dy, x::dx]
            if part.size:
                data += pack_rows(part, depth)
    else:
        data = pack_rows(samples, depth)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(data, 9))
            + chunk(b"IEND", b""))


def wide(samples, seed):
    """16-bit samples with the given upper bytes and random lower bytes."""
    return samples.astype(int) * 256 + np.random.RandomState(seed).randint(0, 256, samples.shape)


def exif(orientation, big=False):
    order = ">" if big else "<"
    return ((b"MM" if big else b"II") + struct.pack(order + "HIHHHIHHI", 42, 8, 1, 0x0112, 3, 1, orientation, 0, 0))


def png_files():
    grey, colour = scene(33, 21, 1, 1), scene(29, 37, 3, 2)
    alpha = np.random.RandomState(3).randint(0, 256, (37, 29, 1))
    yield "grey8", png(grey, 8, 0)
    for depth in (1, 2, 4):
        yield f"grey{depth}", png(grey.astype(int) >> (8 - depth), depth, 0)
    yield "grey16", png(wide(grey, 4), 16, 0)
    yield "grey8_transparent", png(grey, 8, 0, extra=chunk(b"tRNS", struct.pack(">H", int(grey[0, 0, 0]))))
    yield "rgb8", png(colour, 8, 2)
    yield "rgb16", png(wide(colour, 5), 16, 2)
    yield "rgb8_interlaced", png(colour, 8, 2, True)
    yield "rgb8_interlaced_tiny", png(colour[:2, :3], 8, 2, True)
    yield "greyalpha8", png(np.concatenate([colour[..., :1], alpha], -1), 8, 4)
    yield "greyalpha16", png(wide(np.concatenate([colour[..., :1], alpha], -1), 6), 16, 4)
    yield "rgba8", png(np.concatenate([colour, alpha], -1), 8, 6)
    yield "rgba16_interlaced", png(wide(np.concatenate([colour, alpha], -1), 7), 16, 6, True)
    for depth in (1, 2, 4, 8):
        many = 1 << depth
        palette = np.random.RandomState(depth).randint(0, 256, 3 * many).astype(np.uint8)
        yield f"palette{depth}", png(grey.astype(int) >> (8 - depth), depth, 3, depth == 4,
                                     chunk(b"PLTE", palette.tobytes())
                                     + (chunk(b"tRNS", bytes([0, 128])) if depth > 2 else b""))
    yield "exif6", png(colour, 8, 2, extra=chunk(b"eXIf", exif(6, True)))
    yield "wide", png(scene(240, 9, 3, 8), 8, 2)
    yield "tall_large", png(scene(130, 400, 1, 9, 0), 8, 0)
    yield "one_pixel", png(colour[:1, :1], 8, 2)


# ---- all -------------------------------------------------------------------------------------

def write_jpegs(folder):
    def save(name, pixels, mode=None, **how):
        image = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels, mode)
        image.save(os.path.join(folder, name + ".jpg"), quality=90, **how)

    colour = scene(45, 38, 3, 11)
    save("baseline", colour)
    save("full_chroma", colour, subsampling=0)
    save("half_chroma", colour, subsampling=1)
    save("progressive", scene(70, 50, 3, 12), progressive=True)
    save("grey", scene(31, 40, 1, 13))
    save("cmyk", scene(30, 26, 4, 14), "CMYK")
    save("large", scene(300, 220, 3, 15, 1))
    for orientation in range(1, 9):
        tag = Image.Exif()
        tag[0x0112] = orientation
        save(f"orientation{orientation}", scene(24, 17, 3, 16), exif=tag)
    os.rename(os.path.join(folder, "grey.jpg"), os.path.join(folder, "grey.JPEG"))


def golden(path):
    image = Image.open(path)
    if path.endswith("grey16.png"):  # PIL would clip to 255; scant keeps the upper byte
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    image = ImageOps.exif_transpose(image).convert("RGB")
    width, height = image.size
    target, shorter = round(SIDE * 256 / 224), min(image.size)
    size = tuple(target if side == shorter else int(target * side / shorter) for side in (width, height))
    image = image.resize(size, Image.Resampling.BILINEAR)
    left, top = (int(round((side - SIDE) / 2.0)) for side in size)
    return np.asarray(image.crop((left, top, left + SIDE, top + SIDE)))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, data in png_files():
        with open(os.path.join(folder, name + ".png"), "wb") as out:
            out.write(data)
    write_jpegs(folder)
    names = sorted(name for name in os.listdir(folder) if not name.endswith(".npy"))
    np.save(os.path.join(folder, "golden.npy"), np.stack([golden(os.path.join(folder, name)) for name in names]))


if __name__ == "__main__":
    main()
