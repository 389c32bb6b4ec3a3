// SPDX-License-Identifier: Apache-2.0
//
// Keys of classes and commands. The first ten classes have the keys 1 to 9 and 0; a class also
// has its first letter if no command and no other class has it. Further classes get a free
// letter. A person can choose other keys; if a key is taken, the two swap keys.
import { saved } from './storage.js';

export const COMMANDS = [
  { name: 'undo', keys: ['z'], words: 'Undo the last answer' },
  { name: 'skip', keys: ['s'], words: 'Skip: leave it to others' },
  { name: 'unsure', keys: ['u'], words: 'Unsure: I cannot tell' },
  { name: 'back', keys: ['ArrowLeft', 'b'], words: 'Back through my answers' },
  { name: 'forward', keys: ['ArrowRight'], words: 'Forward through my answers' },
  { name: 'grid', keys: ['g'], words: 'Switch between one item and similar items' },
  { name: 'prediction', keys: ['p'], words: 'Show the prediction' },
  { name: 'why', keys: ['w'], words: 'Show why the item was picked' },
  { name: 'larger', keys: ['+', '='], words: 'Zoom in' },
  { name: 'smaller', keys: ['-'], words: 'Zoom out' },
  { name: 'find', keys: ['/'], words: 'Find a class, if there are many' },
  { name: 'help', keys: ['?'], words: 'Keyboard shortcuts' },
];
const DIGITS = '1234567890';
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const FIXED = ['Escape', 'Enter', 'Tab', ' ', 'ArrowUp', 'ArrowDown', 'Dead'];

const letters = (name) => [...name.toLowerCase()].filter((c) => /\p{L}/u.test(c));

export class Keys {
  constructor(project) {
    this.place = `scant.keys/${project}`;
    this.chosen = saved.get(this.place) ?? {}; // "command undo", "class cat" -> key
    this.classes = [];
    this.assign();
  }

  setClasses(classes) {
    this.classes = classes;
    this.assign();
  }

  assign() {
    this.of = new Map(); // "command undo" -> its keys
    this.means = new Map(); // key -> "command undo"
    const give = (what, key) => {
      if (!key || this.means.has(key)) return;
      this.means.set(key, what);
      this.of.set(what, [...(this.of.get(what) ?? []), key]);
    };
    const names = [
      ...COMMANDS.map((command) => `command ${command.name}`),
      ...this.classes.map((c) => `class ${c.name}`),
    ];
    for (const what of names) give(what, this.chosen[what]);
    for (const command of COMMANDS)
      if (!this.chosen[`command ${command.name}`])
        for (const key of command.keys) give(`command ${command.name}`, key);
    this.classes.slice(0, DIGITS.length).forEach((c, i) => {
      if (!this.chosen[`class ${c.name}`]) give(`class ${c.name}`, DIGITS[i]);
    });
    const firsts = this.classes.map((c) => letters(c.name)[0]);
    this.classes.forEach((c, i) => {
      if (
        !this.chosen[`class ${c.name}`] &&
        firsts.filter((first) => first === firsts[i]).length === 1
      )
        give(`class ${c.name}`, firsts[i]);
    });
    for (const c of this.classes) {
      if (this.of.has(`class ${c.name}`)) continue;
      give(
        `class ${c.name}`,
        [...letters(c.name), ...LETTERS].find((key) => !this.means.has(key)),
      );
    }
  }

  forCommand(name) {
    return this.of.get(`command ${name}`) ?? [];
  }

  forClass(label) {
    return this.of.get(`class ${this.classes[label]?.name}`) ?? [];
  }

  /** The meaning of a key: {command}, {label} or null. */
  find(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return null;
    const written = this.means.get(plain(event.key)),
      digit = this.means.get(digitOf(event));
    const what = event.shiftKey ? (written ?? digit) : (digit ?? written);
    if (!what) return null;
    if (what.startsWith('command ')) return { command: what.slice(8) };
    const found = this.classes.find((c) => `class ${c.name}` === what);
    return found ? { label: found.label } : null;
  }

  /** Gives the key of an event to a command ("command undo") or class ("class cat").
   * Returns an error, or ''. */
  choose(what, event) {
    const key = (event.shiftKey ? null : digitOf(event)) ?? plain(event.key);
    if (FIXED.includes(key) || (key.length > 1 && !key.startsWith('Arrow')))
      return 'This key cannot be used.';
    const owner = this.means.get(key),
      old = this.of.get(what)?.[0];
    if (owner === what) return '';
    if (owner && old) this.chosen[owner] = old;
    else if (owner) delete this.chosen[owner];
    this.chosen[what] = key;
    saved.set(this.place, this.chosen);
    this.assign();
    return '';
  }

  reset() {
    this.chosen = {};
    saved.drop(this.place);
    this.assign();
  }
}

const plain = (key) => (key.length === 1 ? key.toLowerCase() : key);

/** The digit on the key, which on some keyboards (French, Czech) needs Shift. */
function digitOf({ code = '', key }) {
  const found = /^(Digit|Numpad)(\d)$/.exec(code);
  // Without Num Lock the keys of the number pad are arrows.
  return found && (found[1] === 'Digit' || key.length === 1) ? found[2] : null;
}

/** Whether a key goes to an input field. */
export function typing(event) {
  return (
    event.target instanceof Element && event.target.closest('input, textarea, select') !== null
  );
}
