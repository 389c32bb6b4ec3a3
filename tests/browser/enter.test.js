// SPDX-License-Identifier: Apache-2.0
//
// Signing in: names, tokens, and sessions lost because the server was restarted.
'use strict';
const { test, before, after } = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const person = require('./person.js');
const { launch } = require('./sight.js');
const { serve, texts } = require('./project.js');

const { done, pass, saved, shown, watch } = person;
const MAILS = Array.from({ length: 24 }, (_, i) => [`mail ${i}`, `Offer ${i}: buy now.`]);

let browser, folder;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'scant-enter-'));
  browser = await launch();
});
after(async () => {
  if (browser) await browser.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

const open = (server) => person.open(browser, server.address);

// Serves a new project with a token.
async function serveWithToken(name, token) {
  const dir = path.join(folder, name);
  texts(dir, MAILS, ['spam', 'ham']);
  return serve(dir, '--no-training', '--token', token);
}

async function enter(page, token) {
  await page.getByLabel('Token').fill(token);
  await page.getByLabel('Your name').fill('ann');
  await page.keyboard.press('Enter');
  return shown(page);
}

test('a wrong token puts the focus into its field', async () => {
  const server = await serveWithToken('closed', 'open sesame, please');
  try {
    const page = await open(server);
    page.mayFail = true;
    await page.getByLabel('Token').fill('wrong');
    await page.getByLabel('Your name').fill('eve');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator('#signin-trouble', { hasText: /^The token is wrong/ }).waitFor();
    const field = page.locator('#token:focus[aria-invalid="true"]');
    await field.waitFor();
    const focused = page.evaluate(
      () =>
        new Promise((resolve) => {
          new MutationObserver(() => resolve(document.activeElement.id)).observe(document.body, {
            attributeFilter: ['data-view'],
          });
        }),
    );
    await page.keyboard.type('open sesame, please'); // replaces the selection
    await page.keyboard.press('Enter');
    assert.strictEqual(await focused, '', 'the next key is an answer, not typed into the form');
    await shown(page);
    await done(page);
  } finally {
    await server.kill('SIGTERM');
  }
});

test('the sign-in form for a new token keeps what is typed, and nothing is sent meanwhile', async () => {
  const server = await serveWithToken('locked', 'the first of tokens');
  const restart = async () => {
    await server.kill('SIGTERM');
    server.args = ['--no-training', '--token', 'the second of tokens'];
    await server.start();
  };
  try {
    const page = await open(server);
    page.mayFail = true;
    await page.clock.install();
    await page.reload();
    const item = await enter(page, 'the first of tokens');
    let requests = 0;
    page.on('request', () => requests++);
    const sent = page.waitForRequest((r) => r.method() === 'POST' && r.url().endsWith('/session'));
    await restart();
    await page.keyboard.press('1');
    await sent;
    const name = page.getByLabel('Your name');
    await name.waitFor();
    await name.fill('');
    await name.pressSequentially('a');
    await page.waitForTimeout(500); // requests under way
    requests = 0;
    await page.clock.runFor(61000); // longer than every interval of the page
    await page.waitForTimeout(200);
    assert.strictEqual(requests, 0, 'no request while nobody is signed in');
    await page.keyboard.press('n');
    assert.strictEqual(await name.inputValue(), 'an');
    await page.evaluate(() => {
      location.hash = '#/dashboard';
    });
    await restart(); // the sessions of the last one are lost
    await name.fill('ann');
    await page.getByLabel('Token').fill('the second of tokens');
    await page.keyboard.press('Enter');
    await page.locator('#balance li').first().waitFor();
    await page.keyboard.press('Escape');
    await shown(page, item);
    await saved(page);
    assert.strictEqual(page.confirmed.size, 1);
    await done(page);
  } finally {
    await server.kill('SIGTERM');
  }
});

test('two tabs sign in again at the same time after a restart of the server', async () => {
  const dir = path.join(folder, 'tabs');
  texts(dir, MAILS, ['spam', 'ham']);
  const server = await serve(dir, '--no-training');
  try {
    let session = pass;
    const routes = { '**/api/session': (route) => session(route) };
    const one = await person.signIn(browser, server.address, 'ann', { routes }),
      two = await watch(await one.context().newPage(), server.address);
    const pages = [one, two];
    await two.route('**/api/session', routes['**/api/session']);
    await two.goto(server.address);
    await shown(two);
    for (const page of pages) page.mayFail = true;
    await server.kill('SIGTERM');
    await server.start();
    // Both start a session before either signs in: the browser keeps the cookie of the last.
    let begun = 0,
      go;
    const both = new Promise((resolve) => (go = resolve));
    session = async (route) => {
      const post = route.request().method() === 'POST';
      if (post && ++begun === 2) go();
      if (post) await both;
      await route.continue();
    };
    for (const page of pages) {
      await page.bringToFront();
      await page.keyboard.press('1');
    }
    for (const page of pages) {
      await page.bringToFront();
      await saved(page);
      assert.strictEqual(await page.locator('#signin').isVisible(), false);
    }
    assert.strictEqual(one.confirmed.size + two.confirmed.size, 2);
    assert.ok(begun >= 2);
    await done(one);
  } finally {
    await server.kill('SIGTERM');
  }
});
