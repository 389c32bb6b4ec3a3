// SPDX-License-Identifier: Apache-2.0
//
// A person's progress: labels since the tab was opened, and the median time per item.
import { tab } from './storage.js';
import { median } from './words.js';

const LAST = 100; // answers that the median is taken over

export class Progress {
  constructor(project) {
    this.place = `scant.progress/${project}`;
    const before = tab.get(this.place);
    this.labels = before?.labels ?? 0;
    this.times = before?.times ?? [];
  }

  add(labels, spent) {
    this.labels = Math.max(0, this.labels + labels);
    if (spent > 0) this.times = [...this.times, spent].slice(-LAST);
    tab.set(this.place, { labels: this.labels, times: this.times });
  }

  /** Resets the progress, before another person signs in. */
  reset() {
    tab.drop(this.place);
  }

  get seconds() {
    const middle = median(this.times);
    return middle === null ? null : middle / 1000;
  }
}

/** Measures the time while the page is visible. */
export class Stopwatch {
  constructor() {
    this.restart();
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.sum += performance.now() - this.since;
      else this.since = performance.now();
    });
  }

  restart() {
    this.sum = 0;
    this.since = performance.now();
  }

  get milliseconds() {
    return Math.round(this.sum + (document.hidden ? 0 : performance.now() - this.since));
  }
}
