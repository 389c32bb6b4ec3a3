// SPDX-License-Identifier: Apache-2.0
//
// Answers that the server has not confirmed. The browser stores an answer until the
// server confirms that it is on disk. Each has its own key in the browser's storage, so
// that tabs do not overwrite each other's answers. An answer without a reply is sent
// again with the same `once`, also after a reload; the server stores it only once. One
// tab sends at a time.
//
// The server may have stored an answer although no reply arrived. To undo such an answer, the
// page sends it again: the reply has its entry, which is then undone.
//
// Events: "state" (saved, saving, offline), "confirmed" {answers, receipts, labels},
// "refused" {answers, message}, "undone" {item, with the lease it has now}.
import { saved } from './storage.js';
import { Refused, SignedOut } from './api.js';

const MOST = 100; // answers in a request
const WAITS = [1000, 2000, 4000, 8000, 15000]; // milliseconds after failure 1, 2, …

/** A random name of 32 hexadecimal digits. */
export function once() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) =>
    b.toString(16).padStart(2, '0'),
  ).join('');
}

let turn = Promise.resolve();

/** Runs f under a lock that all tabs share. Browsers have no such locks over plain HTTP from
 * another computer; the fallback locks within this page only. */
function withLock(name, f) {
  if (navigator.locks) return navigator.locks.request(name, f);
  const mine = turn.then(f);
  turn = mine.catch(() => {});
  return mine;
}

export class Outbox extends EventTarget {
  /** project: the key of the project. */
  constructor(api, project, person) {
    super();
    this.api = api;
    this.page = once(); // so that two tabs do not get the same items
    this.prefix = `scant.answer/${project}/${encodeURIComponent(person)}/`;
    this.failures = 0;
    this.most = MOST;
    this.order = 0;
    this.state = 'saved';
    this.trouble = '';
    window.addEventListener('online', () => this.sendNow());
    window.addEventListener('storage', (event) => {
      if (event.key?.startsWith(this.prefix)) this.emitState(); // sent by another tab
    });
  }

  /** Oldest first: {at, order, answer, tried, undone: the `once` of its undo}. */
  get pending() {
    return saved
      .keys(this.prefix)
      .map((key) => saved.get(key))
      .filter(Boolean)
      .sort((a, b) => a.at - b.at || a.order - b.order);
  }

  keep(entry) {
    saved.set(this.prefix + entry.answer.once, entry);
  }

  /** answers: {item, lease, kind, label?, spent, once}, of one step. */
  add(answers) {
    const at = Date.now();
    for (const answer of answers) this.keep({ at, order: this.order++, answer });
    this.send();
  }

  /** Drops an answer that was never sent; returns false if it was sent. */
  drop(name) {
    const entry = saved.get(this.prefix + name);
    if (!entry || entry.tried) return false;
    saved.drop(this.prefix + name);
    this.emitState();
    return true;
  }

  /** Undoes an answer that is not confirmed, after waiting for the request under way. Returns
   * false if it is confirmed or undone by then. */
  async withdraw(name) {
    const taken = await withLock(this.prefix, () => {
      const entry = saved.get(this.prefix + name);
      if (!entry || entry.undone) return false;
      if (!this.drop(name)) this.keep({ ...entry, undone: once() });
      return true;
    });
    if (taken) this.send();
    return taken;
  }

  /** Sends now, without waiting for the next try. */
  sendNow() {
    clearTimeout(this.timer);
    this.timer = null;
    this.send();
  }

  send() {
    if (this.sending || this.timer) {
      this.emitState();
      return;
    }
    this.sending = withLock(this.prefix, () => this.sendAll()).finally(() => {
      this.sending = null;
      this.emitState();
      // answers that were added in the meantime
      if (!this.timer && !this.stopped && this.pending.length) this.send();
    });
    this.emitState(); // another tab may be sending
  }

  async sendAll() {
    this.stopped = false;
    for (let waiting = this.pending; waiting.length; waiting = this.pending) {
      const entries = this.nextBatch(waiting);
      for (const entry of entries) if (!entry.tried) this.keep({ ...entry, tried: true });
      this.emitState();
      try {
        await this.sendSome(entries);
      } catch (error) {
        if (!this.failed(entries, error)) return;
      }
    }
    this.failures = 0;
  }

  /** The answers of the next request; an undone one is sent alone. */
  nextBatch(waiting) {
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
      const now = saved.get(this.prefix + answer.once);
      if (undone || !now?.undone) saved.drop(this.prefix + answer.once); // else: undone in the meantime
    }
    this.failures = 0;
    this.trouble = '';
    if (!this.pending.length) this.most = MOST;
    if (!undone)
      this.dispatchEvent(new CustomEvent('confirmed', { detail: { answers, ...reply } }));
  }

  async undo(name, entry) {
    const { item } = await this.api.post('/api/undo', { once: name, entry, page: this.page });
    // Later answers to the item use its new lease.
    for (const later of this.pending)
      if (later.answer.item === item.item && !later.tried)
        this.keep({ ...later, answer: { ...later.answer, lease: item.lease } });
    this.dispatchEvent(new CustomEvent('undone', { detail: item }));
  }

  /** Handles an error; returns whether to continue at once. */
  failed(entries, error) {
    if (error instanceof Refused && error.ours && (error.status === 409 || error.status === 422)) {
      this.refused(entries, error.message);
      return true;
    }
    this.trouble = error instanceof Refused ? error.message : '';
    this.stopped = error instanceof SignedOut;
    if (!this.stopped) {
      const wait = WAITS[Math.min(this.failures++, WAITS.length - 1)];
      this.timer = setTimeout(() => this.sendNow(), wait);
    }
    return false;
  }

  /** One invalid answer must not block the others: each is then sent alone, and one that is
   * refused alone is dropped. */
  refused(entries, message) {
    if (entries.length > 1) {
      this.most = 1;
      return;
    }
    const [{ answer, undone }] = entries;
    saved.drop(this.prefix + answer.once);
    if (!undone)
      this.dispatchEvent(new CustomEvent('refused', { detail: { answers: [answer], message } }));
  }

  emitState() {
    const { pending } = this,
      waiting = pending.filter((entry) => !entry.undone).length;
    this.state = pending.length === 0 ? 'saved' : this.failures ? 'offline' : 'saving';
    this.dispatchEvent(
      new CustomEvent('state', { detail: { state: this.state, waiting, trouble: this.trouble } }),
    );
  }
}
