// SPDX-License-Identifier: Apache-2.0
//
// Formats numbers and times.

const known = (x) => typeof x === 'number' && Number.isFinite(x);

/** 0.814 -> "81 %", with a narrow no-break space. Only 0 is "0 %" and only 1 is "100 %". */
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

/** "none", "20 %" or "all". */
export const part = (x) => (x === 0 ? 'none' : x === 1 ? 'all' : percent(x));

/** Capitalizes a message of the server. */
export const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

export const fixed = (x, digits) => (known(x) ? x.toFixed(digits) : '–');

export const count = (n, one, many = one + 's') => `${grouped(n)} ${n === 1 ? one : many}`;

/** 12345 -> "12 345", with a narrow no-break space. */
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');

export const seconds = (s) => (known(s) ? (s < 10 ? s.toFixed(1) : Math.round(s)) + ' s' : '–');

export function ago(at, now = Date.now()) {
  const s = Math.max(0, (now - at) / 1000);
  if (s < 60) return 'just now';
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
