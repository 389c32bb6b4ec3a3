// SPDX-License-Identifier: Apache-2.0
//
// tests/browser/run tools/page-pictures.js: draws docs/pictures/{label,grid,dashboard}-page.png
// again. A project of 500 photographs (ten classes of Caltech-101, features of
// MobileNetV2) is labelled in rounds with the true labels, then with keys in the page.
// The photographs and the weights are in SCANT_SHARED_DATA or in ../shared/data; without
// them nothing is drawn.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { launch } = require('../tests/browser/sight.js');
const { serve } = require('../tests/browser/project.js');

const ROOT = path.resolve(__dirname, '..');
const DATA = process.env.SCANT_SHARED_DATA ?? path.resolve(ROOT, '../shared/data');
const PHOTOGRAPHS = path.join(DATA, 'caltech20');
const WEIGHTS = path.join(DATA, 'pretrained/mobilenetv2-imagenet.safetensors');
const OUT = path.join(ROOT, 'docs/pictures');
const ROUNDS = 10,
  BY_HAND = 14,
  PACE = 1100, // milliseconds per item
  SEED = '5';

// Class names by folder.
const CLASSES = {
  airplanes: 'airplane',
  bonsai: 'bonsai',
  butterfly: 'butterfly',
  car_side: 'car',
  grand_piano: 'piano',
  helicopter: 'helicopter',
  kangaroo: 'kangaroo',
  ketch: 'boat',
  sunflower: 'sunflower',
  watch: 'watch',
};
const NAMES = Object.values(CLASSES);

// Runs scant and returns its stdout; stderr is not shown. Status 10 is success: the stop
// rule holds.
function scant(...args) {
  try {
    return execFileSync(process.env.SCANT, args, { encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    if (error.status === 10) return error.stdout;
    throw error;
  }
}

/** Copies the photographs to numbered files, which do not reveal the class; returns classes by id. */
function copy(folder) {
  const all = Object.keys(CLASSES).flatMap((name) =>
    fs
      .readdirSync(path.join(PHOTOGRAPHS, name))
      .sort()
      .map((file) => [name, file]),
  );
  const truth = new Map();
  fs.mkdirSync(folder);
  all.forEach(([name, file], i) => {
    const id = `${String((i * 181) % all.length).padStart(4, '0')}.jpg`; // a permutation: 181 and 500 are coprime
    fs.copyFileSync(path.join(PHOTOGRAPHS, name, file), path.join(folder, id));
    truth.set(id, CLASSES[name]);
  });
  return truth;
}

function label(dir, truth) {
  const answers = dir + '.csv';
  for (let round = 0; round < ROUNDS; round++) {
    const [, ...rows] = scant('query', dir, '--batch', '16', '--quiet').trim().split(/\r?\n/);
    const ids = rows.map((row) => row.split(',')[2]);
    fs.writeFileSync(answers, 'id,label\n' + ids.map((id) => `${id},${truth.get(id)}\n`).join(''));
    scant('label', dir, '--import', answers, '--annotator', 'ben', '--quiet');
    scant('train', dir, '--quiet');
  }
}

const settled = (page) =>
  page.waitForFunction(() => [...document.images].every((image) => image.complete));

async function shown(page, before = '') {
  await page.waitForFunction(
    (old) =>
      document.getElementById('stage').dataset.state === 'shown' &&
      document.getElementById('item-id').textContent !== old,
    before,
  );
  return page.locator('#item-id').textContent();
}

async function draw(address, truth) {
  const browser = await launch();
  try {
    const page = await browser.newPage({ viewport: { width: 1120, height: 700 } });
    const shoot = (name) => page.screenshot({ path: path.join(OUT, `${name}-page.png`) });
    await page.goto(address);
    await page.getByLabel('Your name').fill('ann');
    await page.keyboard.press('Enter');
    for (let i = 0, id = await shown(page); i < BY_HAND; i++) {
      await page.waitForTimeout(PACE);
      await page.keyboard.press(String((NAMES.indexOf(truth.get(id)) + 1) % 10));
      id = await shown(page, id);
    }
    await page.locator('#state[data-state="saved"]').waitFor();
    await page.waitForTimeout(PACE); // until the pressed key is no longer highlighted
    await shoot('label');
    await page.keyboard.press('g');
    await page.locator('#grid-items .tile').first().waitFor();
    await settled(page);
    await shoot('grid');
    await page.setViewportSize({ width: 1120, height: 1800 });
    await page.goto(address + '#/dashboard');
    await page.locator('#map-box:not([hidden])').waitFor();
    await page.locator('#map').focus();
    await page.keyboard.press('ArrowRight');
    await settled(page);
    await page.waitForTimeout(PACE);
    await shoot('dashboard');
  } finally {
    await browser.close();
  }
}

async function main() {
  if (!fs.existsSync(PHOTOGRAPHS) || !fs.existsSync(WEIGHTS)) {
    console.log(`screenshots are not taken: no photographs and weights in ${DATA}`);
    return;
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'scant-pictures-'));
  try {
    const dir = path.join(folder, 'things'),
      truth = copy(path.join(folder, 'photographs'));
    scant(
      ...['new', dir, '--images', path.join(folder, 'photographs'), '--classes', NAMES.join(',')],
      ...['--backbone', 'mobilenetv2', '--weights', WEIGHTS, '--seed', SEED, '--set', 'audit_every=4', '--quiet'],
    );
    label(dir, truth);
    const server = await serve(dir);
    try {
      await draw(server.address, truth);
    } finally {
      await server.kill('SIGTERM');
    }
    console.log(`${OUT}: label-page.png, grid-page.png, dashboard-page.png`);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(error.stderr || error);
  process.exitCode = 1;
});
