// SPDX-License-Identifier: Apache-2.0
//
// Finding and making elements. Content is inserted as text, never as markup: ids, texts and
// class names are untrusted.

export const by = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** make('p', {class: 'soft', onclick: f}, 'words', element…) */
export const make = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

/** The same for SVG. */
export const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

/** A name with line breaks allowed between words: grand_|piano. */
export const breakable = (name) =>
  name.split(/(?<=[_-])(?=.)/).flatMap((word, i) => (i ? [make('wbr'), word] : [word]));

/** A key as printed on keyboards. */
export const cap = (key) => make('kbd', {}, KEY_NAMES[key] ?? key.toUpperCase());

const KEY_NAMES = {
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
  Escape: 'Esc',
  ' ': 'Space',
};

/** A function that calls f at most once per interval; the last call is never dropped. */
export function throttle(milliseconds, f) {
  let timer = null,
    last = 0;
  return () => {
    if (timer) return;
    timer = setTimeout(
      () => {
        timer = null;
        last = Date.now();
        f();
      },
      Math.max(0, last + milliseconds - Date.now()),
    );
  };
}
