// SPDX-License-Identifier: Apache-2.0
//
// Buttons of the classes with their keys and colours and, if there are many, a search field.
import { breakable, cap, make } from './dom.js';
import { swatch } from './colours.js';

const MANY = 12; // with more classes the column of buttons is wider
const VERY_MANY = 24; // with more classes there is a search field

export class ClassButtons {
  /** Pressing a button calls choose(label). */
  constructor(box, app, choose) {
    Object.assign(this, { box, app, choose });
    this.chosen = null;
    this.buttons = [];
    this.field = make('input', {
      type: 'search',
      placeholder: 'Find a class',
      'aria-label': 'Find a class',
      oninput: () => this.filter(),
      onkeydown: (event) => this.key(event),
    });
    box.addEventListener('scroll', () => this.fade(), { passive: true });
    new ResizeObserver(() => this.fade()).observe(box);
    this.draw();
  }

  draw() {
    const { classes } = this.app.project,
      many = classes.length > VERY_MANY;
    for (const button of this.buttons) button.remove();
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
    // The field stays in place, as somebody may be typing.
    if (many && !this.field.isConnected) this.box.prepend(this.field);
    else if (!many) this.field.remove();
    this.box.append(...this.buttons);
    this.box.closest('.work').classList.toggle('many', classes.length > MANY);
    this.mark(this.chosen);
    this.filter();
  }

  filter() {
    const wanted = this.field.value.trim().toLowerCase();
    for (const button of this.buttons) button.hidden = !button.title.toLowerCase().includes(wanted);
    this.fade();
  }

  /** Focuses the search field. */
  find() {
    if (this.field.isConnected) this.field.focus();
    else this.app.notice(`The search field appears with more than ${VERY_MANY} classes.`);
  }

  /** Enter chooses the first match, Escape leaves the field. */
  key(event) {
    const first = this.buttons.find((button) => !button.hidden),
      chosen = event.key === 'Enter' && this.field.value ? first : null;
    if (!chosen && event.key !== 'Escape') return;
    event.preventDefault();
    this.field.value = '';
    this.filter();
    this.field.blur();
    chosen?.click();
  }

  /** Fades the lower end of the list if there is more below. */
  fade() {
    const { box } = this;
    box.classList.toggle('more', box.scrollTop + box.clientHeight < box.scrollHeight - 2);
  }

  /** Marks the current answer; null: none. */
  mark(label) {
    this.chosen = label;
    for (const button of this.buttons) {
      const is = label !== null && Number(button.dataset.label) === label;
      button.classList.toggle('chosen', is);
      if (label === null) button.removeAttribute('aria-pressed');
      else button.setAttribute('aria-pressed', is);
    }
  }

  /** Flashes the button of a class that was chosen. */
  flash(label) {
    const button = this.buttons[label];
    button?.classList.remove('flash');
    void button?.offsetWidth; // restarts the animation
    button?.classList.add('flash');
  }

  enable(on) {
    for (const button of this.buttons) button.disabled = !on;
  }
}
