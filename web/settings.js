// SPDX-License-Identifier: Apache-2.0
//
// The list of keys, where a person can choose others.
import { by, cap, make } from './dom.js';
import { COMMANDS } from './keys.js';

const FIXED = [
  ['Space', 'In the grid: select or deselect an item'],
  ['← → ↑ ↓', 'In the grid: move'],
  ['Esc', 'Close or go back'],
];

export class KeySettings {
  constructor(app) {
    this.app = app;
    this.dialog = by('keys');
    this.waiting = null; // the command or class that gets the next key
    by('keys-reset').addEventListener('click', () => {
      app.keys.reset();
      this.changed();
    });
    this.dialog.addEventListener('keydown', (event) => this.key(event));
    this.dialog.addEventListener('close', () => {
      this.waiting = null;
    });
  }

  show() {
    this.draw();
    this.dialog.showModal();
  }

  changed() {
    this.draw();
    this.app.redraw();
  }

  draw() {
    const { keys, project } = this.app;
    by('keys-classes').replaceChildren(
      ...project.classes.map(({ label, name }) =>
        this.row(`class ${name}`, name, keys.forClass(label)),
      ),
    );
    by('keys-commands').replaceChildren(
      ...COMMANDS.map(({ name, words }) =>
        this.row(`command ${name}`, words, keys.forCommand(name)),
      ),
      ...FIXED.map(([key, words]) =>
        make('tr', {}, make('th', { scope: 'row' }, words), make('td', {}, make('kbd', {}, key))),
      ),
    );
  }

  row(what, words, keys) {
    const button = make(
      'button',
      {
        type: 'button',
        'aria-label': `Choose a key for: ${words}`,
        onclick: () => this.wait(what, button),
      },
      ...(keys.length ? keys.map(cap) : ['none']),
    );
    return make('tr', {}, make('th', { scope: 'row' }, words), make('td', {}, button));
  }

  wait(what, button) {
    this.waiting = what;
    button.replaceChildren('Press a key…');
    by('keys-words').textContent = 'Press a key, or Esc to cancel.';
  }

  key(event) {
    if (!this.waiting) return;
    if (['Shift', 'Control', 'Alt', 'Meta', 'Tab'].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const trouble = event.key === 'Escape' ? '' : this.app.keys.choose(this.waiting, event);
    const what = this.waiting;
    this.waiting = null;
    by('keys-words').textContent = trouble || 'To change a key, click it and press another.';
    this.changed();
    const name = what.slice(what.indexOf(' ') + 1),
      words = COMMANDS.find((c) => c.name === name && what.startsWith('command'))?.words ?? name;
    this.dialog
      .querySelector(`[aria-label="${CSS.escape(`Choose a key for: ${words}`)}"]`)
      ?.focus();
  }
}
