# SPDX-License-Identifier: Apache-2.0
"""Small files that are expensive to read: JSON with millions of values, images with many pixels, rows or scans."""
import lzma
import struct
import zlib

PIECE = 1 << 20


def packed_json(path, begin, item, count, end):
    """Writes begin, count items and end, compressed with xz."""
    with lzma.open(path, "wb", preset=0) as file:
        file.write(begin)
        some = item * 10_000
        for _ in range(count // 10_000):
            file.write(some)
        file.write(end)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def zeros(count):
    """count zero bytes as a zlib stream, without making them: one compressed piece is repeated."""
    press = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = press.compress(bytes(PIECE)) + press.flush(zlib.Z_FULL_FLUSH)
    rest = zlib.compressobj(9, zlib.DEFLATED, -15)
    rest = rest.compress(bytes(count % PIECE)) + rest.flush()
    return b"\x78\x9c" + piece * (count // PIECE) + rest + struct.pack(">HH", count % 65521, 1)


def png(width, height, interlaced=False):
    """A black grey-scale PNG."""
    if not interlaced:
        size = height * (width + 1)
    else:
        size = 0
        for x, y, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
            across, down = -(-(width - x) // dx), -(-(height - y) // dy)
            size += down * (across + 1) if across > 0 and down > 0 else 0
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, interlaced))
            + chunk(b"IDAT", zeros(size)) + chunk(b"IEND", b""))


def segment(marker, data):
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data


def progressive_jpeg(side, scans):
    """A grey progressive JPEG with that many scans, each of which visits every block of 8 x 8 pixels."""
    blocks = (side // 8) ** 2
    dc = segment(0xC4, bytes([0x00, 1] + [0] * 15 + [0x00]))  # one code, 0: a difference of 0 bits
    ac = segment(0xC4, bytes([0x10, 1] + [0] * 15 + [0xE0]))  # one code, 0: a run of 2^14 blocks that end here
    out = (b"\xff\xd8" + segment(0xDB, b"\0" + b"\1" * 64) + segment(0xC2, struct.pack(">BHHB3B", 8, side, side, 1, 1, 0x11, 0))
           + dc + ac + segment(0xDA, bytes([1, 1, 0x00, 0, 0, 0x00])) + bytes(-(-blocks // 8)))
    runs = -(-blocks // (1 << 14))
    scan = segment(0xDA, bytes([1, 1, 0x00, 1, 63, 0x00])) + bytes(-(-runs * 15 // 8))
    return out + scan * scans + b"\xff\xd9"
