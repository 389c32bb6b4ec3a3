// SPDX-License-Identifier: Apache-2.0
//
// A person's answers, newest first: those of this page, then earlier ones from the server. Each
// item appears once, with its last answer.

const PAGE = 20;

export class History {
  constructor(api) {
    this.api = api;
    this.records = []; // newest first: {item, id, text, picture, kind, label, lease, once, entry}
    this.steps = []; // newest first: the `once` of answers given together
    this.ended = false;
  }

  /** Adds answers that were given together. */
  add(records) {
    const items = new Set(records.map((record) => record.item));
    this.records = [
      ...[...records].reverse(),
      ...this.records.filter((record) => !items.has(record.item)),
    ];
    this.steps.unshift(records.map((record) => record.once));
  }

  /** Changes an answer; it keeps its place. */
  replace(record, change) {
    Object.assign(record, change);
    this.steps.unshift([record.once]);
  }

  confirm(answers, receipts) {
    answers.forEach((answer, i) => {
      const record = this.records.find((other) => other.once === answer.once);
      if (record) record.entry = receipts[i].entry;
    });
  }

  /** The last answers given together, oldest first, without changed and undone ones. */
  lastStep() {
    while (this.steps.length) {
      const records = this.steps[0]
        .map((name) => this.records.find((record) => record.once === name))
        .filter(Boolean);
      if (records.length) return records;
      this.steps.shift();
    }
    return [];
  }

  /** Removes an undone answer. */
  forget(item) {
    this.records = this.records.filter((record) => record.item !== item);
  }

  /** Removes answers that the server refused. */
  refused(answers) {
    const names = new Set(answers.map((answer) => answer.once));
    this.records = this.records.filter((record) => !names.has(record.once));
    this.steps = this.steps
      .map((step) => step.filter((name) => !names.has(name)))
      .filter((step) => step.length);
  }

  /** The nth last answer, from 0; null: there are no more. */
  async at(n) {
    while (n >= this.records.length && !this.ended) await this.more();
    return this.records[n] ?? null;
  }

  async more() {
    const before =
      this.oldest ?? Math.min(...this.records.map((record) => record.entry ?? Infinity));
    const range = Number.isFinite(before) ? `&before=${before}` : '';
    const { entries } = await this.api.get(`/api/mine?count=${PAGE}${range}`);
    if (entries.length) this.oldest = entries.at(-1).entry;
    this.ended = entries.length < PAGE;
    const known = new Set(this.records.map((record) => record.item));
    for (const entry of entries)
      if (entry.stands && entry.kind !== 'undo' && !known.has(entry.item))
        this.records.push({ ...entry, lease: null, once: null });
  }
}
