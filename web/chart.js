// SPDX-License-Identifier: Apache-2.0
//
// The learning curve as SVG, and bars. Drawn for the available width, so that text has the same
// size on every screen.
import { draw, make } from './dom.js';
import { count, percent } from './words.js';

/** Round numbers from low to high, at most `most` + 1 of them. */
export function ticks(low, high, most) {
  const rough = (high - low) / most || 1,
    power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= rough) ?? 10);
  const list = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-9; t += step)
    list.push(Number(t.toPrecision(12)));
  return list;
}

const MARGIN = { top: 16, right: 56, bottom: 44, left: 52 };

/** Accuracy on audited items over labels, with the 95 % band. models: oldest first, all with an
 * accuracy. */
export function learningCurve(models, width, height = 280) {
  const left = MARGIN.left,
    right = width - MARGIN.right,
    top = MARGIN.top,
    bottom = height - MARGIN.bottom;
  const most = Math.ceil(1.08 * Math.max(10, ...models.map((m) => m.labels))),
    least = Math.min(...models.map((m) => m.labels));
  const from = models.length > 1 && least > most / 3 ? Math.floor(least * 0.9) : 0;
  const floor = Math.max(0, Math.floor(Math.min(...models.map((m) => m.low)) * 10 - 0.01) / 10);
  const x = (labels) => left + ((right - left) * (labels - from)) / (most - from);
  const y = (accuracy) => bottom - ((bottom - top) * (accuracy - floor)) / (1 - floor);
  const last = models.at(-1);
  const svg = draw('svg', {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    class: 'curve',
    'aria-label': `Accuracy over labels: ${percent(last.accuracy)} at ${count(last.labels, 'label')}`,
  });
  for (const t of ticks(floor, 1, 5)) {
    svg.append(
      draw('line', { x1: left, x2: right, y1: y(t), y2: y(t), class: 'rule' }),
      draw('text', { x: left - 8, y: y(t) + 4, 'text-anchor': 'end' }, percent(t)),
    );
  }
  for (const t of ticks(from, most, Math.max(2, Math.floor((right - left) / 90)))) {
    svg.append(
      draw('line', { x1: x(t), x2: x(t), y1: bottom, y2: bottom + 5, class: 'axis' }),
      draw('text', { x: x(t), y: bottom + 20, 'text-anchor': 'middle' }, String(t)),
    );
  }
  svg.append(
    draw('line', { x1: left, x2: right, y1: bottom, y2: bottom, class: 'axis' }),
    draw(
      'text',
      { x: (left + right) / 2, y: height - 6, 'text-anchor': 'middle' },
      'labels used for training',
    ),
  );
  const line = (f) => models.map((m) => `${x(m.labels).toFixed(1)},${f(m).toFixed(1)}`);
  if (models.length > 1) {
    svg.append(
      draw('polygon', {
        points: [...line((m) => y(m.high)), ...line((m) => y(m.low)).reverse()].join(' '),
        class: 'band',
      }),
      draw('polyline', { points: line((m) => y(m.accuracy)).join(' '), class: 'line' }),
    );
  }
  for (const m of models) {
    svg.append(
      draw('line', {
        x1: x(m.labels),
        x2: x(m.labels),
        y1: y(m.low),
        y2: y(m.high),
        class: 'whisker',
      }),
    );
    svg.append(
      draw(
        'circle',
        { cx: x(m.labels), cy: y(m.accuracy), r: 4.5, class: 'point' },
        draw(
          'title',
          {},
          `${count(m.labels, 'label')}: accuracy ${percent(m.accuracy, 1)}, between ${percent(m.low, 1)} and ${percent(m.high, 1)} (${count(m.audited, 'audited item')})`,
        ),
      ),
    );
  }
  svg.append(
    draw(
      'text',
      { x: x(last.labels) + 9, y: y(last.accuracy) + 4, class: 'value' },
      percent(last.accuracy),
    ),
  );
  return svg;
}

/** The accuracy and its interval on a bar from 0 to 100 %. */
export function intervalBar({ accuracy, low, high }) {
  const at = (element, from, to) => {
    element.style.left = `${100 * from}%`;
    if (to !== undefined) element.style.width = `${100 * (to - from)}%`;
    return element;
  };
  return make(
    'div',
    {
      class: 'interval',
      role: 'img',
      'aria-label': `Accuracy ${percent(accuracy)}, between ${percent(low)} and ${percent(high)}`,
    },
    make(
      'div',
      { class: 'track' },
      at(make('span', { class: 'range' }), low, high),
      at(make('span', { class: 'mark' }), accuracy),
    ),
    ...[0, 0.25, 0.5, 0.75, 1].map((t) => at(make('span', { class: 'tick' }, percent(t)), t)),
  );
}

/** A bar in a table cell that shows a share. */
export function bar(part, kind = '') {
  const inner = make('span', {});
  inner.style.width = `${100 * Math.min(1, part)}%`;
  return make('span', { class: `bar ${kind}`, 'aria-hidden': 'true' }, inner);
}
