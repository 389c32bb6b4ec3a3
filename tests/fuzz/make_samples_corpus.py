#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/fuzz/make_samples_corpus.py: writes stored inputs of the fuzz targets that read samples.

They are in tests/fuzz/corpus; run this only to add a kind of input. Needs python3-pil and
python3-numpy.
"""
import gzip
import io
import lzma
import os
import struct
import sys

import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "data"))
import make_pictures as pictures  # noqa: E402  (writes PNG)


def put(target, name, data):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as out:
        out.write(data)


def idx(code, shape, data):
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, code, len(shape), *shape) + data


def put_compressed(target, name, data):
    put(target, name + ".gz", gzip.compress(data, mtime=0))
    put(target, name + ".xz", lzma.compress(data, preset=0))


def jpeg(pixels, mode=None, **how):
    out = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels, mode).save(
        out, "JPEG", quality=50, optimize=True, **how)
    return out.getvalue()


def main():
    images = idx(8, (2, 2, 3), bytes(range(12)))
    put("data_idx", "images", images)
    put_compressed("data_idx", "images", images)
    put("data_idx", "labels", idx(8, (2,), b"\3\1"))
    put("data_idx", "labels_int", idx(12, (2,), struct.pack(">ii", 4, 0)))
    put("data_idx", "floats", idx(13, (1, 2), struct.pack(">ff", 1.5, -2)))
    put("data_idx", "colour", idx(8, (1, 1, 2, 3), bytes(6)))

    ten = bytes([3]) + bytes(3072) + bytes([9]) + bytes([7]) * 3072
    hundred = bytes([19, 99]) + bytes(3072)
    put_compressed("data_records", "ten", ten)
    put_compressed("data_records", "hundred", hundred)
    put("data_records", "plain", ten[:3073])

    put("data_csv", "plain.csv", b"1,2,0\n3,4,1\n")
    put("data_csv", "header.csv", b"x,label,z\r\n1,cat,-2.5e3\r\n\r\n3,\"a \"\"dog\"\"\",4")
    put("data_csv", "bom.csv", b"\xef\xbb\xbfa,y\n1,-1\n2,+1\n")
    put("data_csv", "lines.csv", b"\"1\",\"a\nb\"\n")
    put("data_csv", "missing.csv", b"1,,0\nnan,1,2\n")

    grey, colour = pictures.scene(9, 5, 1, 1), pictures.scene(5, 7, 3, 2)
    put("data_pictures", "grey1.png", pictures.png(grey.astype(int) >> 7, 1, 0))
    put("data_pictures", "rgb16.png", pictures.png(pictures.wide(colour, 3), 16, 2, True))
    put("data_pictures", "palette.png", pictures.png(grey.astype(int) >> 6, 2, 3, extra=pictures.chunk(
        b"PLTE", bytes(range(12))) + pictures.chunk(b"tRNS", b"\0\x80")))
    put("data_pictures", "exif.png", pictures.png(colour, 8, 2, extra=pictures.chunk(b"eXIf", pictures.exif(6, True))))
    put("data_pictures", "baseline.jpg", jpeg(colour))
    put("data_pictures", "progressive.jpg", jpeg(colour, progressive=True))
    put("data_pictures", "grey.jpg", jpeg(grey))
    put("data_pictures", "cmyk.jpg", jpeg(np.concatenate([colour, colour[..., :1]], -1), "CMYK"))
    tag = Image.Exif()
    tag[0x0112] = 5
    put("data_pictures", "turned.jpg", jpeg(colour, exif=tag))


if __name__ == "__main__":
    main()
