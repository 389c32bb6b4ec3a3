// SPDX-License-Identifier: Apache-2.0
//
// Projects and servers for tests of the labelling page: images of clothes (of fashion-mnist if it is
// installed, else drawn), texts with features, `scant serve`.
'use strict';
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');

const SCANT = process.env.SCANT;
const CLOTHES = '/usr/share/datasets/fashion-mnist/t10k-';
const SIDE = 28;

exports.CLASSES = [
  'T-shirt',
  'Trouser',
  'Pullover',
  'Dress',
  'Coat',
  'Sandal',
  'Shirt',
  'Sneaker',
  'Bag',
  'Ankle boot',
];

const scant = (...args) =>
  execFileSync(SCANT, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

// ---- images ----

function crc(bytes) {
  let c = ~0;
  for (const b of bytes) {
    c ^= b;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  }
  return ~c >>> 0;
}

function png(pixels) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]),
      all = Buffer.alloc(body.length + 8);
    all.writeUInt32BE(data.length, 0);
    body.copy(all, 4);
    all.writeUInt32BE(crc(body), body.length + 4);
    return all;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(SIDE, 0);
  head.writeUInt32BE(SIDE, 4);
  head[8] = 8; // bits, grey
  const rows = Buffer.alloc((SIDE + 1) * SIDE);
  for (let y = 0; y < SIDE; y++) pixels.copy(rows, y * (SIDE + 1) + 1, y * SIDE, (y + 1) * SIDE);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('IDAT', zlib.deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

// A bar whose position is the class, with noise that makes every image different.
function drawn(i) {
  const label = i % 10,
    pixels = Buffer.alloc(SIDE * SIDE);
  for (let p = 0; p < pixels.length; p++) {
    const y = Math.floor(p / SIDE),
      on = Math.floor(y / 2.8) === label;
    pixels[p] = (on ? 180 : 20) + (Math.imul(p + 1, (i + 1) * 2654435761) >>> 26);
  }
  return { pixels, label };
}

function clothes(i) {
  clothes.images ??= zlib
    .gunzipSync(fs.readFileSync(CLOTHES + 'images-idx3-ubyte.gz'))
    .subarray(16);
  clothes.labels ??= zlib.gunzipSync(fs.readFileSync(CLOTHES + 'labels-idx1-ubyte.gz')).subarray(8);
  return {
    pixels: clothes.images.subarray(i * SIDE * SIDE, (i + 1) * SIDE * SIDE),
    label: clothes.labels[i],
  };
}

/** Names of all strategies. */
exports.strategies = () => JSON.parse(scant('strategies', '--format', 'json')).map((s) => s.name);

/** A project of n images; returns the labels by id. */
exports.pictures = (dir, n, ...more) => exports.picturesOf(exports.CLASSES, dir, n, ...more);

/** The same with other class names; there may be more than ten. */
exports.picturesOf = (classes, dir, n, ...more) => {
  const folder = dir + '-pictures',
    truth = new Map();
  fs.mkdirSync(folder);
  const real = fs.existsSync(CLOTHES + 'images-idx3-ubyte.gz');
  for (let i = 0; i < n; i++) {
    const { pixels, label } = real ? clothes(i) : drawn(i),
      id = `${String(i).padStart(4, '0')}.png`;
    fs.writeFileSync(path.join(folder, id), png(pixels));
    truth.set(id, label);
  }
  scant('new', dir, '--images', folder, '--classes', classes.join(','), '--quiet', ...more);
  return truth;
};

/** A project of texts, [[id, text]…], with features in two clusters. */
exports.texts = (dir, items, classes, ...more) => {
  const quoted = (s) => '"' + s.replace(/"/g, '""') + '"';
  fs.writeFileSync(
    dir + '.csv',
    'id,row,text\n' + items.map(([id, text], i) => `${quoted(id)},${i},${quoted(text)}\n`).join(''),
  );
  const head = `{'descr': '<f4', 'fortran_order': False, 'shape': (${items.length}, 4), }`;
  const length = Math.ceil((10 + head.length + 1) / 64) * 64 - 10;
  const start = Buffer.concat([
    Buffer.from('\x93NUMPY\x01\x00', 'latin1'),
    Buffer.from([length & 255, length >> 8]),
    Buffer.from(head.padEnd(length - 1) + '\n'),
  ]);
  const values = Buffer.alloc(items.length * 16);
  for (let i = 0; i < items.length * 4; i++)
    values.writeFloatLE(Math.sin(i * 12.9898) + (Math.floor(i / 4) % 2 ? 3 : -3), 4 * i);
  fs.writeFileSync(dir + '.npy', Buffer.concat([start, values]));
  fs.writeFileSync(dir + '.classes', classes.join('\n') + '\n');
  scant(
    'new',
    dir,
    '--features',
    dir + '.npy',
    '--manifest',
    dir + '.csv',
    '--classes-file',
    dir + '.classes',
    '--quiet',
    ...more,
  );
};

/** The labelled items by `scant export`: id -> {label, annotator, …}. */
exports.labels = (dir) => {
  const [head, ...lines] = scant('export', dir, '--format', 'csv', '--quiet').trim().split(/\r?\n/);
  const columns = head.split(',');
  const rows = lines.map((line) =>
    Object.fromEntries(line.split(',').map((cell, i) => [columns[i], cell])),
  );
  return new Map(rows.filter((row) => row.label !== '').map((row) => [row.id, row]));
};

// ---- servers ----

class Server {
  constructor(dir, args) {
    this.dir = dir;
    this.args = args;
    this.port = 0;
  }

  async start() {
    this.process = spawn(SCANT, ['serve', this.dir, '--port', String(this.port), ...this.args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    this.address = await new Promise((resolve, reject) => {
      const hear = (bytes) => {
        said += bytes;
        const found = /http:\/\/[\w.:[\]-]+\//.exec(said);
        if (found) resolve(found[0]);
      };
      this.process.stdout.on('data', hear);
      this.process.stderr.on('data', hear);
      this.process.on('exit', (code) => reject(new Error(`scant serve ended (${code}): ${said}`)));
    });
    this.port = new URL(this.address).port;
    return this;
  }

  /** The default signal ends it without cleanup, like a power cut. */
  async kill(signal = 'SIGKILL') {
    const ended = new Promise((resolve) => this.process.once('close', resolve));
    this.process.kill(signal);
    await ended;
  }
}

exports.serve = (dir, ...args) => new Server(dir, args).start();
