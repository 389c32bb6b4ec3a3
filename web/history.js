// SPDX-License-Identifier: Apache-2.0
//
// A person's own answers, to go back through: those given since the page was opened, then the
// earlier ones as the server has them. Each item once, with the last that was said of it.

const PAGE = 20;

export class History {
  constructor(api) {
    this.api = api;
    this.records = []; // newest first: {item, id, text, picture, kind, label, lease, once, entry}
    this.steps = []; // newest first: names (once) of the answers that were given in one go
    this.ended = false;
  }

  /** records were answered in one go. */
  add(records) {
    const items = new Set(records.map((record) => record.item));
    this.records = [
      ...[...records].reverse(),
      ...this.records.filter((record) => !items.has(record.item)),
    ];
    this.steps.unshift(records.map((record) => record.once));
  }

  /** Another answer to what was answered before; it keeps its place. */
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

  /** Those answered in one go last, oldest first, that were not changed or taken back since. */
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

  /** It was taken back. */
  forget(item) {
    this.records = this.records.filter((record) => record.item !== item);
  }

  /** They were never stored. */
  refused(answers) {
    const names = new Set(answers.map((answer) => answer.once));
    this.records = this.records.filter((record) => !names.has(record.once));
    this.steps = this.steps
      .map((step) => step.filter((name) => !names.has(name)))
      .filter((step) => step.length);
  }

  /** The nth last, from 0; null: there are no more. */
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
