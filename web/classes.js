// SPDX-License-Identifier: Apache-2.0
//
// The buttons of the classes, with their keys and colours; where there are many, a field to
// find one by its name.
import { breakable, cap, make } from './dom.js';
import { swatch } from './colours.js';

const MANY = 12; // classes, that need more room
const VERY_MANY = 24; // that one looks for by name

export class ClassButtons {
  /** choose(label) is called when one is pressed. */
  constructor(box, app, choose) {
    Object.assign(this, { box, app, choose });
    this.chosen = null;
    this.draw();
  }

  draw() {
    const { classes } = this.app.project;
    this.buttons = classes.map(({ label, name }) =>
      make(
        'button',
        {
          type: 'button',
          class: 'class',
          title: name,
          'data-label': label,
          onclick: () => this.choose(label),
        },
        swatch(label),
        make('span', { class: 'name' }, ...breakable(name)),
        make('span', { class: 'caps' }, ...this.app.keys.forClass(label).slice(0, 2).map(cap)),
      ),
    );
    const find = make('input', {
      type: 'search',
      placeholder: 'Find a class',
      'aria-label': 'Find a class',
    });
    find.addEventListener('input', () => this.filter(find.value));
    find.addEventListener('keydown', (event) => {
      const first = this.buttons.find((button) => !button.hidden);
      if (event.key !== 'Enter' || !first || !find.value) return;
      find.value = '';
      this.filter('');
      find.blur();
      first.click();
    });
    this.box.replaceChildren(...(classes.length > VERY_MANY ? [find] : []), ...this.buttons);
    this.box.closest('.work').classList.toggle('many', classes.length > MANY);
    this.mark(this.chosen);
  }

  filter(words) {
    const wanted = words.trim().toLowerCase();
    for (const button of this.buttons) button.hidden = !button.title.toLowerCase().includes(wanted);
  }

  /** Shows which was said; null: none. */
  mark(label) {
    this.chosen = label;
    for (const button of this.buttons) {
      const is = label !== null && Number(button.dataset.label) === label;
      button.classList.toggle('chosen', is);
      if (label === null) button.removeAttribute('aria-pressed');
      else button.setAttribute('aria-pressed', is);
    }
  }

  /** Shows for a moment that a key was understood. */
  flash(label) {
    const button = this.buttons[label];
    button?.classList.remove('flash');
    void button?.offsetWidth; // so that it starts anew
    button?.classList.add('flash');
  }

  enable(on) {
    for (const button of this.buttons) button.disabled = !on;
  }
}
