// SPDX-License-Identifier: Apache-2.0
//
// The next item and the most similar ones without an answer, all selected. A person
// deselects items that do not belong; one key then answers all selected items. The others are
// released, except the first item, which is shown later. A tile shows the beginning of a text;
// the full text of the tile under the pointer is below.
import { by, make } from './dom.js';
import { ClassButtons } from './classes.js';
import { drawCommands, runShared } from './commands.js';
import { address, crisp, Loading } from './picture.js';
import { Stopwatch } from './progress.js';
import { count } from './words.js';

const SIMILAR = 11; // besides the item itself

const COMMANDS = [
  ['unsure', 'Unsure'],
  ['skip', 'Skip'],
  ['undo', 'Undo'],
  ['grid', 'One by one'],
];

const BEGINNING = 150; // characters of a text that a screen reader reads

/** The beginning of a text, in one line. */
function beginning(text) {
  const line = text.slice(0, 2 * BEGINNING).replace(/\s+/g, ' ').trim();
  return line.length > BEGINNING ? `${line.slice(0, BEGINNING)}…` : line;
}

const hasWords = (item) => !item.picture && Boolean(item.text);

export class GridView {
  constructor(app) {
    this.app = app;
    this.items = [];
    this.selected = new Set();
    this.unseen = new Map(); // item -> loading, broken or away: why its image is not shown
    this.loads = [];
    this.tiles = [];
    this.at = 0;
    this.watch = new Stopwatch();
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
    this.draw();
  }

  /** One load at a time: a second one would lease the items that the first releases. */
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
      trouble = 'There are no similar items without an answer.';
    try {
      await this.app.outbox.sending; // else the reply would have items just answered
      if (!this.isOpen || this.wanted) return;
      const body = { item: seed.item, count: SIMILAR, page: this.app.outbox.page };
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
    if (alike.length === 0) by('grid-words').textContent = trouble;
    this.tiles[0].focus({ preventScroll: true });
    window.scrollTo(0, 0); // on a phone the classes are below the items
  }

  draw() {
    const state = this.app.queue.state;
    by('grid-words').textContent = this.items.length
      ? ''
      : state === 'empty'
        ? 'Nothing to label right now.'
        : 'Loading…';
    this.tiles = this.items.map((item, i) =>
      make(
        'div',
        {
          role: 'option',
          class: 'tile',
          tabindex: i ? -1 : 0,
          'aria-label': item.text ? beginning(item.text) : item.id,
          title: item.id,
          onclick: () => this.toggle(i),
          onfocus: () => this.read(i),
          onpointerenter: () => this.read(i),
        },
        make(
          'div',
          { class: 'shown' },
          item.picture ? null : make('span', { class: 'clip' }, item.text ?? item.id),
        ),
        make('span', { class: 'tick', 'aria-hidden': 'true' }, '✓'),
      ),
    );
    this.loads.forEach((load) => load.stop());
    this.unseen.clear();
    this.loads = this.items
      .map((item, i) => item.picture && this.picture(item, this.tiles[i].firstChild))
      .filter(Boolean);
    by('grid-items').replaceChildren(...this.tiles);
    by('grid-items').classList.toggle('words', this.items.some(hasWords));
    this.read(0);
    this.showSelection();
  }

  /** Shows the full text of a tile. */
  read(i) {
    const box = by('grid-whole'),
      item = this.items[i];
    box.hidden = !this.items.some(hasWords);
    if (box.textContent !== (item?.text ?? '')) box.scrollTop = 0;
    box.textContent = item?.text ?? '';
    this.tiles.forEach((tile, k) => tile.classList.toggle('read', !box.hidden && k === i));
  }

  select(items) {
    this.selected = new Set(items.map((item) => item.item).filter((item) => !this.failed(item)));
    this.showSelection();
  }

  /** Whether the image of an item could not be loaded. */
  failed(item) {
    return this.unseen.has(item) && this.unseen.get(item) !== 'loading';
  }

  toggle(i) {
    const { item } = this.items[i];
    if (this.failed(item)) this.app.notice('An item without its image cannot be selected.');
    else if (!this.selected.delete(item)) this.selected.add(item);
    this.move(i);
    this.showSelection();
  }

  showSelection() {
    this.tiles.forEach((tile, i) => {
      const { item } = this.items[i];
      tile.setAttribute('aria-selected', this.selected.has(item));
      tile.setAttribute('aria-disabled', this.failed(item));
    });
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

  /** Handles the keys of the grid; returns false for any other. */
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
    if (this.app.blocked()) return;
    const chosen = this.items.filter((item) => this.selected.has(item.item));
    if (!chosen.length) {
      this.app.notice('Nothing is selected.');
      return;
    }
    if (chosen.some((item) => this.unseen.has(item.item))) {
      this.app.notice('Some images are still loading.');
      return;
    }
    const seed = this.items[0],
      rest = this.items.filter((item) => !this.selected.has(item.item));
    const words = kind === 'label' ? this.app.nameOf(label) : kind;
    this.items = [];
    if (rest.includes(seed)) this.app.queue.postpone();
    this.app.answers.answer(chosen, kind, label, this.watch.milliseconds);
    this.app.queue.release(rest);
    this.app.notice(`${count(chosen.length, 'item')}: ${words}`);
    this.load();
  }

  choose(label) {
    this.answer('label', label);
  }

  async undo() {
    if ((await this.app.answers.undo()) && this.isOpen) this.load();
  }

  command(name) {
    if (!runShared(this, name) && name === 'grid') this.app.go('label');
  }

  escape() {
    this.app.go('label');
  }

  /** Loads the image of a tile. An item cannot be answered before its image is shown. */
  picture(item, box) {
    const image = make('img', { alt: '', draggable: 'false' });
    this.unseen.set(item.item, 'loading');
    return new Loading(image, address(item, 256), (state, why) => {
      if (state === 'shown') {
        crisp(image);
        this.unseen.delete(item.item);
      } else {
        this.unseen.set(item.item, state);
        this.selected.delete(item.item);
      }
      const words = state === 'away' ? 'not connected: loads later' : why || 'cannot be loaded';
      box.replaceChildren(
        state === 'shown' ? image : make('span', { class: 'clip' }, `${item.id}\n${words}`),
      );
      this.showSelection();
    });
  }
}
