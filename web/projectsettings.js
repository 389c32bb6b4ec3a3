// SPDX-License-Identifier: Apache-2.0
//
// A form for the project's most used settings.
import { by, make } from './dom.js';

const FIELDS = [
  {
    key: 'batch',
    words: 'Items per round',
    help: 'A model is trained after this many labels.',
    type: 'number',
    min: 1,
    step: 1,
  },
  { key: 'strategy', words: 'Strategy', help: 'How items are picked.', list: [] },
  {
    key: 'bayes',
    words: 'Posterior draws',
    help: 'Needed by bald, batchbald and acs-fw.',
    list: ['none', 'dropout', 'variational'],
  },
  {
    key: 'audit_every',
    words: 'Audit: one in',
    help: 'One item in this many is from the audit set. 0 can be set only before the first label.',
    type: 'number',
    min: 0,
    step: 1,
  },
  {
    key: 'overlap',
    words: 'Second opinions',
    help: 'How many people answer each item.',
    type: 'number',
    min: 1,
    step: 1,
  },
  {
    key: 'lease_minutes',
    words: 'Lease in minutes',
    help: 'After this time without activity, another person may get the item.',
    type: 'number',
    min: 0.1,
    step: 'any',
  },
  {
    key: 'auto_train',
    words: 'Train automatically',
    help: 'When a round is labelled.',
    list: ['yes', 'no'],
  },
  {
    key: 'stop_width',
    words: 'Stop: width of the interval',
    help: 'The interval is narrow if at most this wide; 0.1 is ten percentage points.',
    type: 'number',
    min: 0,
    step: 'any',
  },
  {
    key: 'stop_gain',
    words: 'Stop: gain per ten labels',
    help: 'The gain is fading if below this.',
    type: 'number',
    min: 0,
    step: 'any',
  },
  {
    key: 'stop_labels',
    words: 'Stop: recent labels',
    help: 'The gain is measured over this many labels.',
    type: 'number',
    min: 1,
    step: 1,
  },
  {
    key: 'stop_agreement',
    words: 'Stop: agreement of models',
    help: 'The models agree if they predict the same for at least this share of items.',
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

  /** Fills the form, unless it has unsaved changes. */
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

  /** Shows the summary of the chosen strategy in `about`; returns all names. */
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
      this.app.notice('No changes to save.');
      return;
    }
    try {
      const { settings } = await this.app.api.post('/api/settings', changed);
      this.touched = false;
      this.show(settings);
      this.app.refresh();
      this.app.notice('Settings saved.');
    } catch (error) {
      this.app.notice(error.message);
    }
  }
}
