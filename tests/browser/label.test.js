// SPDX-License-Identifier: Apache-2.0
//
// The labelling page with a real server: keyboard, grid, predictions, dashboard. No page writes to
// the console, sends a request to another server or is wider than the screen. Screenshots of all
// views are left in build-browser/screens/.
'use strict';
const { test } = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const {
  here,
  open,
  signIn,
  keyOf,
  label,
  assertShownAgain,
  assertStored,
  getJson,
  currentAnswers,
} = require('./clothes.js');
const { done, gridLoaded, id, notice, saved, shown } = require('./person.js');
const { CLASSES, labels, pictures, serve, strategies, texts } = require('./project.js');
const { overflow, overflowingKeys, unreadable } = require('./sight.js');

const SCREENS = process.env.SCREENS;

// ---- one person ----

test('forty labels by keyboard are all stored', async () => {
  const page = await signIn('ann');
  const said = await label(page, 40);
  assert.strictEqual(said.size, 40, 'no item is shown twice');
  await saved(page);
  assert.strictEqual(assertStored(said, 'ann').size, 40);
  assert.match(
    await page.locator('#progress').textContent(),
    /40 labelled in this tab.*40 in total.* s per item/,
  );
  await done(page);
});

test('undo withdraws the last answer, and a reload keeps stored answers', async () => {
  const page = await signIn('ann');
  const first = await id(page),
    wrong = (here.truth.get(first) + 1) % 10;
  await page.keyboard.press(keyOf(wrong));
  await shown(page, first);
  await saved(page);
  assert.strictEqual(labels(here.dir).get(first).label, CLASSES[wrong]);
  await page.keyboard.press('z');
  await assertShownAgain(page, first);
  assert.strictEqual(labels(here.dir).get(first), undefined);
  const said = await label(page, 1);
  await saved(page);
  await page.reload();
  assert.notStrictEqual(await shown(page), first);
  assertStored(said, 'ann');
  await done(page);
});

test('skip and unsure are stored as different answers, not as labels', async () => {
  const page = await signIn('ann');
  const before = labels(here.dir).size,
    a = await id(page);
  await page.keyboard.press('s');
  const b = await shown(page, a);
  await page.keyboard.press('u');
  await shown(page, b);
  await saved(page);
  const last = (await currentAnswers(page)).slice(-2);
  assert.deepStrictEqual(
    last.map((e) => [e.id, e.kind]),
    [
      [a, 'skip'],
      [b, 'unsure'],
    ],
  );
  assert.strictEqual(labels(here.dir).size, before);
  await done(page);
});

test('Back shows earlier answers, which can be changed', async () => {
  const page = await signIn('ann');
  const said = [...(await label(page, 3))],
    now = await id(page);
  for (let i = 2; i >= 0; i--) {
    await page.keyboard.press(i % 2 ? 'b' : 'ArrowLeft');
    await shown(page, (said[i + 1] ?? [now])[0]);
    assert.strictEqual(await id(page), said[i][0]);
    assert.match(await page.locator('#said').textContent(), new RegExp(`Your answer: ${said[i][1]}`));
  }
  const other = (here.truth.get(said[0][0]) + 3) % 10;
  await page.keyboard.press(keyOf(other));
  assert.strictEqual(await shown(page, said[0][0]), said[1][0]);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  assert.strictEqual(await shown(page, said[2][0]), now);
  await saved(page);
  assertStored(new Map([[said[0][0], CLASSES[other]], said[1], said[2]]), 'ann');
  await page.reload(); // then earlier answers come from the server
  const fresh = await shown(page);
  await page.keyboard.press('b');
  assert.strictEqual(await shown(page, fresh), said[0][0], 'the last entry is the change');
  await done(page);
});

test('keys are ignored in fields, listed by ?, and can be changed', async () => {
  const page = await signIn('ann');
  const now = await id(page);
  await page.keyboard.press('?');
  await page.screenshot({ path: path.join(SCREENS, 'keys.png') });
  const row = page.locator('#keys-classes tr', { hasText: 'Trouser' }).getByRole('button');
  await row.click();
  await page.keyboard.press('q');
  assert.strictEqual(await row.textContent(), 'Q');
  await page.keyboard.press('1'); // a dialog is open: no answer
  await page.keyboard.press('Escape');
  await page.locator('#do-class').click();
  await page.keyboard.type('s12');
  await page.keyboard.press('Escape');
  assert.strictEqual(await id(page), now);
  await page.reload();
  const item = await shown(page);
  await page.keyboard.press('q');
  await shown(page, item);
  await saved(page);
  assert.strictEqual(labels(here.dir).get(item).label, 'Trouser');
  await page.keyboard.press('z');
  await notice(page, 'Undone');
  await done(page);
});

test('classes have digits, then free letters; choosing a taken key swaps the two keys', async () => {
  const page = await signIn('ann');
  const keys = await page.evaluate(async () => {
    const { Keys } = await import('/keys.js');
    const of = (names, ...choices) => {
      const keys = new Keys('of a test');
      keys.setClasses(names.map((name, label) => ({ label, name })));
      for (const [what, key] of choices) keys.choose(what, { key });
      const found = names.map((_, label) => keys.forClass(label).join(''));
      keys.reset();
      return found;
    };
    const many = Array.from({ length: 30 }, (_, i) => `class ${i}`);
    return {
      few: of(['cat', 'dog', 'cow', 'Zebra', 'éclair']),
      many: of(many),
      swapped: of(['cat', 'dog'], ['class cat', '2']),
      taken: of(['cat', 'dog'], ['class cat', 'S'], ['class dog', 'Enter']),
    };
  });
  assert.deepStrictEqual(keys.few, ['1', '2d', '3', '4', '5é']); // z is undo
  assert.deepStrictEqual(keys.many.slice(0, 10), [...'1234567890']);
  const letters = keys.many.filter((key) => /^[a-z]$/.test(key));
  assert.strictEqual(new Set(letters).size, letters.length);
  assert.ok(
    letters.length === 19 && !letters.some((key) => 'zsubgpw'.includes(key)),
    letters.join(),
  );
  assert.deepStrictEqual(keys.swapped, ['2', '1']);
  assert.deepStrictEqual(keys.taken, ['s', '2d']);
  await done(page);
});

test('a key held down answers once', async () => {
  const page = await signIn('ann');
  const item = await id(page);
  await page.keyboard.down('1');
  await page.keyboard.down('1'); // keyboards repeat it
  await page.keyboard.down('1');
  await page.keyboard.up('1');
  await shown(page, item);
  await saved(page);
  assert.strictEqual(page.confirmed.size, 1);
  await page.keyboard.press('z');
  await notice(page, 'Undone');
  await done(page);
});

test('digit keys work on keyboards where digits need Shift', async () => {
  const page = await signIn('ann');
  const found = await page.evaluate(async () => {
    const { Keys } = await import('/keys.js');
    const keys = new Keys('of a test');
    keys.setClasses(Array.from({ length: 6 }, (_, label) => ({ label, name: `class ${label}` })));
    return [
      { key: '&', code: 'Digit1' }, // French
      { key: '-', code: 'Digit6' },
      { key: '+', code: 'Digit1' }, // Czech
      { key: '1', code: 'Digit1', shiftKey: true },
      { key: '2', code: 'Numpad2' },
      { key: 'ArrowLeft', code: 'Numpad4' }, // without Num Lock
      { key: '-', code: 'Minus' },
      { key: '?', code: 'Slash', shiftKey: true },
    ].map((event) => Object.values(keys.find(event)).join());
  });
  assert.deepStrictEqual(found, ['0', '5', '0', '0', '1', 'back', 'smaller', 'help']);
  await done(page);
});

// ---- other views ----

test('the grid shows the full text of an item', async () => {
  const long = path.join(here.folder, 'long');
  texts(
    long,
    Array.from({ length: 24 }, (_, i) => [`text ${i}`, `begins ${i}\n${'word '.repeat(90)}end ${i}`]),
    ['spam', 'ham'],
  );
  const other = await serve(long, '--no-training');
  try {
    for (const width of [1280, 360]) {
      const page = await signIn('ann', { viewport: { width, height: 800 } }, other.address);
      await page.keyboard.press('g');
      await page.locator('.tile').nth(1).waitFor();
      await page.keyboard.press('ArrowRight');
      const n = (await page.locator('.tile').nth(1).getAttribute('title')).split(' ')[1];
      assert.match(await page.locator('#grid-whole').textContent(), new RegExp(`end ${n}$`));
      const covered = await page.locator('.tile').evaluateAll((tiles) =>
        tiles.filter((tile) => {
          const words = tile.querySelector('.clip').getBoundingClientRect(),
            tick = tile.querySelector('.tick').getBoundingClientRect();
          return words.right > tick.left || words.bottom > tile.getBoundingClientRect().bottom;
        }).length,
      );
      assert.strictEqual(covered, 0);
      assert.ok((await page.evaluate(overflow)) <= 0);
      assert.deepStrictEqual(await page.evaluate(overflowingKeys), []);
      await page.screenshot({ path: path.join(SCREENS, `grid-texts-${width}.png`) });
      await page.keyboard.press('g');
      await shown(page);
      assert.deepStrictEqual(await page.evaluate(overflowingKeys), []);
      await done(page);
    }
  } finally {
    await other.kill('SIGTERM');
  }
});

test('with a model the page shows predictions and reasons on request, and similar items', async () => {
  const page = await signIn('ann');
  await page.goto(here.server.address + '#/dashboard');
  if (!(await getJson(page, '/api/status')).models.length)
    await page.getByRole('button', { name: 'Train now' }).click();
  for (let status; !status?.models.length || status.worker.doing !== 'idle';) {
    await page.waitForTimeout(200);
    status = await getJson(page, '/api/status');
    assert.strictEqual(status.worker.error, null);
  }
  await page.keyboard.press('Escape');
  await shown(page);
  assert.strictEqual(await page.locator('#insight').isVisible(), false);
  await page.keyboard.press('p');
  await page.locator('.predictions li').first().waitFor();
  await page.screenshot({ path: path.join(SCREENS, 'prediction.png') });
  await page.keyboard.press('w');
  await page.locator('.near img').first().waitFor();
  await page.screenshot({ path: path.join(SCREENS, 'why.png') });
  await page.keyboard.press('Escape');
  assert.strictEqual(await page.locator('#insight').isVisible(), false);

  await page.keyboard.press('g');
  await gridLoaded(page);
  const tiles = await page.locator('.tile').count();
  assert.ok(tiles > 2, `${tiles} tiles`);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press(' ');
  assert.strictEqual(await page.locator('.tile[aria-selected="true"]').count(), tiles - 1);
  await page.screenshot({ path: path.join(SCREENS, 'grid.png') });
  const chosen = await page
    .locator('.tile[aria-selected="true"]')
    .evaluateAll((all) => all.map((e) => e.title));
  const rest = await page.locator('.tile[aria-selected="false"]').getAttribute('title');
  const [request] = await Promise.all([
    page.waitForRequest('**/api/answers'),
    page.keyboard.press('3'),
  ]);
  assert.strictEqual(
    request.postDataJSON().answers.length,
    tiles - 1,
    'one request for all of them',
  );
  await notice(page, `${tiles - 1} items: Pullover`);
  await saved(page);
  const stored = assertStored(new Map(chosen.map((item) => [item, 'Pullover'])), 'ann');
  assert.strictEqual(stored.get(rest), undefined);
  await page.keyboard.press('z');
  await notice(page, `${tiles - 1} answers undone`);
  assert.strictEqual(chosen.filter((item) => labels(here.dir).has(item)).length, 0);
  await done(page);
});

// The form rejects a value, and focuses its field.
async function assertRejected(page, field, value) {
  await page.locator(field).fill(value);
  await page.getByRole('button', { name: 'Save settings' }).click();
  assert.strictEqual(await page.locator(field).evaluate((input) => input.validity.valid), false);
  assert.strictEqual(await page.evaluate(() => document.activeElement.id), field.slice(1));
}

test('the dashboard shows the meter, curve, classes, map, people and rounds; settings and classes can be changed', async () => {
  const page = await signIn('ann', { viewport: { width: 1280, height: 2600 } });
  await page.getByRole('link', { name: 'Dashboard' }).click();
  await page.locator('#curve .point').first().waitFor();
  await page.locator('#map-box:visible').waitFor();
  const status = await getJson(page, '/api/status'),
    models = status.models.filter((m) => m.accuracy !== null);
  assert.strictEqual(await page.locator('#curve .point').count(), models.length);
  assert.match(
    await page.locator('#curve .point title').first().textContent(),
    /labels?: accuracy [\d.]+\s%, between/,
  );
  // few audited items: the interval only
  assert.match(await page.locator('#accuracy').textContent(), /^Accuracy \d+\s% to \d+\s%$/);
  assert.strictEqual(await page.locator('#balance li').count(), CLASSES.length);
  assert.ok(status.people.length && status.rounds.length);
  assert.strictEqual(await page.locator('#people tbody tr').count(), status.people.length);
  assert.strictEqual(await page.locator('#rounds tbody tr').count(), status.rounds.length);
  assert.ok((await page.locator('#advice p').count()) >= 1);
  const colours = await page.locator('#map').evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height),
      found = new Set();
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] === 255) found.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
    return found.size;
  });
  assert.ok(colours > 5, `${colours} colours on the map`);
  await page.locator('#map').focus();
  await page.keyboard.press('ArrowRight');
  await page.locator('#map-item .id').waitFor();
  await page.locator('#map-item img').waitFor();
  await page.screenshot({ path: path.join(SCREENS, 'dashboard.png') });
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'CSV' }).click(),
  ]);
  assert.match(fs.readFileSync(await download.path(), 'utf8'), /^id,/);
  const offered = await page.locator('#set-strategy option').allTextContents();
  assert.deepStrictEqual(offered.sort(), strategies().sort());
  await page.locator('#set-batch').fill('30');
  await page.getByRole('button', { name: 'Save settings' }).click();
  await notice(page, 'Settings saved');
  assert.strictEqual(String((await getJson(page, '/api/status')).settings.batch), '30');
  await assertRejected(page, '#set-stop_width', ''); // not 0
  await page.locator('#set-stop_width').fill('0.15');
  page.mayFail = true;
  await page.locator('#set-audit_every').fill('0'); // the audit set has labels already
  await page.getByRole('button', { name: 'Save settings' }).click();
  await notice(page, /drawn before the first answer/);
  await page.locator('#set-audit_every').fill('10');
  await page.locator('#set-strategy').selectOption('bald');
  await page.locator('#help-strategy', { hasText: 'disagree' }).waitFor();
  await page.getByRole('button', { name: 'Save settings' }).click();
  await notice(page, /bayes/);
  page.mayFail = false;
  const { settings } = await getJson(page, '/api/status');
  assert.deepStrictEqual(
    [settings.stop_width, settings.audit_every, settings.strategy].map(String),
    ['0.15', '10', 'badge'],
  );
  await page.getByRole('button', { name: 'Add a class…' }).last().click();
  await page.getByLabel('Class name').fill('Hat');
  await page.keyboard.press('Enter');
  await page.locator('#balance li', { hasText: 'Hat' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('#classes button', { hasText: 'Hat' }).waitFor();
  await done(page);
});

test('the page reports an image that cannot be read, and the item can be skipped', async () => {
  const small = path.join(here.folder, 'broken');
  pictures(small, 12);
  for (const name of fs.readdirSync(small + '-pictures'))
    fs.writeFileSync(path.join(small + '-pictures', name), 'not an image');
  const other = await serve(small, '--no-training');
  try {
    const page = await open({}, other.address);
    page.mayFail = true;
    await page.getByLabel('Your name').fill('eve');
    await page.keyboard.press('Enter');
    await page.locator('#stage[data-state="broken"]').waitFor();
    const item = await id(page);
    await page.keyboard.press('1');
    await notice(page, 'cannot be shown');
    assert.strictEqual(await id(page), item);
    await page.screenshot({ path: path.join(SCREENS, 'broken.png') });
    await page.keyboard.press('s');
    await page.waitForFunction(
      (old) => document.getElementById('item-id').textContent !== old,
      item,
    );
    await done(page);
  } finally {
    await other.kill('SIGTERM');
  }
});

test('texts are never markup, and the token is needed only once', async () => {
  const mails = path.join(here.folder, 'mails'),
    evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
  texts(
    mails,
    Array.from({ length: 30 }, (_, i) => [
      `${evil} ${i}`,
      `${evil}\n\nline two of ${i}\n` + 'word '.repeat(40 * (i % 5)),
    ]),
    [evil, 'ham'],
  );
  const other = await serve(mails, '--no-training', '--token', 'open sesame, please');
  try {
    const page = await open({}, other.address);
    page.mayFail = true;
    await page.getByLabel('Your name').fill('eve');
    await page.getByLabel('Token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.locator('#signin-trouble', { hasText: 'token' }).waitFor();
    await page.screenshot({ path: path.join(SCREENS, 'signin.png') });
    await page.getByLabel('Token').fill('open sesame, please');
    await page.keyboard.press('Enter');
    const first = await shown(page);
    assert.ok(first.startsWith(evil));
    assert.match(await page.locator('#stage .text').textContent(), /line two/);
    await page.screenshot({ path: path.join(SCREENS, 'text.png') });
    await page.keyboard.press('1');
    await shown(page, first);
    await page.goto(other.address + '#/dashboard');
    await page.locator('#balance li').first().waitFor();
    assert.match(await page.title(), /^mails/);
    assert.strictEqual(await page.locator('main img[src="x"]').count(), 0);
    await saved(page);
    await other.kill();
    await other.start();
    await page.goto(other.address + '#/label');
    const second = await shown(page);
    await page.keyboard.press('2');
    await shown(page, second);
    await saved(page); // signed in again with the remembered token
    assert.strictEqual((await currentAnswers(page)).at(-1).id, second);
    await done(page);
  } finally {
    await other.kill('SIGTERM');
  }
});

for (const width of [1280, 360])
  for (const colorScheme of ['light', 'dark'])
    test(`every view ${width} wide, ${colorScheme}: readable, not wider than the screen`, async () => {
      const page = await signIn('ann', {
        viewport: { width, height: width > 500 ? 800 : 740 },
        colorScheme,
        hasTouch: width < 500,
      });
      for (const [view, ready] of [
        ['label', '#stage[data-state="shown"]'],
        ['grid', '.tile'],
        ['dashboard', '#curve .point'],
      ]) {
        await page.goto(`${here.server.address}#/${view}`);
        await page.locator(ready).first().waitFor();
        await page.waitForFunction(() =>
          [...document.querySelectorAll('.tile .shown')].every((box) => box.hasChildNodes()),
        );
        if (view === 'dashboard') await page.locator('#map-box').waitFor();
        assert.ok((await page.evaluate(overflow)) <= 0, `${view} is wider than the screen`);
        assert.deepStrictEqual(await page.evaluate(unreadable), [], view);
        const small = await page.evaluate(() =>
          [...document.querySelectorAll('button, a, input, select, summary')]
            .filter(
              (e) =>
                e.checkVisibility() &&
                !e.closest('.jump') &&
                e.getBoundingClientRect().height < 43.5,
            )
            .map((e) => e.outerHTML),
        );
        assert.deepStrictEqual(small, [], `${view}: too small to tap`);
        if (view === 'dashboard')
          await page.setViewportSize({
            width,
            height: await page.evaluate(() => document.documentElement.scrollHeight),
          });
        await page.screenshot({ path: path.join(SCREENS, `${view}-${width}-${colorScheme}.png`) });
      }
      await done(page);
    });
