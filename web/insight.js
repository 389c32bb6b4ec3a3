// SPDX-License-Identifier: Apache-2.0
//
// What a person may ask about an item: what the model says of it, and why it is asked about.
// Only when they ask, as it would sway them.
import { bar } from './chart.js';
import { breakable, cap, make } from './dom.js';
import { swatch } from './colours.js';
import { address, crisp } from './picture.js';
import { part, percent } from './words.js';

const SURE = 0.8; // a model that gives a class this much does not waver
const NEW = 0.2; // an item is new where fewer are farther from anything labelled

/** How far an item is from what has a label; newer: the part that is farther. */
function howNew(newer) {
  const farther = `${part(newer)} of the items without a label are farther from anything labelled.`;
  if (newer < NEW) return `The item is new: ${newer > 0 ? 'only ' : ''}${farther}`;
  if (newer > 1 - NEW) return `Much like it has a label: ${farther}`;
  return `It is neither new nor well known: ${farther}`;
}

export class Insight {
  constructor(box, app) {
    this.box = box;
    this.app = app;
    this.asked = null; // what is shown: {what: prediction or why}, another object each time
  }

  close() {
    this.asked = null;
    this.box.hidden = true;
    this.box.replaceChildren();
  }

  /** Shows it, or closes it where it is shown already. */
  async ask(what, item) {
    if (this.asked?.what === what || !item) {
      this.close();
      return;
    }
    const asked = { what };
    this.asked = asked;
    this.box.hidden = false;
    this.box.replaceChildren(make('p', { class: 'soft' }, 'One moment…'));
    let parts;
    try {
      const reply = await this.app.api.get(`/api/items/${item.item}/${what}`);
      parts = what === 'prediction' ? this.prediction(reply) : this.why(reply);
    } catch (error) {
      parts = [make('p', {}, error.message.replace(/\.?$/, '.'))];
    }
    if (this.asked !== asked) return; // closed meanwhile, perhaps with its item
    const title = what === 'prediction' ? 'What the model says' : 'Why this item?';
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
      make('ol', { class: 'guesses' }, ...rows),
      make('p', { class: 'soft' }, `Model ${model}. It may well be wrong: say what you see.`),
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
            ? `The model takes it for ${this.app.nameOf(why.class_1)} (${percent(why.p_1)}).`
            : `The model wavers between ${this.app.nameOf(why.class_1)} (${percent(why.p_1)}) and ${this.app.nameOf(why.class_2)} (${percent(why.p_2)}).`,
        ),
      );
    if (why.surer !== null)
      words.push(make('p', {}, `The model is surer of ${part(why.surer)} of the items.`));
    if (why.newer !== null) words.push(make('p', {}, howNew(why.newer)));
    if (!words.length)
      words.push(
        make(
          'p',
          {},
          why.model === null
            ? 'It was drawn at random, as there is no model yet.'
            : 'The model has not been asked about this item yet.',
        ),
      );
    if (why.neighbours.length) {
      words.push(make('p', {}, 'The nearest that have a label:'));
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
