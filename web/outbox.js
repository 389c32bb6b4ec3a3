// SPDX-License-Identifier: Apache-2.0
//
// Answers on their way. Each is kept by the browser, under a key of its own so that two tabs
// do not overwrite each other's, until the server has confirmed it: it is on the disk then.
// What gets no reply is sent again with the same `once`, which the server stores once,
// however often it comes; also after the page was closed and opened. One tab sends at a time.
//
// An answer that was tried may be stored although no reply came. Where it is taken back it is
// sent once more all the same, which tells its entry, and that is then taken back.
//
// Events: "state" (saved, saving, offline), "confirmed" {answers, receipts, labels},
// "refused" {answers, message}, "undone" {item, with the lease it has now}.
import { kept } from './kept.js';
import { Refused, SignedOut } from './api.js';

const MOST = 100; // answers in a request
const WAITS = [1000, 2000, 4000, 8000, 15000]; // milliseconds, after the first failure and so on

/** A name that nobody else thinks of; 32 hexadecimal digits. */
export function once() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) =>
    b.toString(16).padStart(2, '0'),
  ).join('');
}

let turn = Promise.resolve();

/** Runs f while no other tab runs one of that name; where the browser has no locks, as over
 * plain HTTP from another computer, while no other part of this page does. */
function alone(name, f) {
  if (navigator.locks) return navigator.locks.request(name, f);
  const mine = turn.then(f);
  turn = mine.catch(() => {});
  return mine;
}

export class Outbox extends EventTarget {
  /** project: its key. */
  constructor(api, project, person) {
    super();
    this.api = api;
    this.page = once(); // the server keeps the leases of two tabs apart
    this.prefix = `scant.answer/${project}/${encodeURIComponent(person)}/`;
    this.failures = 0;
    this.most = MOST;
    this.order = 0;
    this.state = 'saved';
    this.trouble = '';
    window.addEventListener('online', () => this.hurry());
    window.addEventListener('storage', (event) => {
      if (event.key?.startsWith(this.prefix)) this.tell(); // another tab has sent it
    });
  }

  /** Oldest first: {at, order, answer, tried, undone: the name (once) of its undo}. */
  get pending() {
    return kept
      .keys(this.prefix)
      .map((key) => kept.get(key))
      .filter(Boolean)
      .sort((a, b) => a.at - b.at || a.order - b.order);
  }

  keep(entry) {
    kept.set(this.prefix + entry.answer.once, entry);
  }

  /** answers: {item, lease, kind, label?, spent, once}; all given at once. */
  add(answers) {
    const at = Date.now();
    for (const answer of answers) this.keep({ at, order: this.order++, answer });
    this.send();
  }

  /** Whether the answer could be dropped, as it was never sent. */
  drop(name) {
    const entry = kept.get(this.prefix + name);
    if (!entry || entry.tried) return false;
    kept.drop(this.prefix + name);
    this.tell();
    return true;
  }

  /** Once nothing is under way: takes back an answer that is not confirmed. Whether it was. */
  async takeBack(name) {
    const taken = await alone(this.prefix, () => {
      const entry = kept.get(this.prefix + name);
      if (!entry || entry.undone) return false;
      if (!this.drop(name)) this.keep({ ...entry, undone: once() });
      return true;
    });
    if (taken) this.send();
    return taken;
  }

  /** Does not wait until the next try is due. */
  hurry() {
    clearTimeout(this.timer);
    this.timer = null;
    this.send();
  }

  send() {
    if (this.sending || this.timer) {
      this.tell();
      return;
    }
    this.sending = alone(this.prefix, () => this.sendAll()).finally(() => {
      this.sending = null;
      this.tell();
      // what came when the last had just been looked for
      if (!this.timer && !this.stopped && this.pending.length) this.send();
    });
    this.tell(); // it may be a while until it is its turn
  }

  async sendAll() {
    this.stopped = false;
    for (let waiting = this.pending; waiting.length; waiting = this.pending) {
      const entries = this.together(waiting);
      for (const entry of entries) if (!entry.tried) this.keep({ ...entry, tried: true });
      this.tell();
      try {
        await this.sendSome(entries);
      } catch (error) {
        if (!this.failed(entries, error)) return;
      }
    }
    this.failures = 0;
  }

  /** Those of the next request; what is taken back goes alone. */
  together(waiting) {
    const taken = waiting.findIndex((entry) => entry.undone);
    if (taken === 0) return waiting.slice(0, 1);
    return waiting.slice(0, taken < 0 ? this.most : Math.min(this.most, taken));
  }

  async sendSome(entries) {
    const answers = entries.map((entry) => entry.answer),
      { undone } = entries[0];
    const reply = await this.api.post('/api/answers', { answers });
    if (undone) await this.undo(undone, reply.receipts[0].entry);
    for (const { answer } of entries) {
      const now = kept.get(this.prefix + answer.once);
      if (undone || !now?.undone) kept.drop(this.prefix + answer.once); // else: taken back meanwhile
    }
    this.failures = 0;
    this.trouble = '';
    if (!this.pending.length) this.most = MOST;
    if (!undone)
      this.dispatchEvent(new CustomEvent('confirmed', { detail: { answers, ...reply } }));
  }

  async undo(name, entry) {
    const { item } = await this.api.post('/api/undo', { once: name, entry, page: this.page });
    // What was said of the item since is said with the lease it has now.
    for (const later of this.pending)
      if (later.answer.item === item.item && !later.tried)
        this.keep({ ...later, answer: { ...later.answer, lease: item.lease } });
    this.dispatchEvent(new CustomEvent('undone', { detail: item }));
  }

  /** Whether to go on at once. */
  failed(entries, error) {
    if (error instanceof Refused && error.ours && (error.status === 409 || error.status === 422)) {
      this.refused(entries, error.message);
      return true;
    }
    this.trouble = error instanceof Refused ? error.message : '';
    this.stopped = error instanceof SignedOut;
    if (!this.stopped) {
      const wait = WAITS[Math.min(this.failures++, WAITS.length - 1)];
      this.timer = setTimeout(() => this.hurry(), wait);
    }
    return false;
  }

  /** One that can never be stored must not keep the others from it: each goes alone, and what
   * is refused alone is given up. */
  refused(entries, message) {
    if (entries.length > 1) {
      this.most = 1;
      return;
    }
    const [{ answer, undone }] = entries;
    kept.drop(this.prefix + answer.once);
    if (!undone)
      this.dispatchEvent(new CustomEvent('refused', { detail: { answers: [answer], message } }));
  }

  tell() {
    const { pending } = this,
      waiting = pending.filter((entry) => !entry.undone).length;
    this.state = pending.length === 0 ? 'saved' : this.failures ? 'offline' : 'saving';
    this.dispatchEvent(
      new CustomEvent('state', { detail: { state: this.state, waiting, trouble: this.trouble } }),
    );
  }
}
