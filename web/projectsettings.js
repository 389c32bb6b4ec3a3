// SPDX-License-Identifier: Apache-2.0
//
// The project's settings as a form: those of them that matter from day to day, in words.
import { by, make } from './dom.js';

const FIELDS = [
  {
    key: 'batch',
    words: 'Items in a round',
    help: 'A model is trained when so many are labelled.',
    type: 'number',
    min: 1,
    step: 1,
  },
  { key: 'strategy', words: 'Strategy', help: 'How items are picked.', list: [] },
  {
    key: 'bayes',
    words: 'Draws of a model',
    help: 'What bald, batchbald and acs-fw compare.',
    list: ['none', 'dropout', 'variational'],
  },
  {
    key: 'audit_every',
    words: 'Audit: one in',
    help: 'Of so many items one is drawn at random, to measure by; 0 only before the first label.',
    type: 'number',
    min: 0,
    step: 1,
  },
  {
    key: 'overlap',
    words: 'Second opinions',
    help: 'How many people are asked about an item.',
    type: 'number',
    min: 1,
    step: 1,
  },
  {
    key: 'lease_minutes',
    words: 'Minutes to answer',
    help: 'After so long without a sign, another person may have the item.',
    type: 'number',
    min: 0.1,
    step: 'any',
  },
  {
    key: 'auto_train',
    words: 'Train by itself',
    help: 'Whenever a round is labelled.',
    list: ['yes', 'no'],
  },
  {
    key: 'stop_width',
    words: 'Stop: width of the interval',
    help: 'Narrow enough from here on: 0.1 is ten points.',
    type: 'number',
    min: 0,
    step: 'any',
  },
  {
    key: 'stop_gain',
    words: 'Stop: gain by ten labels',
    help: 'Less than this is little.',
    type: 'number',
    min: 0,
    step: 'any',
  },
  {
    key: 'stop_labels',
    words: 'Stop: labels looked back',
    help: 'How many labels the gain is taken over.',
    type: 'number',
    min: 1,
    step: 1,
  },
  {
    key: 'stop_agreement',
    words: 'Stop: models agree on',
    help: 'This part of the items, and more.',
    type: 'number',
    min: 0,
    step: 'any',
  },
];

export class ProjectSettings {
  constructor(app) {
    this.app = app;
    this.form = by('settings-form');
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.save();
    });
    this.form.addEventListener('input', () => {
      this.touched = true;
    });
  }

  /** Fills the form, unless a person is at it. */
  show(settings) {
    if (this.touched) return;
    this.settings = settings;
    by('settings-fields').replaceChildren(
      ...FIELDS.filter(({ key }) => key in settings).map((field) =>
        this.field(field, settings[field.key]),
      ),
    );
  }

  field({ key, words, help, list, ...attributes }, value) {
    const input = make(list ? 'select' : 'input', {
      name: key,
      id: `set-${key}`,
      'aria-describedby': `help-${key}`,
      required: true, // an empty number would be 0
      ...attributes,
    });
    const about = make('small', { id: `help-${key}` }, help);
    if (key === 'strategy') list = this.explain(input, about);
    if (list) {
      const known = list.includes(String(value)) ? list : [String(value), ...list];
      input.append(...known.map((name) => make('option', { value: name }, name)));
    }
    input.value = value;
    input.dispatchEvent(new Event('change'));
    return make(
      'div',
      { class: 'field' },
      make('label', { for: `set-${key}` }, words),
      input,
      about,
    );
  }

  /** Has `about` say what the strategy that is chosen does; returns the names of all. */
  explain(input, about) {
    const { strategies } = this.app.project;
    input.addEventListener('change', () => {
      const chosen = strategies.find(({ name }) => name === input.value);
      if (chosen) about.textContent = `How items are picked: ${chosen.summary}.`;
    });
    return strategies.map(({ name }) => name);
  }

  async save() {
    const changed = {};
    for (const input of this.form.querySelectorAll('input, select'))
      if (input.value !== String(this.settings[input.name]))
        changed[input.name] = input.type === 'number' ? Number(input.value) : input.value;
    if (!Object.keys(changed).length) {
      this.app.notice('Nothing was changed.');
      return;
    }
    try {
      const { settings } = await this.app.api.post('/api/settings', changed);
      this.touched = false;
      this.show(settings);
      this.app.look();
      this.app.notice('Settings are kept.');
    } catch (error) {
      this.app.notice(error.message);
    }
  }
}
