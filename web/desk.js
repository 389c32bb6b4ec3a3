// SPDX-License-Identifier: Apache-2.0
//
// Answering: what a person says of items goes to the outbox at once, and the next items come
// up; it can be changed, and taken back whether it was sent or not.
//
// Event: "notice" {words}.
import { once } from './outbox.js';
import { Refused, SignedOut, Unreachable } from './api.js';

export class Desk extends EventTarget {
  constructor(api, outbox, queue, history, tally) {
    super();
    Object.assign(this, { api, outbox, queue, history, tally });
    outbox.addEventListener('confirmed', ({ detail }) =>
      history.confirm(detail.answers, detail.receipts),
    );
    outbox.addEventListener('refused', ({ detail }) => this.refused(detail));
  }

  notice(words) {
    this.dispatchEvent(new CustomEvent('notice', { detail: words }));
  }

  /** All of these items are that; spent: milliseconds, for all of them. */
  answer(items, kind, label, spent) {
    const each = Math.round(spent / items.length);
    const records = items.map(({ item, id, text, picture, lease }) => ({
      item,
      id,
      text,
      picture,
      lease,
      kind,
      label,
      spent: each,
      once: once(),
      entry: null,
    }));
    this.history.add(records);
    this.outbox.add(records.map(told));
    this.tally.add(kind === 'label' ? items.length : 0, each);
    for (const item of items) this.queue.done(item.item);
    this.queue.changed();
  }

  /** Another answer to an item that was answered before. */
  change(record, kind, label, spent) {
    const unsent = record.once !== null && this.outbox.drop(record.once);
    this.history.replace(record, {
      kind,
      label,
      spent,
      once: once(),
      entry: null,
      lease: unsent ? record.lease : null,
    });
    this.outbox.add([told(record)]);
  }

  refused({ answers, message }) {
    this.history.refused(answers);
    this.tally.add(-answers.filter((answer) => answer.kind === 'label').length, 0);
    this.notice(
      answers.length === 1
        ? `An answer was not stored: ${message}`
        : `${answers.length} answers were not stored: ${message}`,
    );
  }

  /** Takes back what was said last, all of it where it was said of several items. Returns the
   * items, which come up again; none where that was not possible. */
  async undo() {
    if (this.undoing) return [];
    this.undoing = true;
    const items = [];
    try {
      const step = this.history.steps.shift() ?? [null];
      for (let i = 0; i < step.length; i++) items.push(await this.undoOne());
    } catch (error) {
      this.notice(
        error instanceof Unreachable
          ? 'Not connected: what is stored cannot be taken back now.'
          : error.message,
      );
      if (!(error instanceof Refused || error instanceof Unreachable || error instanceof SignedOut))
        throw error;
    } finally {
      this.undoing = false;
    }
    for (const item of items) this.queue.restore(item);
    return items;
  }

  async undoOne() {
    for (;;) {
      const last = this.outbox.pending.at(-1)?.answer;
      if (!last) return this.undoStored();
      if (this.outbox.drop(last.once)) return this.undoUnsent(last);
      await this.outbox.settled();
    }
  }

  async undoUnsent(answer) {
    const record =
      this.history.records.find((other) => other.once === answer.once) ??
      (await this.api.get(`/api/items/${answer.item}`));
    this.taken(answer.item, answer.kind);
    const { item, id, text, picture } = record;
    return { item, id, text, picture, lease: answer.lease };
  }

  async undoStored() {
    const body = { once: once() };
    const reply = await this.api.post('/api/undo', body).catch((error) => {
      if (error instanceof Unreachable) return this.api.post('/api/undo', body); // it may have been heard
      throw error;
    });
    this.taken(reply.item.item, reply.was.kind);
    return reply.item;
  }

  taken(item, kind) {
    this.history.forget(item);
    if (kind === 'label') this.tally.add(-1, 0);
  }
}

/** An answer as the server takes it. */
function told({ item, lease, kind, label, spent, once: name }) {
  return { item, lease, kind, ...(kind === 'label' ? { label } : {}), spent, once: name };
}
