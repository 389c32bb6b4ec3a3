// SPDX-License-Identifier: Apache-2.0
//
// Numbers as people read them.

const known = (x) => typeof x === 'number' && Number.isFinite(x);

/** 0.814 -> "81 %", which is not broken. What is neither none nor all is not said to be. */
export function percent(x, digits = 0) {
  if (!known(x)) return '–';
  const least = 0.01 / 10 ** digits;
  const words =
    x > 0 && x < least / 2
      ? `<${(100 * least).toFixed(digits)}`
      : x < 1 && x > 1 - least / 2
        ? `>${(100 - 100 * least).toFixed(digits)}`
        : (100 * x).toFixed(digits);
  return `${words}\u202f%`;
}

/** The same of a part of something: none of it, 20 % of it, all of it. */
export const part = (x) => (x === 0 ? 'none' : x === 1 ? 'all' : percent(x));

/** A sentence of the server's, which begins with a small letter as those of programs do. */
export const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

export const fixed = (x, digits) => (known(x) ? x.toFixed(digits) : '–');

export const count = (n, one, many = one + 's') => `${grouped(n)} ${n === 1 ? one : many}`;

/** 12345 -> "12 345", with a space that is not broken. */
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');

export const seconds = (s) => (known(s) ? (s < 10 ? s.toFixed(1) : Math.round(s)) + ' s' : '–');

export function ago(at, now = Date.now()) {
  const s = Math.max(0, (now - at) / 1000);
  if (s < 60) return 'now';
  if (s < 3600) return `${Math.round(s / 60)} min ago`;
  if (s < 86400) return `${Math.round(s / 3600)} h ago`;
  return new Date(at).toLocaleDateString();
}

export function median(numbers) {
  if (!numbers.length) return null;
  const sorted = [...numbers].sort((a, b) => a - b),
    middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
