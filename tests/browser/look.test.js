// SPDX-License-Identifier: Apache-2.0
//
// What a person has before their eyes on the labelling page, on phones and with many classes,
// too: nothing is answered for that was not seen, and nothing is cut, hidden or too faint.
// A picture of each view is left in build-browser/screens/ to be looked at.
'use strict';
const { test, before, after } = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const person = require('./person.js');
const { launch, overflow, unreadable } = require('./sight.js');
const { picturesOf, serve, texts } = require('./project.js');

const { done, id, notice, saved, shown } = person;
const SCREENS = process.env.SCREENS;
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const NAMES = [
  'airplane', 'bonsai', 'brain', 'buddha', 'butterfly', 'car_side', 'chandelier', 'Faces_easy',
  'grand_piano', 'hawksbill', 'helicopter', 'kangaroo', 'ketch', 'Leopards', 'menorah',
  'Motorbikes', 'starfish', 'sunflower', 'trilobite', 'watch', 'accordion', 'umbrella', 'rooster',
  'lotus', 'laptop', 'joshua-tree', 'electric guitar', 'hedgehog', 'flamingo', 'crocodile',
]; // prettier-ignore
const MAILS = Array.from({ length: 24 }, (_, i) => [
  `mail ${i}`,
  `Offer ${i}: buy\nnow. ${'Many more words. '.repeat(30)}`,
]);

let browser, folder;
const servers = {};

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'scant-look-'));
  fs.mkdirSync(SCREENS, { recursive: true });
  for (const n of [10, 20, 30]) {
    const dir = path.join(folder, `of ${n}`);
    picturesOf(NAMES.slice(0, n), dir, 60, '--set', 'audit_every=0');
    servers[n] = await serve(dir, '--no-training');
  }
  const mails = path.join(folder, 'mails');
  texts(mails, MAILS, ['spam', 'ham'], '--set', 'audit_every=0');
  servers.texts = await serve(mails, '--no-training');
  browser = await launch();
});
after(async () => {
  if (browser) await browser.close();
  for (const server of Object.values(servers)) await server.kill('SIGTERM');
  fs.rmSync(folder, { recursive: true, force: true });
});

const open = (server, options) => person.open(browser, server.address, options);
const signIn = (server, options) => person.signIn(browser, server.address, 'ann', options);
const screen = (page, name) => page.screenshot({ path: path.join(SCREENS, `${name}.png`) });

// The name of who labels, given to a page whose picture may never come.
async function begin(page) {
  await page.getByLabel('Your name').fill('ann');
  await page.keyboard.press('Enter');
}

const stage = (page, state) => page.locator(`#stage[data-state="${state}"]`).waitFor();
const online = (page) => page.evaluate(() => window.dispatchEvent(new Event('online')));

// ---- what is shown is of the item that is shown ----

test('what was asked about an item is not shown for the next', async () => {
  const page = await signIn(servers[10]);
  let release;
  const asked = [];
  await page.route('**/why', async (route) => {
    asked.push(route.request().url());
    if (asked.length === 1)
      await new Promise((resolve) => {
        release = resolve;
      });
    const json = { class_1: asked.length - 1, p_1: 0.9, class_2: null, p_2: null };
    await route.fulfill({ json: { ...json, surer: 0, newer: 0, neighbours: [] } });
  });
  const first = await id(page);
  await Promise.all([page.waitForRequest('**/why'), page.keyboard.press('w')]);
  await page.keyboard.press('1');
  await shown(page, first);
  await page.keyboard.press('w');
  const box = page.locator('#insight');
  await box.getByText('takes it for bonsai').waitFor();
  const late = page.waitForResponse(asked[0]);
  release();
  await (await late).finished();
  await page.waitForTimeout(100);
  assert.match(await box.textContent(), /takes it for bonsai/);
  assert.strictEqual(new Set(asked).size, 2);
  assert.match(await box.textContent(), /surer of none of the items.*is new: none of the items/);
  await done(page);
});

// ---- texts ----

test('of texts that are near, the labels are in sight', async () => {
  const page = await signIn(servers.texts);
  const neighbours = MAILS.slice(0, 5).map(([name, text], item) => ({
    item,
    id: name,
    text,
    picture: null,
    label: item % 2,
  }));
  const why = { class_1: 0, p_1: 0.5, class_2: 1, p_2: 0.4, surer: 0.5, newer: 0.1 };
  await page.route('**/why', (route) => route.fulfill({ json: { ...why, neighbours } }));
  await page.keyboard.press('w');
  await page.locator('.near .name').first().waitFor();
  await screen(page, 'why-texts');
  const seen = await page.evaluate(() => {
    const box = document.getElementById('insight').getBoundingClientRect();
    return [...document.querySelectorAll('.near li')].map((row) => {
      const [label, text] = [...row.children].map((e) => e.getBoundingClientRect());
      return [label.right <= text.left, text.width > 300, text.height < 50, label.bottom < box.bottom];
    });
  });
  assert.deepStrictEqual(seen.slice(0, 2), Array(2).fill(Array(4).fill(true)));
  await done(page);
});
