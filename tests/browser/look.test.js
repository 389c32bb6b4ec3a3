// SPDX-License-Identifier: Apache-2.0
//
// What is visible on the labelling page, also on phones and with many classes: an item cannot be
// answered before it is shown, and nothing is cut off, hidden or too faint. Screenshots are left
// in build-browser/screens/.
'use strict';
const { test, before, after } = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const person = require('./person.js');
const { launch, overflow, unreadable } = require('./sight.js');
const { picturesOf, serve, texts } = require('./project.js');

const { abort, done, gridLoaded, id, notice, online, pass, saved, shown, waitIn } = person;
const SCREENS = process.env.SCREENS;
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const NAMES = (
  'airplane,bonsai,brain,buddha,butterfly,car_side,chandelier,Faces_easy,grand_piano,hawksbill,' +
  'helicopter,kangaroo,ketch,Leopards,menorah,Motorbikes,starfish,sunflower,trilobite,watch,' +
  'accordion,umbrella,rooster,lotus,laptop,joshua-tree,electric guitar,hedgehog,flamingo,crocodile'
).split(',');
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

// Signs in without waiting for an image, which may never load.
async function begin(page) {
  await page.getByLabel('Your name').fill('ann');
  await page.keyboard.press('Enter');
}

const stage = (page, state) => page.locator(`#stage[data-state="${state}"]`).waitFor();

// Leases the next items, and returns them.
const next = (page) =>
  page.evaluate(async () => {
    const { csrf } = await (await fetch('/api/session')).json();
    const headers = { 'Content-Type': 'application/json', 'X-Scant': csrf };
    const body = JSON.stringify({ count: 8 });
    return (await (await fetch('/api/next', { method: 'POST', headers, body })).json()).items;
  });

// Without features there are no similar items: these routes reply with the next items instead.
const nextAsSimilar = {
  '**/api/alike': async (route) => {
    const page = route.request().frame().page();
    await saved(page); // else the reply would have items just answered
    await route.fulfill({ json: { items: await next(page) } });
  },
};

// ---- about the item shown ----

test('a late reply about an item is not shown for the next item', async () => {
  let release;
  const asked = [];
  const why = async (route) => {
    asked.push(route.request().url());
    if (asked.length === 1)
      await new Promise((resolve) => {
        release = resolve;
      });
    const json = { class_1: asked.length - 1, p_1: 0.9, class_2: null, p_2: null };
    await route.fulfill({ json: { ...json, surer: 0, newer: 0, neighbours: [] } });
  };
  const page = await signIn(servers[10], { routes: { '**/why': why } });
  const first = await id(page);
  await Promise.all([page.waitForRequest('**/why'), page.keyboard.press('w')]);
  await page.keyboard.press('1');
  await shown(page, first);
  await page.keyboard.press('w');
  const box = page.locator('#insight');
  await box.getByText('predicts bonsai').waitFor();
  const late = page.waitForResponse(asked[0]);
  release();
  await (await late).finished();
  await page.waitForTimeout(100);
  assert.match(await box.textContent(), /predicts bonsai/);
  assert.strictEqual(new Set(asked).size, 2);
  assert.match(await box.textContent(), /more certain about none of the items.*is novel: none of the unlabelled items/);
  await done(page);
});

test('the page says why there is no prediction', async () => {
  let prediction = pass,
    why = pass;
  const page = await signIn(servers[10], {
    routes: { '**/prediction': (route) => prediction(route), '**/why': (route) => why(route) },
  });
  page.mayFail = true;
  const box = page.locator('#insight'),
    says = (words) => waitIn(box, box.locator('p').getByText(words, { exact: true })),
    ask = async (key, words) => {
      await page.keyboard.press(key);
      await says(words);
      await page.keyboard.press('Escape');
    };
  await ask('p', 'There is no model yet.');
  await ask('w', 'Drawn at random: there is no model yet.');
  const words = 'there is no prediction for this item yet';
  prediction = (route) => route.fulfill({ status: 404, json: { error: words } });
  const nothing = { class_1: null, p_1: null, class_2: null, p_2: null, surer: null, newer: null };
  why = (route) => route.fulfill({ json: { ...nothing, model: 3, neighbours: [] } });
  for (const key of ['p', 'w']) await ask(key, 'There is no prediction for this item yet.');
  await done(page);
});

test('changing a label to unsure and back updates the number of labels', async () => {
  const page = await signIn(servers[10]);
  for (let i = 0; i < 3; i++) {
    const item = await shown(page);
    await page.keyboard.press('1');
    await shown(page, item);
  }
  const progress = (words) => page.locator('#progress', { hasText: words }).waitFor();
  await progress('3 labelled in this tab');
  const now = await id(page);
  for (const [key, words] of [
    ['u', '2 labelled in this tab'],
    ['2', '3 labelled in this tab'],
  ]) {
    await page.keyboard.press('b');
    await shown(page, now);
    await page.keyboard.press(key);
    await notice(page, 'Changed to');
    assert.strictEqual(await shown(page), now);
    await progress(words);
  }
  await saved(page);
  await done(page);
});

// ---- images that cannot be loaded ----

test('an image that failed without a connection loads when it is back; the item cannot be skipped meanwhile', async () => {
  let picture = abort;
  const page = await open(servers[10], { routes: { '**/picture?*': (route) => picture(route) } });
  page.mayFail = true;
  await begin(page);
  await stage(page, 'away');
  await screen(page, 'away');
  const item = await id(page);
  for (const key of ['s', 'u', '1']) {
    await page.evaluate(() => document.getElementById('notice').classList.remove('seen'));
    await page.keyboard.press(key);
    await notice(page, 'Not connected');
  }
  assert.strictEqual(await id(page), item);
  picture = pass;
  await online(page);
  assert.strictEqual(await shown(page), item);
  await done(page);
});

test('an image that was given up is retried when the connection is back', async () => {
  let tries = 0;
  let picture = (route) => {
    tries++;
    return route.fulfill({ status: 404, json: { error: 'there is no such file' } });
  };
  const page = await open(servers[10], { routes: { '**/picture?*': (route) => picture(route) } });
  page.mayFail = true;
  await page.clock.install();
  await page.reload();
  await begin(page);
  await stage(page, 'broken');
  let before;
  do {
    before = tries;
    await page.clock.runFor(9000);
    await page.waitForTimeout(200);
  } while (tries > before);
  picture = pass;
  await online(page);
  await shown(page);
  await done(page);
});

test('an item can be skipped after the server failed to send its image, but not without a connection', async () => {
  for (const [fail, state] of [
    [(route) => route.fulfill({ status: 500, json: { error: 'the disk is broken' } }), 'broken'],
    [abort, 'away'],
  ]) {
    const page = await open(servers[10], { routes: { '**/picture?*': fail } });
    page.mayFail = true;
    await page.clock.install();
    await page.reload();
    await begin(page);
    await stage(page, 'away');
    const item = await id(page);
    await page.keyboard.press('s');
    await notice(page, 'Not connected');
    assert.strictEqual(await id(page), item);
    for (let tries = 0; tries < 6; tries++) {
      await page.clock.runFor(9000);
      await page.waitForTimeout(200);
    }
    await stage(page, state);
    await page.keyboard.press('s');
    if (state === 'broken')
      await page.waitForFunction(
        (old) => document.getElementById('item-id').textContent !== old,
        item,
      );
    else assert.strictEqual(await id(page), item);
    await saved(page);
    await done(page);
  }
});

test('the grid never answers an item whose image failed', async () => {
  let lost = null;
  const picture = (route) =>
    lost && route.request().url().includes(`${lost.picture}?`) ? route.abort() : route.continue();
  const page = await signIn(servers[10], { routes: { ...nextAsSimilar, '**/picture?*': picture } });
  page.mayFail = true;
  lost = (await next(page))[3];
  await page.keyboard.press('g');
  const tile = page.locator(`.tile[title="${lost.id}"]`),
    chosen = page.locator('.tile[aria-selected="true"]');
  await tile.getByText('loads later').waitFor();
  await gridLoaded(page);
  const n = await page.locator('.tile').count();
  assert.ok(n >= 7, `${n} tiles`);
  await page.getByRole('button', { name: 'All', exact: true }).click();
  assert.strictEqual(await chosen.count(), n - 1);
  await tile.click({ force: true }); // a person can click it although it is disabled
  await page.keyboard.press(' ');
  assert.strictEqual(await chosen.count(), n - 1);
  await screen(page, 'grid-lost');
  const [request] = await Promise.all([
    page.waitForRequest('**/api/answers'),
    page.keyboard.press('1'),
  ]);
  const { answers } = request.postDataJSON();
  assert.strictEqual(answers.length, n - 1);
  assert.ok(!answers.some((answer) => answer.item === lost.item));
  await saved(page);
  await done(page);
});

test('without features the grid says why it is empty, and keeps saying it', async () => {
  const page = await signIn(servers[20], { viewport: { width: 360, height: 740 } });
  page.mayFail = true;
  await page.clock.install();
  await page.getByRole('link', { name: 'Similar items' }).click();
  const words = page.locator('#grid-words', { hasText: /^Similar items cannot be found/ });
  await words.waitFor();
  await page.clock.runFor(20000);
  assert.ok(await words.isVisible());
  assert.strictEqual(await page.locator('#notice.seen').count(), 0);
  await screen(page, 'grid-early');
  await done(page);
});

// ---- addresses ----

test('the skip link goes to the content, and unknown addresses show a view', async () => {
  const page = await signIn(servers[10]);
  const view = () => page.evaluate(() => document.body.dataset.view);
  await page.getByRole('link', { name: 'Dashboard' }).click();
  await page.locator('.jump').focus();
  await page.keyboard.press('Enter');
  assert.strictEqual(await page.evaluate(() => document.activeElement.id), 'main');
  assert.strictEqual(await view(), 'dashboard');
  for (const hash of ['#main', '#/toString', '#/nowhere', '#/dashboard', '#main']) {
    await page.evaluate((h) => {
      location.hash = h;
    }, hash);
    await page.waitForTimeout(50);
  }
  assert.strictEqual(await view(), 'dashboard');
  await page.getByRole('link', { name: 'Label', exact: true }).click();
  await shown(page);
  await done(page);
});

// ---- small screens, many classes, long names ----

for (const n of [20, 30])
  test(`on a phone the image stays visible when the last of ${n} classes is tapped`, async () => {
    const page = await signIn(servers[n], PHONE);
    const item = await id(page);
    const last = page.locator('#classes button').last();
    await last.scrollIntoViewIfNeeded();
    await last.tap();
    await shown(page, item);
    await screen(page, `phone-${n}`);
    const { top, bottom, scrolled } = await page.evaluate(() => {
      const { top, bottom } = document.querySelector('#stage img').getBoundingClientRect();
      return { top, bottom, scrolled: window.scrollY };
    });
    assert.ok(scrolled > 0);
    assert.ok(top >= 0 && bottom <= 844 && bottom - top > 150, `from ${top} to ${bottom}`);
    await saved(page);
    await done(page);
  });

test('on a phone the page scrolls up to the next similar items after an answer', async () => {
  const page = await signIn(servers[30], { ...PHONE, routes: nextAsSimilar });
  await page.getByRole('link', { name: 'Similar items' }).tap();
  await gridLoaded(page);
  const first = await page.locator('.tile').first().getAttribute('title');
  await page.locator('#grid-classes button').last().tap();
  await page.waitForFunction(
    (old) => (document.querySelector('.tile')?.title ?? old) !== old,
    first,
  );
  await page.waitForFunction(() => window.scrollY === 0);
  await saved(page);
  await done(page);
});

test('on a phone the box about an item can be closed, and is not behind the image', async () => {
  const page = await signIn(servers[20], PHONE);
  page.mayFail = true;
  await page.locator('#do-why').tap();
  const close = page.locator('#insight').getByText('Close');
  await close.waitFor();
  const [top, under] = await page.evaluate(() => [
    document.getElementById('insight').getBoundingClientRect().top,
    document.getElementById('stage').getBoundingClientRect().bottom,
  ]);
  assert.ok(top >= under, `${top} under ${under}`);
  await screen(page, 'phone-why');
  await close.tap();
  assert.strictEqual(await page.locator('#insight').isVisible(), false);
  await done(page);
});

test('a long name is cut off at its end, within the header', async () => {
  const name = 'Wilhelmina Alexandra von Hohenzollern-Sigmaringen';
  const page = await person.signIn(browser, servers[10].address, name);
  for (const width of [360, 481, 700, 890, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const seen = await page.evaluate(() => {
      const button = document.getElementById('person'),
        words = button.firstElementChild,
        [inner, outer] = [words, button].map((e) => e.getBoundingClientRect());
      return {
        cut: words.scrollWidth > words.clientWidth,
        dots: getComputedStyle(words).textOverflow,
        within: inner.left >= outer.left && inner.right <= outer.right,
        right: window.innerWidth - outer.right,
      };
    });
    await screen(page, `header-${width}`);
    const { right, ...rest } = seen;
    assert.deepStrictEqual(rest, { cut: true, dots: 'ellipsis', within: true }, `${width} wide`);
    assert.ok(right < 24, `${width} wide: ${right} pixels at the right`);
    assert.ok((await page.evaluate(overflow)) <= 0);
  }
  assert.match(await page.locator('#person').getAttribute('title'), new RegExp(name));
  await done(page);
});

test('class names break only between words', async () => {
  for (const n of [10, 20, 30]) {
    const page = await signIn(servers[n]);
    for (const width of [390, 820, 1280, 1920]) {
      await page.setViewportSize({ width, height: 850 });
      const broken = await page.evaluate(() => {
        const found = [];
        for (const name of document.querySelectorAll('#classes .name'))
          for (const node of [...name.childNodes].filter((part) => part.nodeType === 3)) {
            const range = document.createRange();
            range.selectNodeContents(node);
            const lines = new Set([...range.getClientRects()].map((r) => r.top)).size;
            if (lines > node.data.split(' ').length) found.push(name.textContent);
          }
        return found;
      });
      assert.deepStrictEqual(broken, [], `${n} classes, ${width} wide`);
      await screen(page, `classes-${n}-${width}`);
    }
    await done(page);
  }
});

test('the buttons of two classes are not higher than those of many', async () => {
  for (const width of [390, 820, 1280]) {
    const page = await signIn(servers.texts, { viewport: { width, height: 800 } });
    const { height } = await page.locator('#classes button').first().boundingBox();
    assert.ok(height < 60, `${height} pixels`);
    await done(page);
  }
});

test('a long list of classes fades at its end, and / finds a class', async () => {
  const page = await signIn(servers[30]);
  const list = page.locator('#classes');
  assert.ok(await list.evaluate((e) => e.scrollHeight > e.clientHeight + 2));
  assert.notStrictEqual(await list.evaluate((e) => getComputedStyle(e).maskImage), 'none');
  const item = await id(page);
  await page.keyboard.press('/');
  const field = page.locator('#classes input:focus');
  await field.waitFor();
  const room = await field.evaluate((e) => {
    const inner = e.getBoundingClientRect(),
      outer = e.parentElement.getBoundingClientRect();
    return Math.min(inner.top - outer.top, inner.left - outer.left, outer.right - inner.right);
  });
  assert.ok(room >= 5, `${room} pixels for the focus ring`);
  await page.keyboard.type('rooster');
  await screen(page, 'find');
  await page.keyboard.press('Escape');
  assert.strictEqual(await page.locator('#classes button:visible').count(), 30);
  assert.strictEqual(await id(page), item);
  await page.keyboard.press('/');
  await page.keyboard.type('roos');
  await page.keyboard.press('Enter');
  await shown(page, item);
  await saved(page);
  assert.strictEqual([...page.confirmed.values()].at(-1).label, NAMES.indexOf('rooster'));
  await list.evaluate((e) => e.scrollTo(0, e.scrollHeight));
  await page.waitForFunction(
    () => getComputedStyle(document.getElementById('classes')).maskImage === 'none',
  );
  await page.keyboard.press('?');
  await page.locator('#keys-commands tr', { hasText: 'Find a class' }).getByText('/').waitFor();
  await done(page);
});

test('the search for a class keeps its text when somebody adds a class', async () => {
  let session = pass;
  const page = await open(servers[30], { routes: { '**/api/session': (route) => session(route) } });
  await page.clock.install();
  await page.reload();
  await begin(page);
  const item = await shown(page);
  session = async (route) => {
    const response = await route.fetch(),
      json = await response.json();
    json.project.classes.push({ label: NAMES.length, name: 'raster' });
    await route.fulfill({ response, json });
  };
  await page.keyboard.press('/');
  await page.keyboard.type('rster');
  for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowLeft');
  await page.clock.fastForward(61000);
  await page.locator('#classes button', { hasText: 'raster' }).waitFor({ state: 'attached' });
  await page.keyboard.type('oo');
  const field = page.locator('#classes input:focus');
  assert.strictEqual(await field.inputValue(), 'rooster');
  assert.strictEqual(await page.locator('#classes button:visible').count(), 1);
  assert.strictEqual(await id(page), item);
  await page.keyboard.press('Enter');
  await shown(page, item);
  await saved(page);
  const said = [...page.confirmed.values()].map((answer) => answer.label);
  assert.deepStrictEqual(said, [NAMES.indexOf('rooster')]);
  await done(page);
});

// ---- texts ----

for (const colorScheme of ['light', 'dark'])
  test(`texts, ${colorScheme}: named for screen readers, readable when deselected, without zoom`, async () => {
    const page = await signIn(servers.texts, { colorScheme });
    assert.strictEqual(await page.getByRole('button', { name: 'Zoom in' }).count(), 0);
    await page.keyboard.press('g');
    await page.locator('.tile').nth(1).waitFor();
    await page.getByRole('button', { name: 'None' }).click();
    assert.deepStrictEqual(await page.evaluate(unreadable), []);
    await screen(page, `grid-texts-${colorScheme}`);
    const names = await page
      .locator('.tile')
      .evaluateAll((tiles) => tiles.map((tile) => tile.getAttribute('aria-label')));
    for (const name of names) assert.match(name, /^Offer \d+: buy now\. Many.{90,130}…$/);
    await done(page);
  });

test('the labels of the nearest texts are visible', async () => {
  const neighbours = MAILS.slice(0, 5).map(([name, text], item) => ({
    item,
    id: name,
    text,
    picture: null,
    label: item % 2,
  }));
  const why = { class_1: 0, p_1: 0.5, class_2: 1, p_2: 0.4, surer: 0.5, newer: 0.1 };
  const page = await signIn(servers.texts, {
    routes: { '**/why': (route) => route.fulfill({ json: { ...why, neighbours } }) },
  });
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

test('similar items are requested once per answer, after it is stored', async () => {
  const answers = async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    await route.continue();
  };
  const page = await signIn(servers.texts, { routes: { '**/api/answers': answers } });
  let asked = 0;
  page.on('request', (r) => {
    if (r.url().endsWith('/api/alike')) asked++;
  });
  const tile = (i) => page.locator('.tile').nth(i),
    answered = new Set();
  await page.keyboard.press('g');
  for (const which of [0, 1]) {
    await gridLoaded(page);
    asked = 0;
    await page.getByRole('button', { name: 'None' }).click();
    await tile(which).click();
    answered.add(await tile(which).getAttribute('title'));
    await page.keyboard.press('1');
    await notice(page, '1 item: spam');
    await saved(page);
    await tile(1).waitFor();
    await page.waitForTimeout(300);
    assert.strictEqual(asked, 1);
    const titles = await page.locator('.tile').evaluateAll((all) => all.map((e) => e.title));
    assert.ok(!titles.some((title) => answered.has(title)));
  }
  await done(page);
});
