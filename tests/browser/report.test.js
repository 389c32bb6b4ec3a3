// SPDX-License-Identifier: Apache-2.0
//
// report.html on wide and narrow screens, light and dark, with and without scripts. A page sends
// no request, writes nothing to the console, is never wider than the screen, and is readable.
'use strict';
const { test, before, after } = require('node:test');
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { launch, overflow, unreadable } = require('./sight.js');

const CURVE = 'strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds\n';
const PICKS = 'strategy,seed,round,rank,index,weight,score,label\n';
const TRAININGS = 'strategy,seed,round,trainings,signs,dead,gradient_norm\n';
const NAMES = ['random', 'entropy', 'margin', 'coreset', 'badge', 'npc', 'dynamic', 'bss'];

let browser, folder;

// Writes results of runs that differ a little, and their report; returns its address. cut: rounds
// of the last run.
function results(name, strategies, seeds, rounds, cut) {
  const dir = path.join(folder, name);
  let curve = CURVE, picks = PICKS, trainings = TRAININGS;
  fs.mkdirSync(dir);
  strategies.forEach((strategy, s) => seeds.forEach((seed, k) => {
    const last = s === strategies.length - 1 && k === seeds.length - 1;
    const quoted = '"' + strategy.replace(/"/g, '""') + '"';
    for (let t = 0; t < (last && cut ? cut : rounds); t++) {
      const accuracy = 0.9 - 0.6 / (1 + 0.3 * t) + 0.01 * Math.sin(s + t) + 0.005 * k;
      curve += `${quoted},${seed},${t},${40 + 40 * t},${accuracy},1,${2 + t},0.5\n`;
      const signs = (s + k + t) % 7 ? '' : t % 2 ? 'dead-units loss' : 'few-pseudo-labels';
      trainings += `${quoted},${seed},${t},${signs ? 2 : 1},${signs},0.5,1\n`;
      for (let i = 0; i < 5; i++)
        picks += `${quoted},${seed},${t},${i},${(t * 5 + i) * (t ? s + 2 : 1)},1,0,${(i + (t ? s : 0)) % 10}\n`;
    }
  }));
  fs.writeFileSync(path.join(dir, 'curve.csv'), curve);
  fs.writeFileSync(path.join(dir, 'picks.csv'), picks);
  fs.writeFileSync(path.join(dir, 'trainings.csv'), trainings);
  fs.writeFileSync(path.join(dir, 'experiment.ini'),
    '[data]\ntrain = fashion-mnist\n[model]\nname = lenet5\n# ' + 'long '.repeat(60) + '\n');
  execFileSync(process.env.SCANT, ['report', dir, '--quiet']);
  return 'file://' + path.join(dir, 'report.html');
}

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'scant-browser-'));
  browser = await launch();
});
after(async () => {
  if (browser) await browser.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

// Opens a page; done() fails if it sent a request or wrote to the console.
async function open(url, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.faults = [];
  page.on('console', (m) => page.faults.push(m.type() + ': ' + m.text()));
  page.on('pageerror', (e) => page.faults.push('error: ' + e.message));
  page.on('request', (r) => {
    if (r.url() !== url && !r.url().startsWith('data:')) page.faults.push('requests ' + r.url());
  });
  await page.goto(url);
  return page;
}

async function done(page) {
  assert.deepStrictEqual(page.faults, []);
  await page.context().close();
}

for (const width of [1280, 700, 400])
  for (const colorScheme of ['light', 'dark'])
    test(`the report ${width} pixels wide, ${colorScheme}: readable, not wider than the screen`, async () => {
      const url = results(`w${width}${colorScheme}`, NAMES, [0, 1, 2], 8);
      const page = await open(url, { viewport: { width, height: 800 }, colorScheme });
      assert.ok(await page.evaluate(overflow) <= 0, 'wider than the screen');
      assert.deepStrictEqual(await page.evaluate(unreadable), []);
      assert.ok(await page.locator('#trainings td .bad:visible').count(), 'no collapsed training');
      for (const chart of ['curves', 'areas', 'differences', 'efficiency', 'overlap', 'balance', 'time']) {
        const shown = page.locator(`svg.${chart}:visible`);
        assert.strictEqual(await shown.count(), 1, chart);
        const box = await shown.boundingBox();
        assert.ok(box.x >= 0 && box.x + box.width <= width && box.height > 60, chart);
      }
      const points = await page.evaluate(() => [...document.querySelectorAll('svg.curves')]
        .filter((e) => e.checkVisibility())
        .flatMap((e) => [...e.querySelectorAll('path.line')])
        .map((e) => e.getAttribute('d').match(/[ML]/g).length));
      assert.deepStrictEqual(points, NAMES.map(() => 8));
      for (const summary of await page.locator('summary').all()) await summary.click();
      assert.ok(await page.evaluate(overflow) <= 0, 'wider with its tables open');
      await done(page);
    });

test('the pointer shows the values of all strategies that are not hidden', async () => {
  const url = results('pointer', NAMES, [0, 1], 6);
  const page = await open(url, { viewport: { width: 1280, height: 900 } });
  const box = await page.locator('svg.curves:visible').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  assert.ok(await page.locator('#tip').isVisible());
  assert.strictEqual(await page.locator('#tip tr').count(), NAMES.length);
  assert.match(await page.locator('#tip b').textContent(), /^\d+ labels$/);
  const means = (await page.locator('#tip td:nth-child(2)').allTextContents()).map(parseFloat);
  assert.deepStrictEqual(means, [...means].sort((a, b) => b - a));
  await page.locator('label:has(#t1)').click();
  assert.strictEqual(await page.locator('svg.curves .s1:visible').count(), 0);
  assert.ok(await page.locator('svg.curves .s2:visible').count() > 0);
  await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
  assert.strictEqual(await page.locator('#tip tr').count(), NAMES.length - 1);
  await page.mouse.move(5, 5);
  assert.ok(!await page.locator('#tip').isVisible());
  await done(page);
});

test('the report works without scripts', async () => {
  const url = results('plain', NAMES, [0, 1], 6);
  const page = await open(url, { javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
  assert.ok(await page.locator('svg.curves:visible').count());
  await page.locator('label:has(#t0)').click();
  assert.strictEqual(await page.locator('svg.curves .s0:visible').count(), 0);
  await done(page);
});

test('unusual results make a valid report', async () => {
  const many = ['random', ...Array.from({ length: 19 }, (_, i) => `a rather long name of a strategy ${i}`)];
  const cases = [
    results('one', ['badge'], [7], 1),
    results('many', many, [0, 1], 60),
    results('half', ['random', 'npc'], [0, 1], 9, 3),
    results('names', ['<b>"&\'</script>', 'random', 'x'.repeat(200)], [0, 1], 3),
  ];
  for (const url of cases)
    for (const width of [1280, 400]) {
      const page = await open(url, { viewport: { width, height: 800 } });
      assert.ok(await page.evaluate(overflow) <= 0, url + ' is wider than ' + width);
      assert.ok(await page.locator('svg.curves:visible').count(), url);
      await done(page);
    }
});
