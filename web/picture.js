// SPDX-License-Identifier: Apache-2.0
//
// Pictures: their addresses, and loading them. Browsers keep pictures by their address, and
// another project may be served at the same one tomorrow: the project's key keeps its pictures
// apart.
//
// A picture that does not come is tried again after 1, 2, 4 and 8 seconds, and given up where the
// server fails at it even then; where nobody answers for it until somebody does; and all that
// are missing as soon as the connection is back.
const SMALL = 128; // pixels: up to here each is shown as a square
const FIRST = 1000; // milliseconds
const RETRIES = 4;

let mark = '';

/** Pictures are of the project with this key. */
export function picturesOf(key) {
  mark = encodeURIComponent(key);
}

/** size: 96, 256 or 1024 pixels, at most. */
export const address = (item, size) => `${item.picture}?size=${size}&of=${mark}`;

/** Shows pixels of a small picture as they are. */
export function crisp(image) {
  const small = Math.max(image.naturalWidth, image.naturalHeight) <= SMALL;
  image.classList.toggle('pixels', small);
  return small;
}

const missing = new Set(); // Loading

/** The connection is back. */
export function tryMissing() {
  for (const loading of [...missing]) loading.again();
}

/** "away" where nobody answers for a picture, or not to us, for now; else "broken". What
 * the server fails at is "away" to the patient. */
async function reason(source, patient) {
  try {
    const { status } = await fetch(source, { cache: 'no-store' });
    const passing = (status >= 500 && patient) || [401, 403, 408, 429].includes(status);
    return passing ? 'away' : 'broken';
  } catch {
    return 'away';
  }
}

/** Fills an image, which may have begun to load. tell(state) is called with "shown", at once
 * where it is there, or as often as it fails with "broken" or "away". */
export class Loading {
  constructor(image, source, tell) {
    Object.assign(this, { image, source, tell });
    this.failures = 0;
    this.settle = () => (image.naturalWidth ? this.shown() : this.failed());
    image.addEventListener('load', this.settle);
    image.addEventListener('error', this.settle);
    if (!image.complete) return;
    if (image.naturalWidth) this.shown();
    else image.src = source; // not begun, or failed before anybody looked
  }

  stop() {
    clearTimeout(this.timer);
    missing.delete(this);
    this.image.removeEventListener('load', this.settle);
    this.image.removeEventListener('error', this.settle);
    this.stopped = true;
  }

  shown() {
    this.stop();
    this.tell('shown');
  }

  async failed() {
    const state = await reason(this.source, this.failures < RETRIES);
    if (this.stopped) return;
    missing.add(this);
    const wait = FIRST * 2 ** Math.min(this.failures++, RETRIES - 1);
    clearTimeout(this.timer);
    if (state === 'away' || this.failures <= RETRIES)
      this.timer = setTimeout(() => this.load(), wait);
    this.tell(state);
  }

  load() {
    this.image.src = this.source;
  }

  /** Now, and as patiently as at first. */
  again() {
    clearTimeout(this.timer);
    this.failures = 0;
    this.load();
  }
}
