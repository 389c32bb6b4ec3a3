// SPDX-License-Identifier: Apache-2.0
//
// The page: signs a person in, shows one of the views (label, grid, dashboard), passes keys to
// it, and shows the state of answers and training.
import { by, make } from './dom.js';
import { Api, SignedOut } from './api.js';
import { Dashboard } from './dashboard.js';
import { Answers } from './answers.js';
import { GridView } from './grid.js';
import { History } from './history.js';
import { saved } from './storage.js';
import { Keys, typing } from './keys.js';
import { KeySettings } from './settings.js';
import { LabelView } from './label.js';
import { Live } from './live.js';
import { Outbox } from './outbox.js';
import { setProject, retryMissing } from './picture.js';
import { Queue } from './queue.js';
import { SignIn } from './signin.js';
import { Progress } from './progress.js';
import { count, grouped, percent, seconds } from './words.js';

const REFRESH = 60000; // milliseconds; shows classes that others have added

// What failed, by the activity of the worker.
const FAILED = {
  preparing: 'The items could not be read',
  training: 'The last training failed',
  picking: 'No items could be picked',
};

class App {
  constructor() {
    this.api = new Api();
    this.signIn = new SignIn(this.api);
    this.api.addEventListener('signedout', ({ detail }) => this.signedOut(detail));
    this.api.addEventListener('moved', () => location.reload()); // answers in this browser are stored by project
  }

  /** Signs in without the form if possible; tries until the server can be reached. */
  async start() {
    let session;
    try {
      session = await this.api.resume();
    } catch (error) {
      if (error instanceof SignedOut) return; // the form is shown
      by('starting').textContent = `${error.message} Trying again…`;
      setTimeout(() => this.start(), 3000);
      return;
    }
    this.enter(session);
  }

  async signedOut(session) {
    document.body.dataset.view = 'signin';
    this.live?.stop();
    const now = await this.signIn.ask(session);
    if (!this.project) {
      this.enter(now);
    } else if (now.person.name !== this.person.name) {
      this.api.gone = true; // answers in this browser are stored by person
      location.reload();
    } else {
      this.route();
      this.outbox.sendNow();
      this.queue.refill();
      this.live.start();
    }
  }

  enter({ person, project }) {
    this.person = person;
    this.project = project;
    this.api.enter({ person, project });
    setProject(project.key);
    this.keys = new Keys(project.key);
    this.keys.setClasses(project.classes);
    this.outbox = new Outbox(this.api, project.key, person.name);
    this.queue = new Queue(this.api, this.outbox, 1000 * project.lease_seconds);
    this.history = new History(this.api);
    this.progress = new Progress(project.key);
    this.answers = new Answers(this.api, this.outbox, this.queue, this.history, this.progress);
    this.live = new Live(this.api);
    this.keySettings = new KeySettings(this);
    this.views = {
      label: new LabelView(this),
      grid: new GridView(this),
      dashboard: new Dashboard(this),
    };
    document.title = `${project.name} – scant`;
    by('project').textContent = project.name;
    by('person').firstElementChild.textContent = person.name;
    by('person').title = `Signed in as ${person.name}: click to sign out`;
    this.listen();
    this.route();
    this.queue.start();
    this.outbox.send();
    this.live.start();
    this.showProgress();
  }

  listen() {
    window.addEventListener('hashchange', () => this.route());
    document.addEventListener('keydown', (event) => this.key(event));
    this.answers.addEventListener('notice', ({ detail }) => this.notice(detail));
    this.outbox.addEventListener('state', ({ detail }) => this.showState(detail));
    this.outbox.addEventListener('confirmed', ({ detail }) => this.showLabels(detail.labels));
    this.queue.addEventListener('change', () => this.showProgress());
    this.queue.addEventListener('left', () => this.showProgress());
    this.live.addEventListener('status', ({ detail }) => {
      if (detail.people) this.people = detail.people;
      this.showWorker(detail.worker, detail.labels);
      if (this.outbox.state === 'offline') this.outbox.sendNow();
      if (this.queue.state !== 'some') this.queue.refill();
    });
    this.live.addEventListener('again', () => {
      this.refresh();
      retryMissing();
    });
    window.addEventListener('online', retryMissing);
    document.querySelector('.jump').addEventListener('click', (event) => {
      event.preventDefault(); // the hash is for the views
      by('main').focus();
    });
    by('help').addEventListener('click', () => this.keySettings.show());
    by('person').addEventListener('click', () => this.leave());
    by('class-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.saveClass();
    });
    document
      .querySelectorAll('[data-close]')
      .forEach((button) =>
        button.addEventListener('click', () => button.closest('dialog').close()),
      );
    // Another tab signed in as somebody else: tabs share the session.
    window.addEventListener('storage', (event) => {
      const place = `scant.name/${this.project.key}`;
      if (event.key === place && saved.get(place) !== this.person.name) location.reload();
    });
    setInterval(() => this.refresh(), REFRESH);
  }

  // ---- views ----

  go(view) {
    location.hash = `#/${view}`;
  }

  /** The view in the address; an anchor (#main) keeps the current one. */
  wanted() {
    const { hash } = location,
      name = hash.slice(2);
    if (hash && !hash.startsWith('#/')) return this.view ?? 'label';
    return Object.hasOwn(this.views, name) ? name : 'label';
  }

  route() {
    const view = this.wanted();
    if (document.body.dataset.view === view || this.api.signedOut) return;
    this.views[this.view]?.close();
    this.view = view;
    document.body.dataset.view = view;
    document.querySelectorAll('nav a').forEach((link) => {
      if (link.hash === `#/${view}`) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    });
    window.scrollTo(0, 0);
    this.views[view].open();
  }

  redraw() {
    for (const view of Object.values(this.views)) view.redraw();
  }

  // ---- keys ----

  key(event) {
    if (
      document.querySelector('dialog[open]') ||
      typing(event) ||
      document.body.dataset.view === 'signin'
    )
      return;
    const view = this.views[this.view];
    if (event.key === 'Escape') {
      view.escape();
      return;
    }
    if (!event.ctrlKey && !event.altKey && !event.metaKey && view.key?.(event)) {
      event.preventDefault();
      return;
    }
    const meant = this.keys.find(event);
    if (!meant || (this.view === 'dashboard' && meant.command !== 'help')) return;
    event.preventDefault();
    if (event.repeat && meant.command !== 'larger' && meant.command !== 'smaller') return; // a key held down answers once
    if ('label' in meant) view.choose(meant.label);
    else this.command(meant.command);
  }

  command(name) {
    if (name === 'help') this.keySettings.show();
    else if (name === 'class') this.addClass();
    else this.views[this.view].command?.(name);
  }

  /** Whether an undo is under way: the item shown is about to change. */
  blocked() {
    if (this.answers.undoing) this.notice('Please wait: the last answer is being undone.');
    return this.answers.undoing;
  }

  // ---- messages ----

  /** Shows a message for a few seconds; screen readers read it, too. */
  notice(words) {
    const box = by('notice');
    box.textContent = words;
    box.classList.add('seen');
    clearTimeout(this.noticing);
    this.noticing = setTimeout(
      () => box.classList.remove('seen'),
      Math.max(3000, 70 * words.length),
    );
  }

  /** A message for screen readers only. */
  announce(words) {
    by('announce').textContent = words;
  }

  showState({ state, waiting, trouble }) {
    const words = {
      saved: 'All saved',
      saving: 'Saving…',
      offline: `${trouble || 'Not connected'}${waiting ? ` – ${count(waiting, 'answer')} waiting` : ''}`,
    };
    // Screen readers announce only changes between online and offline.
    if ((state === 'offline') !== (by('state').dataset.state === 'offline')) {
      this.announce(words[state]);
      if (state !== 'offline') retryMissing();
    }
    by('state').dataset.state = state;
    by('state').textContent = words[state];
    this.showProgress();
  }

  showLabels(labels) {
    this.labels = labels;
    this.showProgress();
  }

  showProgress() {
    const { progress, queue } = this;
    const parts = [[grouped(progress.labels), 'labelled in this tab']];
    if (this.labels !== undefined) parts.push([grouped(this.labels), 'in total']);
    if (progress.seconds !== null) parts.push([seconds(progress.seconds), 'per item']);
    if (queue.left?.picks > 0)
      parts.push([grouped(queue.left.picks), queue.left.picks === 1 ? 'pick left' : 'picks left']);
    by('progress').replaceChildren(
      ...parts.map(([n, words]) => make('li', {}, make('b', {}, n), ` ${words}`)),
    );
  }

  /** Shows the activity of the worker, or the number of labels until the next training. */
  showWorker(worker, labels) {
    if (labels !== undefined) this.showLabels(labels);
    const doing = {
      preparing: 'Reading the items',
      training: 'Training',
      picking: 'Picking the next items',
    }[worker.doing];
    const batch = this.project.batch || 1,
      after = worker.next_after;
    const part = doing
      ? (worker.fraction ?? 0)
      : typeof after === 'number'
        ? 1 - Math.min(after, batch) / batch
        : 0;
    let words = 'Idle';
    if (worker.error) words = `${FAILED[worker.failed] ?? 'Something went wrong'}: ${worker.error}`;
    else if (doing)
      words = [
        doing,
        worker.phase === worker.doing ? '' : worker.phase,
        part > 0 ? percent(part) : '',
      ]
        .filter(Boolean)
        .join(' · ');
    else if (after > 0) words = `Next training after ${count(after, 'more label')}`;
    by('worker').textContent = words;
    by('worker').classList.toggle('trouble', Boolean(worker.error));
    by('until').firstElementChild.style.width = `${100 * part}%`;
    by('until').setAttribute('aria-valuenow', Math.round(100 * part));
  }

  // ---- classes and people ----

  nameOf(label) {
    return this.project.classes[label]?.name ?? `class ${label}`;
  }

  addClass() {
    by('class-name').value = '';
    by('class-trouble').textContent = '';
    by('class').showModal();
  }

  async saveClass() {
    try {
      const { classes } = await this.api.post('/api/classes', {
        name: by('class-name').value.trim(),
      });
      by('class').close();
      this.setClasses(classes);
    } catch (error) {
      by('class-trouble').textContent = error.message;
    }
  }

  setClasses(classes) {
    this.project.classes = classes;
    this.keys.setClasses(classes);
    this.redraw();
  }

  async refresh() {
    if (this.api.signedOut) return;
    const session = await this.api.session().catch(() => null);
    if (!session?.project) return;
    const known = JSON.stringify(this.project.classes);
    this.project = session.project;
    if (JSON.stringify(session.project.classes) !== known) this.setClasses(session.project.classes);
  }

  /** Signs out, so that another person can sign in. */
  async leave() {
    if (this.outbox.state !== 'saved') {
      this.notice('Some answers are not saved yet. Please wait.');
      return;
    }
    await this.queue.leave();
    try {
      await this.api.leave();
    } catch (error) {
      this.notice(error.message);
      return;
    }
    this.progress.reset();
    location.hash = '';
    location.reload();
  }
}

new App().start();
