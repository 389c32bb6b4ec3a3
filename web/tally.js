// SPDX-License-Identifier: Apache-2.0
//
// How a person gets on: how many they answered since they opened the tab, and the median time
// an item took them.
import { tab } from './kept.js';
import { median } from './words.js';

const LAST = 100; // answers whose time is looked at

export class Tally {
  constructor(project) {
    this.place = `scant.tally/${project}`;
    const before = tab.get(this.place);
    this.labels = before?.labels ?? 0;
    this.times = before?.times ?? [];
  }

  add(labels, spent) {
    this.labels = Math.max(0, this.labels + labels);
    if (spent > 0) this.times = [...this.times, spent].slice(-LAST);
    tab.set(this.place, { labels: this.labels, times: this.times });
  }

  /** Somebody else begins anew. */
  end() {
    tab.drop(this.place);
  }

  get seconds() {
    const middle = median(this.times);
    return middle === null ? null : middle / 1000;
  }
}

/** Time that passes while the page is looked at. */
export class Watch {
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
