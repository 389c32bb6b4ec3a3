// SPDX-License-Identifier: Apache-2.0
//
// Answering: what a person says of items goes to the outbox at once, and the next items come
// up; it can be changed, and taken back whether it was sent or not: that very answer, which
// need not be the last that the server has of the person.
//
// Event: "notice" {words}.
import { once } from './outbox.js';
import { Refused, SignedOut, Unreachable } from './api.js';

const NOTHING = { error: 'There is nothing to take back.' };

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
    this.tally.add((kind === 'label') - (record.kind === 'label'), 0);
    this.history.replace(record, {
      kind,
      label,
      spent,
      once: once(),
      entry: null,
      undo: null,
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

  /** Takes back an answer, or where none is given what was said last, all of it where it was
   * said of several items. They come up again, but those that are somebody else's now. Nothing
   * is to be answered meanwhile. Whether anything was taken back. */
  async undo(record = null) {
    if (this.undoing) return false;
    this.undoing = true;
    const items = [];
    try {
      const records = record ? [record] : await this.last();
      for (const one of records.reverse()) items.push(await this.undoOne(one));
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Unreachable || error instanceof SignedOut))
        throw error;
      this.notice(
        error instanceof Unreachable
          ? 'Not connected: what is stored cannot be taken back now.'
          : error.message,
      );
    } finally {
      this.undoing = false;
    }
    this.comeBack(items);
    return items.length > 0;
  }

  comeBack(items) {
    const ours = items.filter((item) => item.lease !== null),
      lost = items.length - ours.length;
    for (const item of ours) this.queue.restore(item);
    const words = items.length === 1 ? 'Taken back.' : `${items.length} answers taken back.`;
    if (lost)
      this.notice(
        `${words} ${items.length === 1 ? 'That item is' : `${lost} of the items are`} not yours to label any more.`,
      );
    else if (items.length) this.notice(words);
  }

  /** What was said last: on this page, else on an earlier one and not yet sent, else stored. */
  async last() {
    const step = this.history.lastStep();
    if (step.length) return step;
    const kept = this.outbox.pending.filter((entry) => !entry.undone).at(-1)?.answer;
    if (kept) return [{ ...(await this.api.get(`/api/items/${kept.item}`)), ...kept, entry: null }];
    const stored = await this.history.at(0);
    if (!stored) throw new Refused(409, NOTHING);
    return [stored];
  }

  async undoOne(record) {
    const unsure = record.once !== null && (await this.outbox.takeBack(record.once));
    const { id, text, picture, lease } = record;
    // A change has no lease: what it was to replace is taken back with it.
    const item =
      unsure && lease !== null
        ? { item: record.item, id, text, picture, lease }
        : await this.undoStored(record);
    this.taken(record.item, record.kind);
    return item;
  }

  async undoStored(record) {
    try {
      const entry = record.entry ?? (await this.api.get(`/api/items/${record.item}`)).mine?.entry;
      if (!entry) throw new Refused(409, NOTHING);
      record.undo ??= once(); // the same when it is tried again
      const body = { once: record.undo, entry, page: this.outbox.page };
      const reply = await this.api.post('/api/undo', body).catch((error) => {
        if (error instanceof Unreachable) return this.api.post('/api/undo', body); // it may have been heard
        throw error;
      });
      return reply.item;
    } catch (error) {
      if (error instanceof Refused && error.status === 409) this.history.forget(record.item); // it does not stand
      throw error;
    }
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
