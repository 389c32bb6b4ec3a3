// SPDX-License-Identifier: Apache-2.0
//
// A map of the pool in two dimensions, where similar items are close together. Labelled items
// have the colour and shape of their class, others are grey, the last picks have a ring. The
// pointer or the arrow keys show the item of a point.
import { by, make } from './dom.js';
import { colour, onScheme, shape, swatch } from './colours.js';
import { address, crisp } from './picture.js';

const NEAR = 14; // pixels within which the pointer selects a point
const MOST = 3000;
const PAD = 16; // pixels

export class PoolMap {
  constructor(app) {
    this.app = app;
    this.points = []; // {item, x, y, label, picked, predicted}
    this.canvas = by('map');
    this.at = null;
    this.pinned = false;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    onScheme(() => this.draw());
    by('map-by').addEventListener('change', () => this.draw());
    this.canvas.addEventListener('pointermove', (event) => {
      if (!this.pinned) this.point(event);
    });
    this.canvas.addEventListener('click', (event) => {
      this.point(event);
      this.pinned = this.at !== null;
    });
    this.canvas.addEventListener('keydown', (event) => this.key(event));
  }

  async load() {
    const reply = await this.app.api.get(`/api/map?most=${MOST}`).catch((error) => error);
    this.points = (reply.points ?? []).map(([item, x, y, label, picked, predicted]) => ({
      item,
      x,
      y,
      label,
      picked,
      predicted,
    }));
    this.span = { x: range(this.points.map((p) => p.x)), y: range(this.points.map((p) => p.y)) };
    by('map-empty').textContent = this.points.length
      ? ''
      : reply instanceof Error
        ? reply.message
        : 'No map yet: it needs a model.';
    by('map-box').hidden = !this.points.length;
    this.at = this.points.find((p) => p.item === this.at?.item) ?? null;
    this.draw();
    this.legend();
  }

  class(point) {
    return by('map-by').value === 'predicted' ? point.predicted : point.label;
  }

  place(point) {
    const w = this.canvas.clientWidth - 2 * PAD,
      h = this.canvas.clientHeight - 2 * PAD,
      { x, y } = this.span;
    return [PAD + (w * (point.x - x.low)) / x.length, PAD + h * (1 - (point.y - y.low) / y.length)];
  }

  draw() {
    const { canvas } = this,
      ratio = window.devicePixelRatio || 1;
    if (!canvas.clientWidth) return;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    const ink = canvas.getContext('2d'),
      style = getComputedStyle(canvas);
    ink.scale(ratio, ratio);
    const groups = new Map(); // one path per class: fast for thousands of points
    for (const point of this.points) {
      const label = this.class(point);
      if (!groups.has(label)) groups.set(label, new Path2D());
      shape(groups.get(label), Math.max(0, label), ...this.place(point), label < 0 ? 2.2 : 4);
    }
    for (const [label, path] of [...groups].sort((a, b) => a[0] - b[0])) {
      ink.fillStyle = label < 0 ? style.getPropertyValue('--rest') : colour(label);
      ink.fill(path);
    }
    ink.strokeStyle = style.color;
    ink.lineWidth = 1.5;
    for (const point of this.points.filter((p) => p.picked)) this.ring(ink, point, 6.5);
    ink.lineWidth = 3;
    if (this.at) this.ring(ink, this.at, 9);
  }

  ring(ink, point, r) {
    ink.beginPath();
    ink.arc(...this.place(point), r, 0, 2 * Math.PI);
    ink.stroke();
  }

  legend() {
    const { classes } = this.app.project;
    by('map-legend').replaceChildren(
      ...classes.slice(0, 32).map(({ label, name }) => make('li', {}, swatch(label), name)),
    );
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    let best = null,
      least = NEAR ** 2;
    for (const point of this.points) {
      const [x, y] = this.place(point);
      const far = (x - event.clientX + box.left) ** 2 + (y - event.clientY + box.top) ** 2;
      if (far <= least) [best, least] = [point, far];
    }
    this.show(best);
  }

  /** Arrow keys go to the nearest point in that direction. */
  key(event) {
    const sides = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const side = sides[event.key];
    if (!side || !this.points.length) return;
    event.preventDefault();
    const [x0, y0] = this.at
      ? this.place(this.at)
      : [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2];
    let best = null,
      least = Infinity;
    for (const point of this.points) {
      const [x, y] = this.place(point),
        along = (x - x0) * side[0] + (y - y0) * side[1];
      const across = Math.abs((x - x0) * side[1]) + Math.abs((y - y0) * side[0]);
      if (along > 0.5 && along + 2 * across < least) [best, least] = [point, along + 2 * across];
    }
    if (best) this.show(best);
  }

  async show(point) {
    if (point === this.at) return;
    this.at = point;
    this.draw();
    const box = by('map-item');
    if (!point) {
      box.replaceChildren(make('p', { class: 'soft' }, 'Point at or tap the map to see an item.'));
      return;
    }
    const item = await this.app.api.get(`/api/items/${point.item}`).catch(() => null);
    if (this.at !== point || !item) return;
    const name = (label) => this.app.nameOf(label);
    box.replaceChildren(
      item.picture
        ? make('img', { src: address(item, 256), alt: `Item ${item.id}` })
        : make('p', { class: 'clip' }, item.text ?? ''),
      make('p', { class: 'id' }, item.id),
      make(
        'p',
        {},
        item.disputed
          ? 'Disputed: people disagree.'
          : item.label === null
            ? 'No label yet.'
            : `Label: ${name(item.label)}`,
      ),
      point.predicted >= 0
        ? make('p', { class: 'soft' }, `Prediction: ${name(point.predicted)}`)
        : null,
    );
    const image = box.querySelector('img');
    image?.addEventListener('load', () => crisp(image));
  }
}

function range(values) {
  let low = Infinity,
    high = -Infinity;
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return { low, length: high - low || 1 };
}
