# SPDX-License-Identifier: Apache-2.0
"""What may be on the disk after a power cut, computed from a record of faults.c.

Two kinds of file systems. Both keep what was synced, and of everything else any part: bytes since a file's
last fsync are lost, kept or torn at sectors of 512 bytes, each write by itself.

- `ordered`, like ext4: creating, renaming and removing files survives in the order of the calls, up to any
  call after the last fsync of anything.
- `loose`, all that POSIX promises: a name survives for certain only after an fsync of its folder. Of the
  other calls any subset survives.
"""
import os
import re
import struct

RECORD = struct.Struct("=c7xQQQII")
SECTOR = 512
KINDS = ("ordered", "loose")
ENTRY = re.compile(rb'"entry":(\d+)(,"was")?')


class Record:
    def __init__(self, data, at):
        kind, self.inode, self.offset, self.size, n, m = RECORD.unpack_from(data, at)
        at += RECORD.size
        self.kind = kind.decode()
        self.path, self.other = data[at:at + n].decode(), data[at + n:at + n + m].decode()
        at += n + m
        self.data = data[at:at + self.size] if self.kind in "wo" else b""
        self.end = at + len(self.data)


def read_records(path):
    with open(path, "rb") as file:
        data = file.read()
    records, at = [], 0
    while at < len(data):
        records.append(Record(data, at))
        at = records[-1].end
    return records


class File:
    """Its durable bytes, and the writes and truncations since its last fsync."""

    def __init__(self, data=b""):
        self.durable, self.changes = data, []

    @staticmethod
    def apply(data, change, keep):
        """Applies (offset, bytes), or (size, None): truncation. keep(n) lists the sectors that survive."""
        offset, new = change
        if new is None:
            return data[:offset].ljust(offset, b"\0")
        out = bytearray(data)
        for start in keep(len(new)):
            piece = new[start:start + SECTOR]
            if len(out) < offset + start:
                out.extend(bytes(offset + start - len(out)))
            out[offset + start:offset + start + len(piece)] = piece
        return bytes(out)

    def sync(self):
        for change in self.changes:
            self.durable = self.apply(self.durable, change, lambda n: range(0, n, SECTOR))
        self.changes = []

    def after_cut(self, draw):
        data, fate = self.durable, draw.choice(("all", "none", "first", "any"))
        first = draw.randrange(len(self.changes) + 1)
        for i, change in enumerate(self.changes):
            if fate == "none" or fate == "first" and i > first or fate == "any" and draw.random() < 0.5:
                continue
            torn = fate == "first" and i == first or fate == "any" and draw.random() < 0.2
            if torn and change[1] is None:
                continue
            data = self.apply(data, change, lambda n, torn=torn: [s for s in range(0, n, SECTOR)
                                                                  if not torn or draw.random() < 0.5])
        return data


class Disk:
    """A folder before the recorded program ran; do() applies a record."""

    def __init__(self, root):
        self.root, self.top = root, {}     # a folder is {name: File or folder}
        self.inodes = {}
        self.calls = []                    # changes of names: [[(folder, name, value or None), ...], durable]
        self.load(root, self.top)

    def load(self, path, folder):
        for entry in os.scandir(path):
            if entry.is_dir():
                folder[entry.name] = {}
                self.load(entry.path, folder[entry.name])
            else:
                with open(entry.path, "rb") as file:
                    folder[entry.name] = self.inodes[entry.inode()] = File(file.read())
        self.before = self.copy(self.top)

    def copy(self, folder):
        """Its names now: [(name, file or folder, the folder's copy)]."""
        return [(name, value, self.copy(value) if isinstance(value, dict) else None)
                for name, value in folder.items()]

    def find(self, path):
        """The folder that holds a path, and the name in it."""
        parts = [part for part in os.path.relpath(path, self.root).split("/") if part != "."]
        folder = self.top
        for part in parts[:-1]:
            folder = folder[part]
        return folder, parts[-1] if parts else None

    def rename(self, *changes):
        for folder, name, value in changes:
            if value is None:
                folder.pop(name, None)
            else:
                folder[name] = value
        self.calls.append([changes, False])

    def do(self, r):
        if r.kind in "wt" and not r.path:
            if r.inode in self.inodes:
                self.inodes[r.inode].changes.append((r.offset, r.data if r.kind == "w" else None))
        elif r.kind == "t":
            self.inodes[r.inode].changes.append((0, None))
        elif r.kind == "s":
            self.sync_file(r.inode)
        elif r.kind == "d":
            folder, name = self.find(r.path)
            self.sync_folder(folder[name] if name else folder)
        elif r.kind == "c":
            self.inodes[r.inode] = File()
            self.rename((*self.find(r.path), self.inodes[r.inode]))
        elif r.kind == "m":
            self.rename((*self.find(r.path), {}))
        elif r.kind == "u":
            self.rename((*self.find(r.path), None))
        elif r.kind == "r":
            folder, name = self.find(r.path)
            self.rename((folder, name, None), (*self.find(r.other), folder[name]))

    def sync_file(self, inode):
        if inode in self.inodes:
            self.inodes[inode].sync()
        self.calls.append([(), True])

    def sync_folder(self, folder):
        for call in self.calls:
            call[1] = call[1] or any(changed is folder for changed, _, _ in call[0])
        self.calls.append([(), True])

    def surviving(self, kind, draw):
        """The calls that survive."""
        if kind == "ordered":
            last = max((i for i, (_, durable) in enumerate(self.calls) if durable), default=-1)
            return self.calls[:draw.randint(last + 1, len(self.calls))]
        some = draw.choice((0, 0.5, 0.9))
        return [call for call in self.calls if call[1] or draw.random() < some]

    def after_cut(self, kind, draw, target):
        """Writes what is left to the folder target, which must not exist."""
        left = {}  # id of a folder: its names

        def restore(folder, names):
            left[id(folder)] = {name: value for name, value, _ in names}
            for _, value, inside in names:
                if inside is not None:
                    restore(value, inside)

        def write(folder, path):
            os.mkdir(path)
            for name, value in left.get(id(folder), {}).items():
                if isinstance(value, dict):
                    write(value, os.path.join(path, name))
                else:
                    with open(os.path.join(path, name), "wb") as file:
                        file.write(value.after_cut(draw))

        restore(self.top, self.before)
        for changes, _ in self.surviving(kind, draw):
            for folder, name, value in changes:
                names = left.setdefault(id(folder), {})
                if value is None:
                    names.pop(name, None)
                else:
                    names[name] = value
        write(self.top, target)


def told(records):
    """Numbers of the history's entries whose storage, or undo, the program has confirmed to anybody."""
    found = [match for r in records if r.kind == "o" for match in ENTRY.findall(r.data)]
    return {int(n) for n, was in found if not was}, {int(n) for n, was in found if was}
