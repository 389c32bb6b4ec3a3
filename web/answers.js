// SPDX-License-Identifier: Apache-2.0
//
// Answering items: an answer goes to the outbox and the next items appear. Answers can be
// changed and undone, whether they were sent or not. Undo withdraws the last answer of this
// page, which may not be the person's last on the server.
//
// Event: "notice" {words}.
import { once } from './outbox.js';
import { Refused, SignedOut, Unreachable } from './api.js';

const NOTHING = { error: 'There is nothing to undo.' };

export class Answers extends EventTarget {
  constructor(api, outbox, queue, history, progress) {
    super();
    Object.assign(this, { api, outbox, queue, history, progress });
    outbox.addEventListener('confirmed', ({ detail }) =>
      history.confirm(detail.answers, detail.receipts),
    );
    outbox.addEventListener('refused', ({ detail }) => this.refused(detail));
  }

  notice(words) {
    this.dispatchEvent(new CustomEvent('notice', { detail: words }));
  }

  /** Gives all items the same answer; spent: milliseconds for all of them. */
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
    this.outbox.add(records.map(forServer));
    this.progress.add(kind === 'label' ? items.length : 0, each);
    for (const item of items) this.queue.done(item.item);
    this.queue.changed();
  }

  /** Replaces an earlier answer. */
  change(record, kind, label, spent) {
    const unsent = record.once !== null && this.outbox.drop(record.once);
    this.progress.add((kind === 'label') - (record.kind === 'label'), 0);
    this.history.replace(record, {
      kind,
      label,
      spent,
      once: once(),
      entry: null,
      undo: null,
      lease: unsent ? record.lease : null,
    });
    this.outbox.add([forServer(record)]);
  }

  refused({ answers, message }) {
    this.history.refused(answers);
    this.progress.add(-answers.filter((answer) => answer.kind === 'label').length, 0);
    this.notice(
      answers.length === 1
        ? `An answer was not stored: ${message}`
        : `${answers.length} answers were not stored: ${message}`,
    );
  }

  /** Undoes an answer, or by default the last step, which may have answered several items. The
   * items are shown again, except those leased to somebody else now. No answer is accepted
   * meanwhile. Returns whether anything was undone. */
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
          ? 'Not connected: stored answers cannot be undone now.'
          : error.message,
      );
    } finally {
      this.undoing = false;
    }
    this.showAgain(items);
    return items.length > 0;
  }

  showAgain(items) {
    const ours = items.filter((item) => item.lease !== null),
      lost = items.length - ours.length;
    for (const item of ours) this.queue.restore(item);
    const words = items.length === 1 ? 'Undone.' : `${items.length} answers undone.`;
    if (lost)
      this.notice(
        `${words} ${items.length === 1 ? 'The item is' : `${lost} of the items are`} leased to somebody else now.`,
      );
    else if (items.length) this.notice(words);
  }

  /** The last answers of this page; else the last unsent one of an earlier page; else the last
   * one on the server. */
  async last() {
    const step = this.history.lastStep();
    if (step.length) return step;
    const unsent = this.outbox.pending.filter((entry) => !entry.undone).at(-1)?.answer;
    if (unsent)
      return [{ ...(await this.api.get(`/api/items/${unsent.item}`)), ...unsent, entry: null }];
    const stored = await this.history.at(0);
    if (!stored) throw new Refused(409, NOTHING);
    return [stored];
  }

  async undoOne(record) {
    const withdrawn = record.once !== null && (await this.outbox.withdraw(record.once));
    const { id, text, picture, lease } = record;
    // An answer that replaced a sent one has no lease: the sent one is undone, too.
    const item =
      withdrawn && lease !== null
        ? { item: record.item, id, text, picture, lease }
        : await this.undoStored(record);
    this.undone(record.item, record.kind);
    return item;
  }

  async undoStored(record) {
    try {
      const entry = record.entry ?? (await this.api.get(`/api/items/${record.item}`)).mine?.entry;
      if (!entry) throw new Refused(409, NOTHING);
      record.undo ??= once(); // the same for every retry
      const body = { once: record.undo, entry, page: this.outbox.page };
      const reply = await this.api.post('/api/undo', body).catch((error) => {
        if (error instanceof Unreachable) return this.api.post('/api/undo', body); // it may have arrived
        throw error;
      });
      return reply.item;
    } catch (error) {
      if (error instanceof Refused && error.status === 409) this.history.forget(record.item); // not a current answer
      throw error;
    }
  }

  undone(item, kind) {
    this.history.forget(item);
    if (kind === 'label') this.progress.add(-1, 0);
  }
}

/** An answer in the format of /api/answers. */
function forServer({ item, lease, kind, label, spent, once: name }) {
  return { item, lease, kind, ...(kind === 'label' ? { label } : {}), spent, once: name };
}
