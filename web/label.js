// SPDX-License-Identifier: Apache-2.0
//
// Labelling one item after the other, with one key each. Back shows earlier answers; a key
// then changes them.
import { by } from './dom.js';
import { ClassButtons } from './classes.js';
import { drawCommands, runShared } from './commands.js';
import { Insight } from './insight.js';
import { Stage } from './stage.js';
import { Stopwatch } from './progress.js';

const COMMANDS = [
  ['unsure', 'Unsure'],
  ['skip', 'Skip'],
  ['undo', 'Undo'],
  ['back', 'Back'],
  ['forward', 'Forward'],
  ['grid', 'Similar items'],
  ['prediction', 'Prediction'],
  ['why', 'Why this?'],
  ['class', 'Add a class…'],
];

export class LabelView {
  constructor(app) {
    this.app = app;
    this.back = -1; // which earlier answer is shown; -1: the next item
    this.shown = null;
    this.stage = new Stage(by('stage'));
    this.insight = new Insight(by('insight'), app);
    this.buttons = new ClassButtons(by('classes'), app, (label) => this.choose(label));
    this.watch = new Stopwatch();
    this.drawCommands();
    by('larger').addEventListener('click', () => this.stage.zoom(1));
    by('smaller').addEventListener('click', () => this.stage.zoom(-1));
    app.queue.addEventListener('change', () => {
      if (this.isOpen && this.back < 0) this.update();
    });
  }

  drawCommands() {
    drawCommands(by('commands'), this.app, COMMANDS, (name) => `do-${name}`);
  }

  /** Draws the buttons again, because keys or classes have changed. */
  redraw() {
    this.buttons.draw();
    this.drawCommands();
  }

  open() {
    this.isOpen = true;
    this.back = -1;
    this.shown = null;
    this.update();
  }

  close() {
    this.isOpen = false;
    this.insight.close();
  }

  get item() {
    return this.back < 0 ? this.app.queue.front : this.record;
  }

  update() {
    const item = this.item,
      { queue } = this.app;
    if (item === this.shown && item) return;
    this.shown = item;
    this.insight.close();
    const empty = {
      asking: 'Loading…',
      empty: 'Nothing to label right now. New items will appear here.',
    };
    this.stage.show(item, empty[queue.state] ?? `No items could be loaded: ${queue.trouble}`);
    this.watch.restart();
    by('item-id').textContent = item ? item.id : '';
    by('item-id').title = item ? item.id : '';
    by('said').textContent =
      this.back < 0 ? '' : `Your answer: ${this.words(item)}. Choose another to change it.`;
    by('label').classList.toggle('back', this.back >= 0);
    this.buttons.mark(this.back >= 0 && item.kind === 'label' ? item.label : null);
    this.buttons.enable(Boolean(item));
    for (const name of ['unsure', 'skip', 'grid', 'prediction', 'why'])
      by(`do-${name}`).disabled = !item;
    by('do-forward').disabled = this.back < 0;
    by('zoom').hidden = !item?.picture;
  }

  words({ kind, label }) {
    return kind === 'label' ? this.app.nameOf(label) : kind === 'skip' ? 'skipped' : 'unsure';
  }

  /** Why the item cannot be answered; null: it can. Without a connection it cannot be skipped
   * either, or a person would skip every item until the connection is back. */
  refusal(kind) {
    switch (this.stage.state) {
      case 'away':
        return 'Not connected: the image loads when the connection is back.';
      case 'loading':
        return kind === 'label' ? 'The image is still loading.' : null;
      case 'broken':
        return kind === 'label' ? 'The image cannot be shown: skip the item.' : null;
      default:
        return null;
    }
  }

  choose(label) {
    if (this.answer('label', label)) this.buttons.flash(label);
  }

  /** Returns whether the answer was accepted. */
  answer(kind, label) {
    const item = this.item;
    if (!item || this.app.blocked()) return false;
    const refusal = this.refusal(kind);
    if (refusal) {
      this.app.notice(refusal);
      return false;
    }
    const said = this.words({ kind, label });
    if (this.back >= 0) {
      this.app.answers.change(item, kind, label, this.watch.milliseconds);
      this.app.notice(`Changed to: ${said}`);
      this.step(-1);
    } else {
      this.last({ ...item, kind, label });
      this.app.answers.answer([item], kind, label, this.watch.milliseconds);
      this.app.announce(`${said}. Next item.`);
    }
    return true;
  }

  last(record) {
    by('last').textContent = record ? `Previous: ${this.words(record)}` : '';
  }

  /** Steps through earlier answers; 1 is further back. */
  async step(way) {
    const wanted = this.back + way;
    if (wanted < -1) return;
    if (wanted >= 0) {
      const record = await this.app.history.at(wanted).catch((error) => {
        this.app.notice(error.message);
        return undefined;
      });
      if (record === null) this.app.notice('This is your first answer.');
      if (!record) return;
      this.record = record;
    }
    this.back = wanted;
    this.shown = null;
    this.update();
  }

  async undo() {
    if (!(await this.app.answers.undo(this.back < 0 ? null : this.record))) return;
    this.back = -1;
    this.shown = null;
    this.last(null);
    this.update();
  }

  command(name) {
    if (runShared(this, name)) return;
    switch (name) {
      case 'back':
        this.step(1);
        break;
      case 'forward':
        this.step(-1);
        break;
      case 'prediction':
      case 'why':
        this.insight.ask(name, this.item);
        break;
      case 'larger':
        this.stage.zoom(1);
        break;
      case 'smaller':
        this.stage.zoom(-1);
        break;
      case 'grid':
        this.app.go('grid');
        break;
    }
  }

  escape() {
    if (this.insight.asked) {
      this.insight.close();
    } else if (this.back >= 0) {
      this.back = -1;
      this.shown = null;
      this.update();
    }
  }
}
