// SPDX-License-Identifier: Apache-2.0
//
// Addresses of pictures. Browsers keep pictures by their address, and another project may be
// served at the same one tomorrow: the project's key keeps its pictures apart.
const SMALL = 128; // pixels: up to here each is shown as a square

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
