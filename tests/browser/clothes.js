// SPDX-License-Identifier: Apache-2.0
//
// A project of images of clothes, served while the tests of a file run, and people at its page.
'use strict';
const { before, after } = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const person = require('./person.js');
const { launch } = require('./sight.js');
const { CLASSES, labels, pictures, serve } = require('./project.js');

const { notice, shown } = person;
const ITEMS = 260;

/** browser, server, folder (temporary), dir (the project), truth: id -> label. */
const here = {};
exports.here = here;

before(async () => {
  here.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'scant-label-'));
  fs.mkdirSync(process.env.SCREENS, { recursive: true });
  here.dir = path.join(here.folder, 'clothes');
  // No training unless a test starts one: a new round changes which answers can be undone.
  const set = ['batch=200', 'epochs=20', 'auto_train=no'].flatMap((one) => ['--set', one]);
  here.truth = pictures(here.dir, ITEMS, ...set);
  here.server = await serve(here.dir);
  here.browser = await launch();
});
after(async () => {
  if (here.browser) await here.browser.close();
  if (here.server) await here.server.kill('SIGTERM');
  fs.rmSync(here.folder, { recursive: true, force: true });
});

const open = (options, address = here.server.address) =>
  person.open(here.browser, address, options);
const signIn = (name, options, address = here.server.address) =>
  person.signIn(here.browser, address, name, options);

const keyOf = (label) => String((label + 1) % 10);

// Labels n items by keyboard; returns the class names by id.
async function label(page, n) {
  const said = new Map();
  for (let i = 0; i < n; i++) {
    const now = await shown(page);
    await page.keyboard.press(keyOf(here.truth.get(now)));
    said.set(now, CLASSES[here.truth.get(now)]);
    await shown(page, now);
  }
  return said;
}

// Waits for an undo, and checks that the item is shown again.
async function assertShownAgain(page, item) {
  await notice(page, /^Undone/);
  assert.strictEqual(await shown(page), item);
}

function assertStored(said, person) {
  const stored = labels(here.dir);
  for (const [item, name] of said) {
    assert.strictEqual(stored.get(item)?.label, name, item);
    if (person) assert.strictEqual(stored.get(item).annotator, person);
  }
  return stored;
}

const getJson = (page, path) => page.evaluate(async (p) => (await fetch(p)).json(), path);
// The current answers of the person, oldest first.
const currentAnswers = async (page) =>
  (await getJson(page, '/api/mine?count=50')).entries
    .filter((e) => e.stands && e.kind !== 'undo')
    .reverse();

// Leases as many items as the server gives; returns their ids.
const leaseAll = (page) =>
  page.evaluate(async () => {
    const { csrf } = await (await fetch('/api/session')).json();
    const headers = { 'Content-Type': 'application/json', 'X-Scant': csrf };
    const body = JSON.stringify({ count: 50 });
    const reply = await fetch('/api/next', { method: 'POST', headers, body });
    return (await reply.json()).items.map((item) => item.id);
  });

Object.assign(exports, {
  open,
  signIn,
  keyOf,
  label,
  assertShownAgain,
  assertStored,
  getJson,
  currentAnswers,
  leaseAll,
});
