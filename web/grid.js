// SPDX-License-Identifier: Apache-2.0
//
// Look-alikes at once: the next item and those most like it that nobody has answered, all
// selected. What does not belong is deselected, then one key answers for all that are
// selected; the others are given back, but the item it began with, which comes up alone later.
// Of a text a tile has the beginning; all of it is below, of the tile that is pointed at.
import { by, make } from './dom.js';
import { ClassButtons } from './classes.js';
import { drawCommands } from './commands.js';
import { address, crisp } from './picture.js';
import { Watch } from './tally.js';
import { count } from './words.js';

const ALIKE = 11; // beside the item itself

const COMMANDS = [
  ['unsure', 'Unsure'],
  ['skip', 'Skip'],
  ['undo', 'Undo'],
  ['grid', 'One by one'],
];

const hasWords = (item) => !item.picture && Boolean(item.text);

export class GridView {
  constructor(app) {
    this.app = app;
    this.items = [];
    this.selected = new Set();
    this.at = 0;
    this.watch = new Watch();
    this.buttons = new ClassButtons(by('grid-classes'), app, (label) =>
      this.answer('label', label),
    );
    drawCommands(by('grid-commands'), app, COMMANDS);
    by('grid-all').addEventListener('click', () => this.select(this.items));
    by('grid-none').addEventListener('click', () => this.select([]));
    by('grid-items').addEventListener('pointerleave', () => this.read(this.at));
    app.queue.addEventListener('change', () => {
      if (this.isOpen && !this.items.length && !this.loading && app.queue.front) this.load();
    });
  }

  redraw() {
    this.buttons.draw();
    drawCommands(by('grid-commands'), this.app, COMMANDS);
  }

  open() {
    this.isOpen = true;
    this.items = [];
    this.load();
  }

  close() {
    this.isOpen = false;
    this.app.queue.release(this.items);
    this.items = [];
  }

  /** One load at a time, as the second would be leased what the first gives back. */
  async load() {
    this.wanted = true;
    if (this.loading) return;
    this.loading = true;
    while (this.wanted && this.isOpen) {
      this.wanted = false;
      await this.loadOnce();
    }
    this.loading = false;
  }

  async loadOnce() {
    const seed = this.app.queue.front;
    this.app.queue.release(this.items);
    this.items = [];
    this.draw();
    if (!seed) return;
    let alike = [],
      trouble = 'Nothing without an answer is like this one.';
    try {
      const body = { item: seed.item, count: ALIKE, page: this.app.outbox.page };
      alike = (await this.app.api.post('/api/alike', body)).items;
    } catch (error) {
      trouble = error.message;
    }
    this.app.queue.hold(alike);
    this.items = [seed, ...alike.filter((item) => item.item !== seed.item)];
    if (!this.isOpen || this.wanted) {
      this.app.queue.release(this.items);
      this.items = [];
      return;
    }
    this.at = 0;
    this.draw();
    this.select(this.items);
    this.watch.restart();
    if (alike.length === 0) this.app.notice(trouble);
    this.tiles[0].focus({ preventScroll: true });
  }

  draw() {
    const state = this.app.queue.state;
    by('grid-empty').textContent = this.items.length
      ? ''
      : state === 'empty'
        ? 'Nothing is left to label for now.'
        : 'One moment…';
    this.tiles = this.items.map((item, i) =>
      make(
        'div',
        {
          role: 'option',
          class: 'tile',
          tabindex: i ? -1 : 0,
          'aria-label': item.id,
          title: item.id,
          onclick: () => this.toggle(i),
          onfocus: () => this.read(i),
          onpointerenter: () => this.read(i),
        },
        item.picture ? this.picture(item) : make('span', { class: 'clip' }, item.text ?? item.id),
        make('span', { class: 'tick', 'aria-hidden': 'true' }, '✓'),
      ),
    );
    by('grid-items').replaceChildren(...this.tiles);
    by('grid-items').classList.toggle('words', this.items.some(hasWords));
    this.read(0);
    this.tell();
  }

  /** Shows all of a text. */
  read(i) {
    const box = by('grid-whole'),
      item = this.items[i];
    box.hidden = !this.items.some(hasWords);
    if (box.textContent !== (item?.text ?? '')) box.scrollTop = 0;
    box.textContent = item?.text ?? '';
    this.tiles.forEach((tile, k) => tile.classList.toggle('read', !box.hidden && k === i));
  }

  select(items) {
    this.selected = new Set(items.map((item) => item.item));
    this.tell();
  }

  toggle(i) {
    const { item } = this.items[i];
    if (!this.selected.delete(item)) this.selected.add(item);
    this.move(i);
    this.tell();
  }

  tell() {
    this.tiles.forEach((tile, i) =>
      tile.setAttribute('aria-selected', this.selected.has(this.items[i].item)),
    );
    const n = this.items.filter((item) => this.selected.has(item.item)).length;
    by('grid-count').textContent = this.items.length
      ? `${count(n, 'item')} of ${this.items.length} selected`
      : '';
    this.buttons.enable(n > 0);
  }

  move(i) {
    if (i < 0 || i >= this.tiles.length) return;
    this.tiles[this.at].tabIndex = -1;
    this.at = i;
    this.tiles[i].tabIndex = 0;
    this.tiles[i].focus();
  }

  /** Keys of the grid itself; whether it was one. */
  key(event) {
    if (!this.tiles.length) return false;
    const across = getComputedStyle(by('grid-items')).gridTemplateColumns.split(' ').length;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across };
    if (event.key in steps) this.move(this.at + steps[event.key]);
    else if (
      event.key === ' ' &&
      (this.tiles.includes(event.target) || event.target === document.body)
    )
      this.toggle(this.at);
    else return false;
    return true;
  }

  answer(kind, label) {
    if (this.app.held()) return;
    const chosen = this.items.filter((item) => this.selected.has(item.item));
    if (!chosen.length) {
      this.app.notice('Nothing is selected.');
      return;
    }
    const seed = this.items[0],
      rest = this.items.filter((item) => !this.selected.has(item.item));
    const words = kind === 'label' ? this.app.project.classes[label].name : kind;
    this.items = [];
    if (rest.includes(seed)) this.app.queue.postpone();
    this.app.desk.answer(chosen, kind, label, this.watch.milliseconds);
    this.app.queue.release(rest);
    this.app.notice(`${count(chosen.length, 'item')}: ${words}`);
    this.load();
  }

  choose(label) {
    this.answer('label', label);
  }

  async undo() {
    if ((await this.app.desk.undo()) && this.isOpen) this.load();
  }

  command(name) {
    switch (name) {
      case 'skip':
      case 'unsure':
        this.answer(name);
        break;
      case 'undo':
        this.undo();
        break;
      case 'grid':
        this.app.go('label');
        break;
    }
  }

  escape() {
    this.app.go('label');
  }

  picture(item) {
    const image = make('img', { src: address(item, 256), alt: '', draggable: 'false' });
    image.addEventListener('load', () => crisp(image));
    image.addEventListener('error', () => {
      // what cannot be seen is not to be answered for
      image.replaceWith(make('span', { class: 'clip' }, `${item.id} cannot be loaded`));
      this.selected.delete(item.item);
      this.tell();
    });
    return image;
  }
}
