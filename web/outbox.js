// SPDX-License-Identifier: Apache-2.0
//
// Answers on their way. Each is kept by the browser, under a key of its own so that two tabs
// do not overwrite each other's, until the server has confirmed it: it is on the disk then.
// What gets no reply is sent again with the same `once`, which the server stores once,
// however often it comes; also after the page was closed and opened.
//
// Events: "state" (saved, saving, offline), "confirmed" {answers, receipts, labels},
// "refused" {answers, message}.
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

export class Outbox extends EventTarget {
  constructor(api, project, person) {
    super();
    this.api = api;
    this.prefix = `scant.answer/${project}/${person}/`;
    this.flying = null; // the answers of the request that is under way
    this.failures = 0;
    if (!this.pending.length) this.most = MOST;
    this.order = 0;
    this.state = 'saved';
    this.trouble = '';
    window.addEventListener('online', () => this.hurry());
  }

  /** Oldest first. */
  get pending() {
    return kept
      .keys(this.prefix)
      .map((key) => kept.get(key))
      .filter(Boolean)
      .sort((a, b) => a.at - b.at || a.order - b.order);
  }

  /** answers: {item, lease, kind, label?, spent, once}; all given at once. */
  add(answers) {
    const at = Date.now();
    for (const answer of answers)
      kept.set(this.prefix + answer.once, { at, order: this.order++, answer });
    this.send();
  }

  /** Whether the answer could be dropped before it was sent. */
  drop(name) {
    if (this.flying?.some((answer) => answer.once === name)) return false;
    if (!kept.get(this.prefix + name)) return false;
    kept.drop(this.prefix + name);
    this.tell();
    return true;
  }

  /** When nothing is under way. */
  async settled() {
    await this.sending;
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
    this.sending = this.sendAll().finally(() => {
      this.sending = null;
      this.tell();
    });
  }

  async sendAll() {
    for (let waiting = this.pending; waiting.length; waiting = this.pending) {
      this.flying = waiting.slice(0, this.most).map((entry) => entry.answer);
      this.tell();
      try {
        const reply = await this.api.post('/api/answers', { answers: this.flying });
        this.arrived(this.flying, reply);
      } catch (error) {
        if (!this.failed(this.flying, error)) return;
      } finally {
        this.flying = null;
      }
    }
  }

  arrived(answers, reply) {
    for (const answer of answers) kept.drop(this.prefix + answer.once);
    this.failures = 0;
    this.trouble = '';
    if (!this.pending.length) this.most = MOST;
    this.dispatchEvent(new CustomEvent('confirmed', { detail: { answers, ...reply } }));
  }

  /** Whether to go on at once. */
  failed(answers, error) {
    if (error instanceof Refused && !error.passing) {
      // One that can never be stored must not keep the others from it: each goes alone, and
      // what is refused alone is given up.
      if (answers.length > 1) {
        this.most = 1;
        return true;
      }
      kept.drop(this.prefix + answers[0].once);
      this.dispatchEvent(
        new CustomEvent('refused', { detail: { answers, message: error.message } }),
      );
      return true;
    }
    this.trouble = error instanceof Refused ? error.message : '';
    if (!(error instanceof SignedOut)) {
      const wait = WAITS[Math.min(this.failures++, WAITS.length - 1)];
      this.timer = setTimeout(() => this.hurry(), wait);
    }
    return false;
  }

  tell() {
    const waiting = kept.keys(this.prefix).length;
    this.state = waiting === 0 ? 'saved' : this.failures ? 'offline' : 'saving';
    this.dispatchEvent(
      new CustomEvent('state', { detail: { state: this.state, waiting, trouble: this.trouble } }),
    );
  }
}
