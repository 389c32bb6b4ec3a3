// SPDX-License-Identifier: Apache-2.0
//
// The prediction for an item, and why it was picked. Shown on request only, because it
// influences the answer.
import { bar } from './chart.js';
import { breakable, cap, make } from './dom.js';
import { swatch } from './colours.js';
import { address, crisp } from './picture.js';
import { part, percent } from './words.js';

const SURE = 0.8; // above this probability one class is named
const NOVEL = 0.2; // an item is novel if its `newer` (see below) is smaller

/** Describes the novelty of an item. newer: the share of unlabelled items that are
 * farther from any labelled item. */
function novelty(newer) {
  const farther = `${part(newer)} of the unlabelled items are farther from any labelled item.`;
  if (newer < NOVEL) return `The item is novel: ${newer > 0 ? 'only ' : ''}${farther}`;
  if (newer > 1 - NOVEL) return `Similar items have a label: ${farther}`;
  return `Its novelty is average: ${farther}`;
}

export class Insight {
  constructor(box, app) {
    this.box = box;
    this.app = app;
    this.asked = null; // {what: "prediction" or "why"}, a new object per request; null: closed
  }

  close() {
    this.asked = null;
    this.box.hidden = true;
    this.box.replaceChildren();
  }

  /** Shows the prediction or the reason; closes the box if it shows that already. */
  async ask(what, item) {
    if (this.asked?.what === what || !item) {
      this.close();
      return;
    }
    const asked = { what };
    this.asked = asked;
    this.box.hidden = false;
    this.box.replaceChildren(make('p', { class: 'soft' }, 'Loading…'));
    let parts;
    try {
      const reply = await this.app.api.get(`/api/items/${item.item}/${what}`);
      parts = what === 'prediction' ? this.prediction(reply) : this.why(reply);
    } catch (error) {
      parts = [make('p', {}, error.message.replace(/\.?$/, '.'))];
    }
    if (this.asked !== asked) return; // closed, or asked again, in the meantime
    const title = what === 'prediction' ? 'Prediction' : 'Why this item?';
    this.box.replaceChildren(
      make(
        'div',
        { class: 'row' },
        make('h2', {}, title),
        make(
          'button',
          {
            type: 'button',
            class: 'quiet',
            onclick: () => this.close(),
            'aria-label': `Close: ${title}`,
          },
          'Close',
          cap('Escape'),
        ),
      ),
      ...parts,
    );
    this.box.scrollIntoView({ block: 'nearest' });
  }

  prediction({ model, classes }) {
    const rows = classes.map(({ label, p }) =>
      make(
        'li',
        {},
        swatch(label),
        make('span', { class: 'name' }, ...breakable(this.app.nameOf(label))),
        bar(p),
        make('b', {}, percent(p)),
      ),
    );
    return [
      make('ol', { class: 'predictions' }, ...rows),
      make('p', { class: 'soft' }, `Model ${model} may be wrong: label what you see.`),
    ];
  }

  why(why) {
    const words = [];
    if (why.class_1 !== null && why.p_1 !== null)
      words.push(
        make(
          'p',
          {},
          why.p_1 > SURE || why.class_2 === null
            ? `The model predicts ${this.app.nameOf(why.class_1)} (${percent(why.p_1)}).`
            : `The model is undecided between ${this.app.nameOf(why.class_1)} (${percent(why.p_1)}) and ${this.app.nameOf(why.class_2)} (${percent(why.p_2)}).`,
        ),
      );
    if (why.surer !== null)
      words.push(make('p', {}, `The model is more certain about ${part(why.surer)} of the items.`));
    if (why.newer !== null) words.push(make('p', {}, novelty(why.newer)));
    if (!words.length)
      words.push(
        make(
          'p',
          {},
          why.model === null
            ? 'Drawn at random: there is no model yet.'
            : 'There is no prediction for this item yet.',
        ),
      );
    if (why.neighbours.length) {
      words.push(make('p', {}, 'Nearest labelled items:'));
      const texts = why.neighbours.every((n) => !n.picture);
      words.push(
        make(
          'ul',
          { class: texts ? 'near rows' : 'near' },
          ...why.neighbours.map((n) => this.neighbour(n)),
        ),
      );
    }
    return words;
  }

  neighbour(n) {
    const shown = n.picture
      ? make('img', {
          src: address(n, 96),
          alt: n.id,
          title: n.id,
          onload: ({ target }) => crisp(target),
        })
      : make('span', { class: 'clip', title: n.id }, n.text ?? n.id);
    const name = n.label === null ? ['no label'] : breakable(this.app.nameOf(n.label)),
      label = make('span', { class: 'name' }, ...name);
    return make('li', {}, ...(n.picture ? [shown, label] : [label, shown]));
  }
}
