// SPDX-License-Identifier: Apache-2.0
//
// Images: addresses and loading. Browsers cache images by address, and another project may be
// served at the same address later, so the project's key is part of it.
//
// A failed image is retried after 1, 2, 4 and 8 seconds. Then it is given up if the server still
// fails; without a connection the retries go on, every 8 seconds.
const SMALL = 128; // pixels: images up to this size are shown with sharp pixels
const FIRST = 1000; // milliseconds
const RETRIES = 4;

let mark = '';

/** Sets the project key for addresses. */
export function setProject(key) {
  mark = encodeURIComponent(key);
}

/** The address of an item's image; size: 96, 256 or 1024 pixels; no side is longer. */
export const address = (item, size) => `${item.picture}?size=${size}&of=${mark}`;

/** Shows a small image with sharp pixels. */
export function crisp(image) {
  const small = Math.max(image.naturalWidth, image.naturalHeight) <= SMALL;
  image.classList.toggle('pixels', small);
  return small;
}

const missing = new Set(); // Loading objects whose image failed

/** Retries all missing images. Called when the connection is back. */
export function retryMissing() {
  for (const loading of [...missing]) loading.retry();
}

/** Why an image failed: [state, why]. The state is "away" (no connection, not signed in, a
 * timeout, too many requests or, while `retrying`, a server error), else "broken"; why is
 * the server's message, which may be empty. */
async function reason(source, retrying) {
  try {
    const reply = await fetch(source, { cache: 'no-store' });
    const { status } = reply;
    if ((status >= 500 && retrying) || [401, 403, 408, 429].includes(status)) return ['away', ''];
    const { error = '' } = await reply.json().catch(() => ({}));
    return ['broken', error];
  } catch {
    return ['away', ''];
  }
}

/** Loads an image, which may be loading already. Calls tell(state) with "shown", at once if it
 * is complete, or after each failure with "broken" (and why) or "away". */
export class Loading {
  constructor(image, source, tell) {
    Object.assign(this, { image, source, tell });
    this.failures = 0;
    this.settle = () => (image.naturalWidth ? this.shown() : this.failed());
    image.addEventListener('load', this.settle);
    image.addEventListener('error', this.settle);
    if (!image.complete) return;
    if (image.naturalWidth) this.shown();
    else image.src = source; // not started, or failed earlier
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
    const [state, why] = await reason(this.source, this.failures < RETRIES);
    if (this.stopped) return;
    missing.add(this);
    const wait = FIRST * 2 ** Math.min(this.failures++, RETRIES - 1);
    clearTimeout(this.timer);
    if (state === 'away' || this.failures <= RETRIES)
      this.timer = setTimeout(() => this.load(), wait);
    this.tell(state, why);
  }

  load() {
    this.image.src = this.source;
  }

  /** Retries now, and then as often as after a first failure. */
  retry() {
    clearTimeout(this.timer);
    this.failures = 0;
    this.load();
  }
}
