// SPDX-License-Identifier: Apache-2.0
//
// The labelling page as a person uses it, with the real server behind: by keyboard, two at
// once, over lost connections and a killed server. No page says anything on the console, asks
// for anything elsewhere or is wider than the screen. A picture of each view is left in
// build-browser/screens/ to be looked at.
'use strict';
const { test, before, after } = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const person = require('./person.js');
const { launch, overflow, sticking, unreadable } = require('./sight.js');
const { CLASSES, labels, pictures, serve, strategies, texts } = require('./project.js');

const { done, id, notice, saved, shown, watch } = person;
const SCREENS = process.env.SCREENS;
const ITEMS = 260;

let browser, folder, dir, server, truth;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'scant-label-'));
  fs.mkdirSync(SCREENS, { recursive: true });
  dir = path.join(folder, 'clothes');
  // It trains when a test asks for it: what may be taken back changes with a round.
  const set = ['batch=200', 'epochs=20', 'auto_train=no'].flatMap((one) => ['--set', one]);
  truth = pictures(dir, ITEMS, ...set);
  server = await serve(dir);
  browser = await launch();
});
after(async () => {
  if (browser) await browser.close();
  if (server) await server.kill('SIGTERM');
  fs.rmSync(folder, { recursive: true, force: true });
});

// ---- a person at a page ----

const open = (options, address = server.address) => person.open(browser, address, options);
const signIn = (name, options, address = server.address) =>
  person.signIn(browser, address, name, options);

const keyOf = (label) => String((label + 1) % 10);

// Labels n items by keyboard; returns what was said, by id.
async function label(page, n) {
  const said = new Map();
  for (let i = 0; i < n; i++) {
    const now = await shown(page);
    await page.keyboard.press(keyOf(truth.get(now)));
    said.set(now, CLASSES[truth.get(now)]);
    await shown(page, now);
  }
  return said;
}

// An item whose answer was taken back is in front. (Words alone would match "is being taken
// back", too.)
async function comesAgain(page, item) {
  await notice(page, /^Taken back/);
  assert.strictEqual(await shown(page), item);
}

function assertStored(said, person) {
  const stored = labels(dir);
  for (const [item, name] of said) {
    assert.strictEqual(stored.get(item)?.label, name, item);
    if (person) assert.strictEqual(stored.get(item).annotator, person);
  }
  return stored;
}

// Each answer of a person that stands, oldest first.
const told = (page, path) => page.evaluate(async (p) => (await fetch(p)).json(), path);
const mine = async (page) =>
  (await told(page, '/api/mine?count=50')).entries
    .filter((e) => e.stands && e.kind !== 'undo')
    .reverse();

// All that a person is given who asks for as much as there is.
const given = (page) =>
  page.evaluate(async () => {
    const { csrf } = await (await fetch('/api/session')).json();
    const headers = { 'Content-Type': 'application/json', 'X-Scant': csrf };
    const body = JSON.stringify({ count: 50 });
    const reply = await fetch('/api/next', { method: 'POST', headers, body });
    return (await reply.json()).items.map((item) => item.id);
  });

// ---- one person ----

test('forty items are labelled by keyboard, and all of them are stored', async () => {
  const page = await signIn('ann');
  const said = await label(page, 40);
  assert.strictEqual(said.size, 40, 'no item came twice');
  await saved(page);
  assert.strictEqual(assertStored(said, 'ann').size, 40);
  assert.match(
    await page.locator('#progress').textContent(),
    /40 labelled now.*40 in all.* s an item/,
  );
  await done(page);
});

test('undo takes back the last answer, and reload keeps what was said', async () => {
  const page = await signIn('ann');
  const first = await id(page),
    wrong = (truth.get(first) + 1) % 10;
  await page.keyboard.press(keyOf(wrong));
  await shown(page, first);
  await saved(page);
  assert.strictEqual(labels(dir).get(first).label, CLASSES[wrong]);
  await page.keyboard.press('z');
  await comesAgain(page, first);
  assert.strictEqual(labels(dir).get(first), undefined);
  const said = await label(page, 1);
  await saved(page);
  await page.reload();
  assert.notStrictEqual(await shown(page), first);
  assertStored(said, 'ann');
  await done(page);
});

test('skip and unsure are kept apart, and are no labels', async () => {
  const page = await signIn('ann');
  const before = labels(dir).size,
    a = await id(page);
  await page.keyboard.press('s');
  const b = await shown(page, a);
  await page.keyboard.press('u');
  await shown(page, b);
  await saved(page);
  const last = (await mine(page)).slice(-2);
  assert.deepStrictEqual(
    last.map((e) => [e.id, e.kind]),
    [
      [a, 'skip'],
      [b, 'unsure'],
    ],
  );
  assert.strictEqual(labels(dir).size, before);
  await done(page);
});

test("one goes back through one's answers, and changes one", async () => {
  const page = await signIn('ann');
  const said = [...(await label(page, 3))],
    now = await id(page);
  for (let i = 2; i >= 0; i--) {
    await page.keyboard.press(i % 2 ? 'b' : 'ArrowLeft');
    await shown(page, (said[i + 1] ?? [now])[0]);
    assert.strictEqual(await id(page), said[i][0]);
    assert.match(await page.locator('#said').textContent(), new RegExp(`You said: ${said[i][1]}`));
  }
  const other = (truth.get(said[0][0]) + 3) % 10;
  await page.keyboard.press(keyOf(other));
  assert.strictEqual(await shown(page, said[0][0]), said[1][0]);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  assert.strictEqual(await shown(page, said[2][0]), now);
  await saved(page);
  assertStored(new Map([[said[0][0], CLASSES[other]], said[1], said[2]]), 'ann');
  await page.reload(); // further back than this page remembers
  const fresh = await shown(page);
  await page.keyboard.press('b');
  assert.strictEqual(await shown(page, fresh), said[0][0], 'the last entry is the change');
  await done(page);
});

test('keys are ignored in fields, shown by ?, and can be chosen', async () => {
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
  assert.strictEqual(labels(dir).get(item).label, 'Trouser');
  await page.keyboard.press('z');
  await notice(page, 'Taken back');
  await done(page);
});

test('classes have digits, then letters of their own; what has a key that is chosen gets the other', async () => {
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
  assert.deepStrictEqual(keys.few, ['1', '2d', '3', '4', '5é']); // z takes back
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

test('a key that is held down answers once', async () => {
  const page = await signIn('ann');
  const item = await id(page);
  await page.keyboard.down('1');
  await page.keyboard.down('1'); // as a keyboard repeats it
  await page.keyboard.down('1');
  await page.keyboard.up('1');
  await shown(page, item);
  await saved(page);
  assert.strictEqual(page.confirmed.size, 1);
  await page.keyboard.press('z');
  await notice(page, 'Taken back');
  await done(page);
});

// ---- connections ----

test('without a connection answers are kept, over a reload too, and can be taken back', async () => {
  const page = await signIn('ann');
  page.mayFail = true;
  await page.route('**/api/answers', (route) => route.abort());
  const said = await label(page, 3),
    fourth = await id(page);
  await page.locator('#state[data-state="offline"]').waitFor();
  assert.match(await page.locator('#state').textContent(), /3 answers kept here/);
  await page.screenshot({ path: path.join(SCREENS, 'not-connected.png') });
  const last = [...said.keys()].at(-1);
  await page.keyboard.press('z');
  assert.strictEqual(await shown(page, fourth), last);
  assert.match(await page.locator('#state').textContent(), /2 answers kept here/);
  said.delete(last);
  await page.reload();
  await page.locator('#state[data-state="offline"]').waitFor();
  assert.strictEqual(labels(dir).get([...said.keys()][0]), undefined);
  assert.ok(!said.has(await shown(page)), 'what was answered does not come again');
  await page.unroute('**/api/answers');
  await saved(page);
  assertStored(said, 'ann');
  await done(page);
});

test('a reply that is lost does not store an answer twice', async () => {
  const page = await signIn('ann');
  page.mayFail = true;
  let requests = 0;
  await page.route('**/api/answers', async (route) => {
    if (requests++ === 0) {
      await route.fetch(); // the server stores it, and nobody hears of it
      await route.abort();
    } else {
      await route.continue();
    }
  });
  const before = (await told(page, '/api/status')).info.entries;
  const said = await label(page, 1);
  await page.locator('#state[data-state="offline"]').waitFor();
  await saved(page);
  assert.ok(requests > 1);
  assert.strictEqual((await told(page, '/api/status')).info.entries, before + 1);
  assertStored(said, 'ann');
  await done(page);
});

test('an answer that the server refuses is told, and labelling goes on', async () => {
  const page = await signIn('ann');
  page.mayFail = true;
  await page.route('**/api/answers', (route) =>
    route.fulfill({ status: 409, json: { error: 'Somebody else has it by now.', items: [0] } }),
  );
  const item = await id(page);
  await page.keyboard.press('1');
  await notice(page, 'not stored: Somebody else has it by now.');
  await shown(page, item);
  await saved(page);
  await page.unroute('**/api/answers');
  const said = await label(page, 1);
  await saved(page);
  assertStored(said, 'ann');
  await done(page);
});

test('leases are renewed every minute, and given back when the page is left', async () => {
  const few = path.join(folder, 'few');
  pictures(few, 12, '--set', 'audit_every=0'); // so that one person can have all of them
  const other = await serve(few, '--no-training');
  try {
    const page = await open({}, other.address);
    await page.clock.install();
    await page.reload();
    await page.getByLabel('Your name').fill('ann');
    await page.keyboard.press('Enter');
    await shown(page);
    const [renewal] = await Promise.all([
      page.waitForResponse('**/api/renew'),
      page.clock.fastForward(61000),
    ]);
    const kept = renewal.request().postDataJSON().leases.length;
    assert.deepStrictEqual(await renewal.json(), { kept });
    const held = [...page.ids.values()];
    assert.ok(held.length >= 3);
    const ben = await signIn('ben', {}, other.address);
    assert.ok(!(await given(ben)).some((item) => held.includes(item)));
    await page.goto('about:blank');
    page.faults = page.faults.filter((fault) => fault !== 'asks for about:blank');
    let missing = held;
    for (let tries = 0; missing.length && tries < 50; tries++) {
      const all = await given(ben);
      missing = held.filter((item) => !all.includes(item));
      await ben.waitForTimeout(100);
    }
    assert.deepStrictEqual(missing, []);
    await done(ben);
    await done(page);
  } finally {
    await other.kill('SIGTERM');
  }
});

test('where events do not come through the page asks for the state', async () => {
  const page = await open();
  page.mayFail = true;
  await page.route('**/api/events', (route) =>
    route.fulfill({ status: 503, json: { error: 'too many' } }),
  );
  await page.getByLabel('Your name').fill('ann');
  await Promise.all([page.waitForResponse('**/api/status'), page.keyboard.press('Enter')]);
  await page.locator('#progress', { hasText: 'in all' }).waitFor();
  await done(page);
});

test('two people at once never see the same item', async () => {
  const people = [await signIn('ben'), await signIn('cleo')],
    seen = [new Set(), new Set()];
  for (let i = 0; i < 12; i++)
    await Promise.all(
      people.map(async (page, k) => {
        for (const item of (await label(page, 1)).keys()) seen[k].add(item);
        seen[k].add(await id(page));
      }),
    );
  await Promise.all(people.map(saved));
  assert.deepStrictEqual(
    [...seen[0]].filter((item) => seen[1].has(item)),
    [],
  );
  assert.ok(seen[0].size >= 12 && seen[1].size >= 12);
  for (const page of people) await done(page);
});

test('a server killed in the middle: what was confirmed is there, and the page goes on', async () => {
  const page = await signIn('dora');
  const said = await label(page, 5);
  await saved(page);
  page.mayFail = true;
  const item = await id(page);
  await page.keyboard.press(keyOf(truth.get(item))); // perhaps on its way when it dies
  await server.kill('SIGKILL');
  said.set(item, CLASSES[truth.get(item)]);
  const next = await shown(page, item);
  await page.keyboard.press(keyOf(truth.get(next)));
  said.set(next, CLASSES[truth.get(next)]);
  await page.locator('#state[data-state="offline"]').waitFor();
  const stored = labels(dir);
  assert.ok(page.confirmed.size >= 5);
  for (const [number, answer] of page.confirmed)
    assert.strictEqual(
      stored.get(page.ids.get(number))?.label,
      CLASSES[answer.label],
      `item ${number}`,
    );
  await server.start();
  await saved(page);
  for (const [item2, name] of await label(page, 3)) said.set(item2, name);
  await saved(page);
  assertStored(said, 'dora');
  await done(page);
});

// ---- whose answers, and of what ----

test('answers that are kept go to their own project, whatever is served at its address', async () => {
  const [one, two] = ['one', 'two'].map((name) => path.join(folder, name));
  for (const project of [one, two]) pictures(project, 20, '--set', 'name=the same');
  const other = await serve(one, '--no-training');
  const exchange = async (project) => {
    await other.kill();
    other.dir = project;
    await other.start();
  };
  const signInAgain = async (page) => {
    await page.locator('#signin-trouble', { hasText: 'Another project' }).waitFor();
    await page.keyboard.press('Enter'); // the name is proposed
    await shown(page);
    await saved(page);
  };
  try {
    const page = await signIn('fay', {}, other.address);
    page.mayFail = true;
    await page.route('**/api/answers', (route) => route.abort());
    const first = await id(page);
    await page.keyboard.press('3');
    await shown(page, first);
    await page.locator('#state[data-state="offline"]').waitFor();
    await exchange(two);
    await page.unroute('**/api/answers');
    await signInAgain(page);
    assert.strictEqual(labels(two).size, 0);
    await exchange(one);
    await signInAgain(page);
    assert.deepStrictEqual([...labels(one).keys()], [first]);
    assert.strictEqual(labels(one).get(first).label, CLASSES[2]);
    await done(page);
  } finally {
    await other.kill('SIGTERM');
  }
});

test('a key that is pressed while an answer is taken back labels nothing', async () => {
  const page = await signIn('ann');
  const first = await id(page);
  await page.keyboard.press('1');
  const second = await shown(page, first);
  await saved(page);
  const stored = labels(dir).size;
  let go;
  await page.route('**/api/undo', async (route) => {
    await new Promise((resolve) => {
      go = resolve;
    });
    await route.continue();
  });
  await Promise.all([page.waitForRequest('**/api/undo'), page.keyboard.press('z')]);
  await page.keyboard.press('2');
  await notice(page, 'One moment');
  assert.strictEqual(await id(page), second);
  go();
  await comesAgain(page, first);
  await saved(page);
  assert.strictEqual(labels(dir).size, stored - 1);
  assert.ok(!labels(dir).has(second));
  await done(page);
});

test('an undo without a connection is tried again, and takes back the same', async () => {
  const page = await signIn('ann');
  page.mayFail = true;
  const said = [...(await label(page, 2)).keys()];
  await saved(page);
  await page.route('**/api/undo', async (route) => {
    await route.fetch(); // it is heard, and nobody hears of that
    await route.abort();
  });
  await page.keyboard.press('z');
  await notice(page, 'Not connected');
  await page.unroute('**/api/undo');
  await page.keyboard.press('z');
  await comesAgain(page, said[1]);
  assert.ok(labels(dir).has(said[0]) && !labels(dir).has(said[1]));
  await done(page);
});

test('what was stored although its reply was lost is taken back there, too', async () => {
  const page = await signIn('ann');
  page.mayFail = true;
  let stored = 0;
  await page.route('**/api/answers', async (route) => {
    if (stored++ === 0) await route.fetch();
    await route.abort();
  });
  const first = await id(page);
  await page.keyboard.press('1');
  await page.locator('#state[data-state="offline"]').waitFor();
  const second = await shown(page, first);
  assert.strictEqual(labels(dir).get(first).label, CLASSES[0]);
  await page.keyboard.press('z');
  assert.strictEqual(await shown(page, second), first);
  const heard = page.waitForResponse('**/api/undo');
  await page.unroute('**/api/answers');
  const { item } = await (await heard).json();
  assert.strictEqual(item.id, first);
  await saved(page);
  assert.strictEqual(labels(dir).get(first), undefined);
  const said = await label(page, 1);
  assert.ok(said.has(first));
  await saved(page);
  assertStored(said, 'ann');
  await done(page);
});

test('going back, undo takes back the answer that is shown', async () => {
  const page = await signIn('ann');
  const said = [...(await label(page, 3)).keys()],
    now = await id(page);
  await saved(page);
  await page.keyboard.press('b');
  await shown(page, now);
  await page.keyboard.press('b');
  assert.strictEqual(await shown(page, said[2]), said[1]);
  await page.keyboard.press('z');
  await comesAgain(page, said[1]);
  assert.strictEqual(await page.locator('#said').textContent(), '');
  assert.deepStrictEqual(
    said.map((item) => labels(dir).has(item)),
    [true, false, true],
  );
  await done(page);
});

test('an item that is not ours after its answer was taken back does not come up', async () => {
  const page = await signIn('ann');
  const first = await id(page);
  await page.keyboard.press('1');
  const second = await shown(page, first);
  await saved(page);
  await page.route('**/api/undo', async (route) => {
    const response = await route.fetch(),
      json = await response.json();
    json.item.lease = null;
    await route.fulfill({ response, json });
  });
  await page.keyboard.press('z');
  await notice(page, 'not yours to label any more');
  assert.strictEqual(await id(page), second);
  await done(page);
});

test('what a proxy says is no refusal: the answer is kept and sent', async () => {
  const page = await signIn('ann');
  page.mayFail = true;
  await page.route('**/api/answers', (route) =>
    route.fulfill({ status: 404, contentType: 'text/html', body: '<h1>no such host</h1>' }),
  );
  const said = await label(page, 1);
  await page.locator('#state[data-state="offline"]', { hasText: '1 answer kept here' }).waitFor();
  await page.unroute('**/api/answers');
  await saved(page);
  assertStored(said, 'ann');
  await done(page);
});

test('two tabs of a person have items of their own, and send each answer once', async () => {
  const page = await signIn('gus'),
    second = await watch(await page.context().newPage(), server.address);
  await second.goto(server.address);
  await shown(second);
  const before = (await told(page, '/api/status')).info.entries;
  const said = new Map();
  for (let i = 0; i < 5; i++)
    for (const tab of [page, second])
      for (const [item, name] of await label(tab, 1)) {
        assert.ok(!said.has(item), `${item} came twice`);
        said.set(item, name);
      }
  assert.notStrictEqual(await id(page), await id(second));
  await Promise.all([saved(page), saved(second)]);
  assert.strictEqual((await told(page, '/api/status')).info.entries, before + 10);
  // what is taken back is this tab's last, not the person's
  const mineHere = [...said.keys()].at(-2);
  await page.keyboard.press('z');
  await comesAgain(page, mineHere);
  said.delete(mineHere);
  await second.close();
  for (const [item, name] of await label(page, 3)) said.set(item, name);
  await saved(page);
  assertStored(said, 'gus');
  assert.deepStrictEqual(second.faults, []);
  await done(page);
});

test('whoever is away holds no items, and gets new ones on coming back', async () => {
  const page = await open();
  await page.clock.install();
  await page.reload();
  await page.getByLabel('Your name').fill('hal');
  await page.keyboard.press('Enter');
  await shown(page);
  let renewals = 0;
  page.on('request', (r) => {
    if (r.url().endsWith('/api/renew')) renewals++;
  });
  await page.clock.fastForward(11 * 60000); // more than two leases
  await page.clock.runFor(3 * 60000);
  assert.strictEqual(renewals, 0);
  await Promise.all([page.waitForResponse('**/api/renew'), page.mouse.move(300, 300)]);
  await page.clock.runFor(61000);
  assert.ok(renewals >= 2, `${renewals} renewals`);
  await done(page);
});

test('somebody else labels: the session forgets who was there', async () => {
  const page = await signIn('ann');
  await label(page, 1);
  await saved(page);
  await page.locator('#person').click();
  await page.getByLabel('Your name').waitFor();
  assert.strictEqual(await page.getByLabel('Your name').inputValue(), '');
  await page.reload();
  await page.getByLabel('Your name').fill('ida');
  await page.keyboard.press('Enter');
  await shown(page);
  const said = await label(page, 1);
  await saved(page);
  assertStored(said, 'ida');
  await done(page);
});

test('digits are found on keyboards that write them with Shift', async () => {
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

test('texts in a grid can be read whole', async () => {
  const long = path.join(folder, 'long');
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
      assert.deepStrictEqual(await page.evaluate(sticking), []);
      await page.screenshot({ path: path.join(SCREENS, `grid-texts-${width}.png`) });
      await page.keyboard.press('g');
      await shown(page);
      assert.deepStrictEqual(await page.evaluate(sticking), []);
      await done(page);
    }
  } finally {
    await other.kill('SIGTERM');
  }
});

// ---- what there is besides ----

test('the model, once there is one: prediction and why on demand, look-alikes in a grid', async () => {
  const page = await signIn('ann');
  await page.goto(server.address + '#/dashboard');
  if (!(await told(page, '/api/status')).models.length)
    await page.getByRole('button', { name: 'Train now' }).click();
  for (let status; !status?.models.length || status.worker.doing !== 'idle';) {
    await page.waitForTimeout(200);
    status = await told(page, '/api/status');
    assert.strictEqual(status.worker.error, null);
  }
  await page.keyboard.press('Escape');
  await shown(page);
  assert.strictEqual(await page.locator('#insight').isVisible(), false);
  await page.keyboard.press('p');
  await page.locator('.guesses li').first().waitFor();
  await page.screenshot({ path: path.join(SCREENS, 'prediction.png') });
  await page.keyboard.press('w');
  await page.locator('.near img').first().waitFor();
  await page.screenshot({ path: path.join(SCREENS, 'why.png') });
  await page.keyboard.press('Escape');
  assert.strictEqual(await page.locator('#insight').isVisible(), false);

  await page.keyboard.press('g');
  await page.locator('.tile[aria-selected="true"]').first().waitFor();
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
  await notice(page, `${tiles - 1} answers taken back`);
  assert.strictEqual(chosen.filter((item) => labels(dir).has(item)).length, 0);
  await done(page);
});

// A field that the form does not take.
async function keepsOut(page, field, value) {
  await page.locator(field).fill(value);
  await page.getByRole('button', { name: 'Keep settings' }).click();
  assert.strictEqual(await page.locator(field).evaluate((input) => input.validity.valid), false);
  assert.strictEqual(await page.evaluate(() => document.activeElement.id), field.slice(1));
}

test('the dashboard shows curve, interval, classes, map, people and rounds, and does things', async () => {
  const page = await signIn('ann', { viewport: { width: 1280, height: 2600 } });
  await page.getByRole('link', { name: 'Dashboard' }).click();
  await page.locator('#curve .point').first().waitFor();
  await page.locator('#map-box:visible').waitFor();
  const models = (await told(page, '/api/status')).models.filter((m) => m.accuracy !== null);
  assert.strictEqual(await page.locator('#curve .point').count(), models.length);
  assert.match(
    await page.locator('#curve .point title').first().textContent(),
    /labels?: [\d.]+\s% right, between/,
  );
  // of so few audited items the interval is told
  assert.match(await page.locator('#accuracy').textContent(), /^Between \d+\s% and \d+\s% right$/);
  assert.strictEqual(await page.locator('#balance li').count(), CLASSES.length);
  assert.ok((await page.locator('#people tbody tr').count()) >= 4);
  assert.ok((await page.locator('#rounds tbody tr').count()) >= 1);
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
  await page.getByRole('button', { name: 'Keep settings' }).click();
  await notice(page, 'Settings are kept');
  assert.strictEqual(String((await told(page, '/api/status')).settings.batch), '30');
  await keepsOut(page, '#set-stop_width', ''); // which is no 0
  await page.locator('#set-stop_width').fill('0.15');
  page.mayFail = true;
  await page.locator('#set-audit_every').fill('0'); // labels of it are there already
  await page.getByRole('button', { name: 'Keep settings' }).click();
  await notice(page, /decided before the first answer/);
  await page.locator('#set-audit_every').fill('10');
  await page.locator('#set-strategy').selectOption('bald');
  await page.locator('#help-strategy', { hasText: 'disagree' }).waitFor();
  await page.getByRole('button', { name: 'Keep settings' }).click();
  await notice(page, /bayes/);
  page.mayFail = false;
  const { settings } = await told(page, '/api/status');
  assert.deepStrictEqual(
    [settings.stop_width, settings.audit_every, settings.strategy].map(String),
    ['0.15', '10', 'badge'],
  );
  await page.getByRole('button', { name: 'Add a class…' }).last().click();
  await page.getByLabel('Its name').fill('Hat');
  await page.keyboard.press('Enter');
  await page.locator('#balance li', { hasText: 'Hat' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('#classes button', { hasText: 'Hat' }).waitFor();
  await done(page);
});

test('a picture that cannot be read is told, and can be skipped', async () => {
  const small = path.join(folder, 'broken');
  pictures(small, 12);
  for (const name of fs.readdirSync(small + '-pictures'))
    fs.writeFileSync(path.join(small + '-pictures', name), 'no picture');
  const other = await serve(small, '--no-training');
  try {
    const page = await open({}, other.address);
    page.mayFail = true;
    await page.getByLabel('Your name').fill('eve');
    await page.keyboard.press('Enter');
    await page.locator('#stage[data-state="broken"]').waitFor();
    const item = await id(page);
    await page.keyboard.press('1');
    await notice(page, 'cannot be seen');
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

test('texts are shown as texts, whatever they say; the token is asked for once', async () => {
  const mails = path.join(folder, 'mails'),
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
    await saved(page); // signed in again by itself, with the token
    assert.strictEqual((await mine(page)).at(-1).id, second);
    await done(page);
  } finally {
    await other.kill('SIGTERM');
  }
});

for (const width of [1280, 360])
  for (const colorScheme of ['light', 'dark'])
    test(`every view ${width} wide, ${colorScheme}: readable, no wider than the screen`, async () => {
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
        await page.goto(`${server.address}#/${view}`);
        await page.locator(ready).first().waitFor();
        await page.waitForTimeout(200); // pictures of the grid, the map
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
        assert.deepStrictEqual(small, [], `${view}: too small to press`);
        if (view === 'dashboard')
          await page.setViewportSize({
            width,
            height: await page.evaluate(() => document.documentElement.scrollHeight),
          });
        await page.screenshot({ path: path.join(SCREENS, `${view}-${width}-${colorScheme}.png`) });
      }
      await done(page);
    });
