// SPDX-License-Identifier: Apache-2.0
//
// The dashboard: accuracy and stop rule, learning curve, classes, people, rounds, the map of the
// pool, settings and exports.
import { by, make, throttle } from './dom.js';
import { bar, intervalBar, learningCurve } from './chart.js';
import { swatch } from './colours.js';
import { PoolMap } from './map.js';
import { ProjectSettings } from './projectsettings.js';
import { ago, count, fixed, grouped, percent, seconds } from './words.js';

const REFRESH = 3000; // milliseconds, at least
const MAP_REFRESH = 15000;
const ENOUGH = 20; // audited items; with fewer only the interval is shown

export class Dashboard {
  constructor(app) {
    this.app = app;
    this.map = new PoolMap(app);
    this.settings = new ProjectSettings(app);
    this.refresh = throttle(REFRESH, () => this.load());
    this.refreshMap = throttle(MAP_REFRESH, () => {
      if (this.isOpen) this.map.load();
    });
    app.live.addEventListener('status', () => {
      if (!this.isOpen) return;
      this.refresh();
      this.refreshMap();
    });
    by('train').addEventListener('click', () => this.train());
    by('add-class').addEventListener('click', () => app.addClass());
    new ResizeObserver(() => this.drawCurve()).observe(by('curve'));
  }

  open() {
    this.isOpen = true;
    this.settings.touched = false;
    this.load();
    this.map.load();
  }

  close() {
    this.isOpen = false;
  }

  redraw() {
    if (this.isOpen) this.load();
  }

  async load() {
    if (!this.isOpen) return;
    try {
      this.status = await this.app.api.get('/api/status');
    } catch (error) {
      this.app.notice(error.message);
      return;
    }
    this.app.showWorker(this.status.worker, this.status.info.labelled);
    by('dashboard').classList.add('known');
    this.drawMeter();
    this.drawCurve();
    this.drawBalance();
    this.drawPeople();
    this.drawRounds();
    this.settings.show(this.status.settings);
  }

  drawMeter() {
    const { meter, info, advice } = this.status;
    const measured = typeof meter.accuracy === 'number';
    const span = `${percent(meter.low)} to ${percent(meter.high)}`,
      few = meter.audited < ENOUGH;
    by('accuracy').textContent = measured
      ? few
        ? `Accuracy ${span}`
        : `Accuracy ${percent(meter.accuracy)}`
      : 'Not measured yet';
    by('accuracy-words').textContent = measured
      ? few
        ? `The model is right on ${meter.right} of ${meter.audited} audited items. With so few, only the 95 % interval is shown.`
        : `95 % interval: ${span}.`
      : 'Needs a model and some labels in the audit set.';
    by('interval').replaceChildren(...(measured ? [intervalBar(meter)] : []));
    by('stop-state').textContent = meter.stop ? 'You can stop' : 'Go on labelling';
    by('stop-state').classList.toggle('stop', Boolean(meter.stop));
    const checks = [
      [meter.narrow, 'The interval is narrow'],
      [meter.fading, 'The gain is fading'],
      [meter.agreeing, 'The last models agree'],
    ];
    by('checks').replaceChildren(
      ...checks.map(([is, words]) =>
        make(
          'li',
          { class: is ? 'yes' : 'no' },
          make('span', { 'aria-hidden': 'true' }, is ? '✓' : '○'),
          is ? ` ${words}` : ` Not yet: ${words.toLowerCase()}`,
        ),
      ),
    );
    by('advice').replaceChildren(...advice.map((words) => make('p', {}, words)));
    const facts = [
      [info.items, 'items'],
      [info.labelled, 'labelled'],
      [info.audited, 'audited'],
      [info.unsure, 'unsure'],
      [info.skipped, 'skipped'],
      [info.disputed, 'disputed'],
      [info.copies, 'copies'],
    ];
    by('facts').replaceChildren(
      ...facts
        .filter(([n], i) => n > 0 || i < 3)
        .map(([n, words]) => make('li', {}, make('b', {}, grouped(n)), ` ${words}`)),
    );
  }

  drawCurve() {
    const box = by('curve'),
      models = (this.status?.models ?? []).filter((m) => typeof m.accuracy === 'number');
    if (!box.clientWidth || !this.status) return;
    box.replaceChildren(
      models.length
        ? learningCurve(models, box.clientWidth)
        : make(
            'p',
            { class: 'soft' },
            'The curve begins with the first model that has audited items.',
          ),
    );
    table(
      by('models'),
      [
        'Model',
        'Labels',
        'Accuracy',
        '95 % interval',
        'Audited',
        'Agreement with the previous model',
        'Training time',
      ],
      [...this.status.models]
        .reverse()
        .map((m) => [
          m.model,
          m.labels,
          percent(m.accuracy, 1),
          typeof m.low === 'number' ? `${percent(m.low, 1)} to ${percent(m.high, 1)}` : '–',
          m.audited,
          percent(m.agreement),
          seconds(m.seconds),
        ]),
    );
    by('models').closest('details').hidden = !this.status.models.length;
  }

  drawBalance() {
    const { balance } = this.status;
    const most = Math.max(1, ...balance.map((b) => b.labelled)),
      mostPredicted = Math.max(1, ...balance.map((b) => b.predicted ?? 0));
    const predicted = balance.some((b) => b.predicted !== null);
    by('balance').replaceChildren(
      ...balance.map((b) =>
        make(
          'li',
          {},
          make('span', { class: 'name', title: b.name }, swatch(b.label), b.name),
          make(
            'span',
            { class: 'bars' },
            make(
              'span',
              { class: 'with' },
              bar(b.labelled / most),
              make('b', {}, grouped(b.labelled)),
            ),
            predicted
              ? make(
                  'span',
                  { class: 'with' },
                  bar((b.predicted ?? 0) / mostPredicted, 'predicted'),
                  make('span', { class: 'soft' }, grouped(b.predicted ?? 0)),
                )
              : null,
          ),
        ),
      ),
    );
    by('balance-words').textContent = predicted
      ? 'Thick bar: labels so far. Thin bar: predictions for all items.'
      : 'Labels so far.';
  }

  drawPeople() {
    const { people, agreements } = this.status;
    table(
      by('people'),
      ['Name', 'Answers', 'Time per item', 'Last answer'],
      people.map((p) => [
        p.name,
        grouped(p.answers),
        seconds(p.median_seconds),
        this.seen(p),
      ]),
    );
    table(
      by('agreements'),
      ['Pair', 'Items in common', 'Same label', 'Cohen’s κ'],
      agreements.map((a) => [`${a.a} and ${a.b}`, a.items, percent(a.agreed), fixed(a.kappa, 2)]),
    );
    by('agreements').hidden = !agreements.length;
    by('agreements-words').textContent = agreements.length
      ? 'κ is 1 if two people always agree, and 0 if they agree no more often than by chance.'
      : 'No two people have labelled five items in common. To compare people, raise the setting “Second opinions”.';
  }

  /** When a person answered last, or "active now". */
  seen({ name, last }) {
    const here = this.app.people?.find((person) => person.name === name);
    if (here?.busy) return make('span', { class: 'here' }, 'active now');
    return last ? ago(last) : '–';
  }

  drawRounds() {
    const rounds = [...this.status.rounds].reverse();
    table(
      by('rounds'),
      ['Round', 'Strategy', 'Model', 'Picked', 'Answered', 'When'],
      rounds.map((r) => [r.round, r.strategy, r.model || '–', r.picked, r.answered, ago(r.at)]),
    );
    by('rounds').hidden = !rounds.length;
    by('rounds-words').textContent = rounds.length
      ? ''
      : 'No rounds yet: items are drawn at random until there is a model.';
  }

  async train() {
    try {
      const { worker } = await this.app.api.post('/api/train');
      this.app.showWorker(worker);
      this.app.notice('Training has started. You can go on labelling.');
    } catch (error) {
      this.app.notice(error.message);
    }
  }

  escape() {
    this.app.go('label');
  }
}

/** Fills a table: text aligned left, numbers right. */
function table(element, heads, rows) {
  const numeric = heads.map(
    (_, i) => rows.length > 0 && rows.every((row) => /^[–<>\d]/.test(row[i]?.textContent ?? row[i])),
  );
  const kind = (i) => (numeric[i] ? 'number' : null);
  element.replaceChildren(
    make(
      'thead',
      {},
      make('tr', {}, ...heads.map((head, i) => make('th', { scope: 'col', class: kind(i) }, head))),
    ),
    make(
      'tbody',
      {},
      ...rows.map((row) =>
        make('tr', {}, ...row.map((cell, i) => make('td', { class: kind(i) }, cell))),
      ),
    ),
  );
}
