// SPDX-License-Identifier: Apache-2.0
//
// A person at the labelling page. done() fails if the page wrote to the console or sent a request
// to another server.
'use strict';
const assert = require('node:assert');

const PATIENCE = 15000; // milliseconds, for a loaded machine

/** Route handlers. */
exports.pass = (route) => route.continue();
exports.abort = (route) => route.abort();

/** Opens a page in a context of its own. routes: handlers by pattern. They are installed before the
 * page is opened: a request soon after page.route() on an open page may bypass the handler. A test
 * switches a handler by a variable. The other options are the context's. */
exports.open = async (browser, address, { routes = {}, ...options } = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await exports.watch(await context.newPage(), address);
  for (const [pattern, handler] of Object.entries(routes)) await page.route(pattern, handler);
  await page.goto(address);
  return page;
};

/** Records what a page does. */
exports.watch = async (page, address) => {
  page.faults = [];
  page.mayFail = false; // failed requests are expected
  page.confirmed = new Map(); // item -> answer that the server has confirmed
  page.ids = new Map(); // item -> id, of the items the server sent
  page.setDefaultTimeout(PATIENCE);
  page.on('console', (m) => {
    if (!page.mayFail || !/Failed to load resource|ERR_/.test(m.text()))
      page.faults.push(`${m.type()}: ${m.text()}`);
  });
  page.on('pageerror', (e) => page.faults.push(`error: ${e.stack}`));
  page.on('request', (r) => {
    if (!r.url().startsWith(new URL(address).origin + '/') && !r.url().startsWith('data:'))
      page.faults.push('requests ' + r.url());
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
  await page.unrouteAll({ behavior: 'ignoreErrors' }); // handlers of requests under way
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

/** Waits until an item other than `before` is shown; returns its id. */
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

/** Waits until the grid shows similar items and no image of them is loading: before, the page
 * refuses answers. */
exports.gridLoaded = (page) =>
  page.waitForFunction(() => {
    const boxes = [...document.querySelectorAll('.tile .shown')];
    return boxes.length > 1 && boxes.every((box) => box.hasChildNodes());
  });

/** The event of a browser that is back online: the page then retries at once. */
exports.online = (page) => page.evaluate(() => window.dispatchEvent(new Event('online')));

exports.saved = (page) => page.locator('#state[data-state="saved"]').waitFor();

/** Waits for a locator; a timeout reports what the box shows instead. */
exports.waitIn = async (box, locator) => {
  try {
    await locator.waitFor();
  } catch (error) {
    const now = await box.evaluate((e) => `"${e.textContent}"${e.checkVisibility() ? '' : ' (hidden)'}`);
    throw new Error(`${error.message}\nThe box shows: ${now}`, { cause: error });
  }
};

exports.notice = (page, words) =>
  exports.waitIn(page.locator('#notice'), page.locator('#notice.seen', { hasText: words }));
