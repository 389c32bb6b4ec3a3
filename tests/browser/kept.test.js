// SPDX-License-Identifier: Apache-2.0
//
// No answer is lost or stored twice, whatever happens to connections, tabs, sessions and the
// server, and none is stored for another project, person or item.
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
  leaseAll,
} = require('./clothes.js');
const { abort, done, id, notice, online, pass, saved, shown, watch } = require('./person.js');
const { CLASSES, labels, pictures, serve } = require('./project.js');

const SCREENS = process.env.SCREENS;

// ---- connections ----

test('answers survive a lost connection and a reload, and can be undone', async () => {
  let answers = pass;
  const page = await signIn('ann', { routes: { '**/api/answers': (route) => answers(route) } });
  page.mayFail = true;
  answers = abort;
  const said = await label(page, 3),
    fourth = await id(page);
  await page.locator('#state[data-state="offline"]').waitFor();
  assert.match(await page.locator('#state').textContent(), /3 answers waiting/);
  await page.screenshot({ path: path.join(SCREENS, 'not-connected.png') });
  const last = [...said.keys()].at(-1);
  await page.keyboard.press('z');
  assert.strictEqual(await shown(page, fourth), last);
  assert.match(await page.locator('#state').textContent(), /2 answers waiting/);
  said.delete(last);
  await page.reload();
  await page.locator('#state[data-state="offline"]').waitFor();
  assert.strictEqual(labels(here.dir).get([...said.keys()][0]), undefined);
  assert.ok(!said.has(await shown(page)), 'an answered item is not shown again');
  answers = pass;
  await online(page);
  await saved(page);
  assertStored(said, 'ann');
  await done(page);
});

test('an answer whose reply is lost is stored once', async () => {
  let requests = 0;
  const answers = async (route) => {
    if (requests++ === 0) {
      await route.fetch(); // the server stores it, but the reply is lost
      await route.abort();
    } else {
      await route.continue();
    }
  };
  const page = await signIn('ann', { routes: { '**/api/answers': answers } });
  page.mayFail = true;
  const before = (await getJson(page, '/api/status')).info.entries;
  const said = await label(page, 1);
  await page.locator('#state[data-state="offline"]').waitFor();
  await saved(page);
  assert.ok(requests > 1);
  assert.strictEqual((await getJson(page, '/api/status')).info.entries, before + 1);
  assertStored(said, 'ann');
  await done(page);
});

test('the page reports an answer that the server refuses, and labelling continues', async () => {
  let answers = (route) =>
    route.fulfill({ status: 409, json: { error: 'Somebody else has it by now.', items: [0] } });
  const page = await signIn('ann', { routes: { '**/api/answers': (route) => answers(route) } });
  page.mayFail = true;
  const item = await id(page);
  await page.keyboard.press('1');
  await notice(page, 'not stored: Somebody else has it by now.');
  await shown(page, item);
  await saved(page);
  answers = pass;
  const said = await label(page, 1);
  await saved(page);
  assertStored(said, 'ann');
  await done(page);
});

test('leases are renewed every minute, and released when the page is left', async () => {
  const few = path.join(here.folder, 'few');
  pictures(few, 12, '--set', 'audit_every=0'); // so that one person can lease all items
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
    assert.ok(!(await leaseAll(ben)).some((item) => held.includes(item)));
    await page.goto('about:blank');
    page.faults = page.faults.filter((fault) => fault !== 'requests about:blank');
    let missing = held;
    for (let tries = 0; missing.length && tries < 50; tries++) {
      const all = await leaseAll(ben);
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

test('without server-sent events the page polls the status', async () => {
  const events = (route) => route.fulfill({ status: 503, json: { error: 'too many' } });
  const page = await open({ routes: { '**/api/events': events } });
  page.mayFail = true;
  await page.getByLabel('Your name').fill('ann');
  await Promise.all([page.waitForResponse('**/api/status'), page.keyboard.press('Enter')]);
  await page.locator('#progress', { hasText: 'in total' }).waitFor();
  await done(page);
});

test('two people never get the same item at the same time', async () => {
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

test('confirmed answers survive a killed server, and the page sends the others after a restart', async () => {
  const page = await signIn('dora');
  const said = await label(page, 5);
  await saved(page);
  page.mayFail = true;
  const item = await id(page);
  await page.keyboard.press(keyOf(here.truth.get(item))); // the server may be killed before or after it arrives
  await here.server.kill('SIGKILL');
  said.set(item, CLASSES[here.truth.get(item)]);
  const next = await shown(page, item);
  await page.keyboard.press(keyOf(here.truth.get(next)));
  said.set(next, CLASSES[here.truth.get(next)]);
  await page.locator('#state[data-state="offline"]').waitFor();
  const stored = labels(here.dir);
  assert.ok(page.confirmed.size >= 5);
  for (const [number, answer] of page.confirmed)
    assert.strictEqual(
      stored.get(page.ids.get(number))?.label,
      CLASSES[answer.label],
      `item ${number}`,
    );
  await here.server.start();
  await saved(page);
  for (const [item2, name] of await label(page, 3)) said.set(item2, name);
  await saved(page);
  assertStored(said, 'dora');
  await done(page);
});

// ---- projects, people and items ----

test('answers wait while the project is gone, and are stored when it is back', async () => {
  const page = await signIn('ann'),
    away = here.dir + '-away';
  page.mayFail = true;
  fs.renameSync(here.dir, away);
  const said = await label(page, 2);
  await page.locator('#state[data-state="offline"]').waitFor();
  assert.match(await page.locator('#state').textContent(), /2 answers waiting/);
  fs.renameSync(away, here.dir);
  await online(page);
  await saved(page);
  assertStored(said, 'ann');
  await done(page);
});

test('unsent answers go only to their own project, also if the address serves another', async () => {
  const [one, two] = ['one', 'two'].map((name) => path.join(here.folder, name));
  for (const project of [one, two]) pictures(project, 20, '--set', 'name=the same');
  const other = await serve(one, '--no-training');
  const exchange = async (project) => {
    await other.kill();
    other.dir = project;
    await other.start();
  };
  const signInAgain = async (page) => {
    await page.locator('#signin-trouble', { hasText: 'Another project' }).waitFor();
    await page.keyboard.press('Enter'); // the name is filled in
    await shown(page);
    await saved(page);
  };
  try {
    let answers = abort;
    const routes = { '**/api/answers': (route) => answers(route) };
    const page = await signIn('fay', { routes }, other.address);
    page.mayFail = true;
    const first = await id(page);
    await page.keyboard.press('3');
    await shown(page, first);
    await page.locator('#state[data-state="offline"]').waitFor();
    await exchange(two);
    answers = pass;
    await online(page);
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

test('a key pressed during an undo labels nothing', async () => {
  let go;
  const undo = async (route) => {
    await new Promise((resolve) => {
      go = resolve;
    });
    await route.continue();
  };
  const page = await signIn('ann', { routes: { '**/api/undo': undo } });
  const first = await id(page);
  await page.keyboard.press('1');
  const second = await shown(page, first);
  await saved(page);
  const stored = labels(here.dir).size;
  await Promise.all([page.waitForRequest('**/api/undo'), page.keyboard.press('z')]);
  await page.keyboard.press('2');
  await notice(page, 'Please wait');
  assert.strictEqual(await id(page), second);
  go();
  await assertShownAgain(page, first);
  await saved(page);
  assert.strictEqual(labels(here.dir).size, stored - 1);
  assert.ok(!labels(here.dir).has(second));
  await done(page);
});

test('an undo whose reply is lost can be repeated, and undoes the same answer', async () => {
  let undo = async (route) => {
    await route.fetch(); // the server undoes it, but the reply is lost
    await route.abort();
  };
  const page = await signIn('ann', { routes: { '**/api/undo': (route) => undo(route) } });
  page.mayFail = true;
  const said = [...(await label(page, 2)).keys()];
  await saved(page);
  await page.keyboard.press('z');
  await notice(page, 'Not connected');
  undo = pass;
  await page.keyboard.press('z');
  await assertShownAgain(page, said[1]);
  assert.ok(labels(here.dir).has(said[0]) && !labels(here.dir).has(said[1]));
  await done(page);
});

test('undo also withdraws a stored answer whose reply was lost', async () => {
  let stored = 0;
  let answers = async (route) => {
    if (stored++ === 0) await route.fetch();
    await route.abort();
  };
  const page = await signIn('ann', { routes: { '**/api/answers': (route) => answers(route) } });
  page.mayFail = true;
  const first = await id(page);
  await page.keyboard.press('1');
  await page.locator('#state[data-state="offline"]').waitFor();
  const second = await shown(page, first);
  assert.strictEqual(labels(here.dir).get(first).label, CLASSES[0]);
  await page.keyboard.press('z');
  assert.strictEqual(await shown(page, second), first);
  const undone = page.waitForResponse('**/api/undo');
  answers = pass;
  await online(page);
  const { item } = await (await undone).json();
  assert.strictEqual(item.id, first);
  await saved(page);
  assert.strictEqual(labels(here.dir).get(first), undefined);
  const said = await label(page, 1);
  assert.ok(said.has(first));
  await saved(page);
  assertStored(said, 'ann');
  await done(page);
});

test('after Back, undo withdraws the answer that is shown', async () => {
  const page = await signIn('ann');
  const said = [...(await label(page, 3)).keys()],
    now = await id(page);
  await saved(page);
  await page.keyboard.press('b');
  await shown(page, now);
  await page.keyboard.press('b');
  assert.strictEqual(await shown(page, said[2]), said[1]);
  await page.keyboard.press('z');
  await assertShownAgain(page, said[1]);
  assert.strictEqual(await page.locator('#said').textContent(), '');
  assert.deepStrictEqual(
    said.map((item) => labels(here.dir).has(item)),
    [true, false, true],
  );
  await done(page);
});

test('an item leased to somebody else is not shown after the undo of its answer', async () => {
  const undo = async (route) => {
    const response = await route.fetch(),
      json = await response.json();
    json.item.lease = null;
    await route.fulfill({ response, json });
  };
  const page = await signIn('ann', { routes: { '**/api/undo': undo } });
  const first = await id(page);
  await page.keyboard.press('1');
  const second = await shown(page, first);
  await saved(page);
  await page.keyboard.press('z');
  await notice(page, 'leased to somebody else now');
  assert.strictEqual(await id(page), second);
  await done(page);
});

test('an error page of a proxy does not drop the answer', async () => {
  let answers = (route) =>
    route.fulfill({ status: 404, contentType: 'text/html', body: '<h1>no such host</h1>' });
  const page = await signIn('ann', { routes: { '**/api/answers': (route) => answers(route) } });
  page.mayFail = true;
  const said = await label(page, 1);
  await page.locator('#state[data-state="offline"]', { hasText: '1 answer waiting' }).waitFor();
  answers = pass;
  await online(page);
  await saved(page);
  assertStored(said, 'ann');
  await done(page);
});

test('two tabs of a person get different items, and send each answer once', async () => {
  const page = await signIn('gus'),
    second = await watch(await page.context().newPage(), here.server.address);
  await second.goto(here.server.address);
  await shown(second);
  const before = (await getJson(page, '/api/status')).info.entries;
  const said = new Map();
  for (let i = 0; i < 5; i++)
    for (const tab of [page, second])
      for (const [item, name] of await label(tab, 1)) {
        assert.ok(!said.has(item), `${item} came twice`);
        said.set(item, name);
      }
  assert.notStrictEqual(await id(page), await id(second));
  await Promise.all([saved(page), saved(second)]);
  assert.strictEqual((await getJson(page, '/api/status')).info.entries, before + 10);
  // undo withdraws the last answer of this tab, not of the person
  const mineHere = [...said.keys()].at(-2);
  await page.keyboard.press('z');
  await assertShownAgain(page, mineHere);
  said.delete(mineHere);
  await second.close();
  for (const [item, name] of await label(page, 3)) said.set(item, name);
  await saved(page);
  assertStored(said, 'gus');
  assert.deepStrictEqual(second.faults, []);
  await done(page);
});

test('leases are not renewed while the person is away, and are renewed again on return', async () => {
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

test('after signing out, another person can sign in', async () => {
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
