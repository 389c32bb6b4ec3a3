// SPDX-License-Identifier: Apache-2.0
//
// The items leased to this person: the one shown, and a few more whose images are preloaded.
// Leases are renewed every minute while the person is active, and released when the page is
// left, so that others get the items.
//
// Events: "change" (the item to show may have changed), "left" (the rest of the round).
import { SignedOut } from './api.js';
import { address } from './picture.js';

const PRELOADED = 3;
const MOST = 50; // items per request
const RENEW = 60000; // milliseconds; a third of a lease if that is shorter
const PRESENT = 2; // a person counts as away after this many lease times without input
const ACTIVITY = ['keydown', 'pointerdown', 'pointermove', 'wheel', 'touchstart'];
const ASK_AGAIN = 10000; // milliseconds, when there was no item

export class Queue extends EventTarget {
  /** lease: milliseconds */
  constructor(api, outbox, lease) {
    super();
    this.lease = lease;
    this.seen = Date.now();
    this.away = false;
    this.api = api;
    this.outbox = outbox;
    this.items = [];
    this.held = new Map(); // item -> lease, of items shown in the grid
    this.answered = new Set();
    this.left = null;
    this.state = 'asking'; // asking, some, empty, failed
    this.trouble = '';
    outbox.addEventListener('undone', ({ detail }) => {
      for (const item of this.items) if (item.item === detail.item) item.lease = detail.lease;
    });
    setInterval(() => this.renew(), Math.min(RENEW, lease / 3));
    for (const sign of ACTIVITY)
      window.addEventListener(sign, () => this.active(), { capture: true, passive: true });
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.active();
    });
    window.addEventListener('pagehide', () => this.leave());
    window.addEventListener('pageshow', (event) => {
      if (event.persisted) this.start();
    });
  }

  /** Notes that the person is active. */
  active() {
    this.seen = Date.now();
    if (!this.away || document.hidden) return;
    this.away = false;
    this.renew();
    this.refill();
  }

  /** Whether the person is active, so that leases are kept. */
  present() {
    if (document.hidden || Date.now() - this.seen > PRESENT * this.lease) this.away = true;
    return !this.away;
  }

  get front() {
    return this.items[0] ?? null;
  }

  start() {
    this.items = [];
    this.held.clear();
    this.refill();
  }

  /** Removes an answered item. */
  done(item) {
    this.items = this.items.filter((other) => other.item !== item);
    this.held.delete(item);
    this.answered.add(item);
    this.refill();
  }

  /** Shows an item next, after its answer was undone. */
  restore(item) {
    this.answered.delete(item.item);
    this.items = [item, ...this.items.filter((other) => other.item !== item.item)];
    this.preload(item);
    this.state = 'some';
    this.changed();
  }

  /** Shows the current item later. */
  postpone() {
    if (this.items.length > 1) this.items.push(this.items.shift());
    this.changed();
  }

  /** Adds items that the grid shows besides the queue. */
  hold(items) {
    for (const item of items)
      if (!this.items.some((other) => other.item === item.item))
        this.held.set(item.item, item.lease);
  }

  /** Releases items of the grid that were not answered. */
  async release(items) {
    const leases = items.filter((item) => this.held.delete(item.item)).map((item) => item.lease);
    if (leases.length) await this.api.post('/api/release', { leases }).catch(() => {}); // they expire anyway
  }

  async refill() {
    const missing = PRELOADED + 1 - this.items.length;
    if (this.busy || missing <= 0 || !this.present()) return;
    this.busy = true;
    clearTimeout(this.timer);
    // The server counts our open leases, including items whose answers are still on their way.
    const waiting = this.outbox.pending.map((entry) => entry.answer.item);
    this.answered = new Set(waiting);
    try {
      const reply = await this.api.post('/api/next', {
        count: Math.min(MOST, this.items.length + this.held.size + waiting.length + missing),
        page: this.outbox.page,
      });
      this.take(reply, new Set(waiting));
    } catch (error) {
      this.trouble = error.message;
      if (!this.items.length) this.state = 'failed';
      if (!(error instanceof SignedOut))
        this.timer = setTimeout(() => this.refill(), ASK_AGAIN / 4);
    } finally {
      this.busy = false;
    }
    this.changed();
  }

  /** waiting: items with answers that the server had not received. */
  take(reply, waiting) {
    const here = new Set([
      ...this.items.map((item) => item.item),
      ...this.held.keys(),
      ...this.answered,
    ]);
    const fresh = reply.items.filter((item) => !here.has(item.item));
    fresh.forEach((item) => this.preload(item));
    this.items.push(...fresh);
    this.left = reply.left ?? null;
    this.state = this.items.length ? 'some' : 'empty';
    if (this.items.length <= PRELOADED) {
      const outrun = reply.items.some(
        (item) => this.answered.has(item.item) && !waiting.has(item.item),
      );
      this.timer = setTimeout(() => this.refill(), fresh.length || outrun ? 0 : ASK_AGAIN);
    }
    this.dispatchEvent(new Event('left'));
  }

  preload(item) {
    if (!item.picture) return;
    item.image = new Image();
    item.image.src = address(item, 1024);
  }

  async renew() {
    if (!this.present()) return;
    const leases = [...this.items.map((item) => item.lease), ...this.held.values()];
    if (!leases.length) return;
    const reply = await this.api.post('/api/renew', { leases }).catch(() => null);
    if (!reply || reply.kept >= leases.length) return;
    // Some leases expired while the person was away. The item shown stays, so that no key is
    // pressed for another one; the others are requested again.
    this.items.splice(1);
    this.refill();
  }

  async leave() {
    const leases = [...this.items.map((item) => item.lease), ...this.held.values()];
    if (leases.length) await this.api.sendOnExit('/api/release', { leases });
  }

  changed() {
    this.dispatchEvent(new Event('change'));
  }
}
