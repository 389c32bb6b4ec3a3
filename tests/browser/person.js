// SPDX-License-Identifier: Apache-2.0
//
// A person at the labelling page, for tests of it. A page notes what must not be: words on the
// console, requests to elsewhere.
'use strict';
const assert = require('node:assert');

const PATIENCE = 15000; // milliseconds, on a machine that does other things, too

/** A page at an address; options are a context's. `confirmed`: answers that the server has
 * confirmed, by item; `ids`: of the items it gave. */
exports.open = async (browser, address, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await exports.watch(await context.newPage(), address);
  await page.goto(address);
  return page;
};

exports.watch = async (page, address) => {
  page.faults = [];
  page.mayFail = false; // requests, for a while
  page.confirmed = new Map();
  page.ids = new Map();
  page.setDefaultTimeout(PATIENCE);
  page.on('console', (m) => {
    if (!page.mayFail || !/Failed to load resource|ERR_/.test(m.text()))
      page.faults.push(`${m.type()}: ${m.text()}`);
  });
  page.on('pageerror', (e) => page.faults.push(`error: ${e.stack}`));
  page.on('request', (r) => {
    if (!r.url().startsWith(new URL(address).origin + '/') && !r.url().startsWith('data:'))
      page.faults.push('asks for ' + r.url());
  });
  page.on('response', async (r) => {
    if (r.status() !== 200) return;
    if (r.url().endsWith('/api/answers'))
      for (const answer of r.request().postDataJSON().answers)
        page.confirmed.set(answer.item, answer);
    if (r.url().endsWith('/api/next'))
      for (const item of (await r.json().catch(() => ({ items: [] }))).items)
        page.ids.set(item.item, item.id);
  });
  return page;
};

exports.done = async (page) => {
  assert.deepStrictEqual(page.faults, []);
  await page.unrouteAll({ behavior: 'ignoreErrors' }); // of requests that are under way
  await page.context().close();
};

exports.signIn = async (browser, address, name, options) => {
  const page = await exports.open(browser, address, options);
  await page.getByLabel('Your name').fill(name);
  await page.keyboard.press('Enter');
  await exports.shown(page);
  return page;
};

exports.id = (page) => page.locator('#item-id').textContent();

/** The item in front, once it can be seen; other than `before`. Returns its id. */
exports.shown = async (page, before = '') => {
  await page.waitForFunction(
    (old) =>
      document.body.dataset.view === 'label' &&
      document.getElementById('stage').dataset.state === 'shown' &&
      document.getElementById('item-id').textContent !== old,
    before,
  );
  return exports.id(page);
};

exports.saved = (page) => page.locator('#state[data-state="saved"]').waitFor();

exports.notice = (page, words) => page.locator('#notice.seen', { hasText: words }).waitFor();
