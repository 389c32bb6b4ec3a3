// SPDX-License-Identifier: Apache-2.0
//
// Checks of what is visible on a page. All but launch() run within the page, by evaluate().
'use strict';
const { chromium } = require('playwright-core');

exports.launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: process.getuid() === 0 ? ['--no-sandbox'] : [],
  });

// By how many pixels the page is wider than the screen.
exports.overflow = () => document.documentElement.scrollWidth - window.innerWidth;

// Buttons that a key cap does not fit into.
exports.overflowingKeys = () =>
  [...document.querySelectorAll('button kbd')]
    .filter((cap) => {
      const inner = cap.getBoundingClientRect(),
        outer = cap.closest('button').getBoundingClientRect();
      return cap.checkVisibility() && (inner.right > outer.right || inner.left < outer.left);
    })
    .map((cap) => cap.closest('button').textContent);

// Texts with a contrast below 4.5, or smaller than 8.5 pixels.
exports.unreadable = () => {
  const parse = (c) => c.match(/[\d.]+/g).map(Number);
  const light = (c) => {
    const [r, g, b] = c.map((v) => {
      v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const opacity = (e) => {
    let product = 1;
    for (; e; e = e.parentElement) product *= Number(getComputedStyle(e).opacity);
    return product;
  };
  const bad = [];
  document
    .querySelectorAll('h1,h2,h3,p,a,b,th,td,li,span,label,small,kbd,button,summary,svg text')
    .forEach((e) => {
      const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
      if (!own || !e.checkVisibility({ opacityProperty: true }) || e.closest('.cell, .notice, :disabled'))
        return;
      const style = getComputedStyle(e),
        svg = e.tagName === 'text';
      const ground = behind(svg ? e.closest('section') : e).slice(0, 3),
        ink = parse(svg ? style.fill : style.color).slice(0, 3),
        strength = opacity(e);
      const a = light(ink.map((v, i) => strength * v + (1 - strength) * ground[i])),
        b = light(ground);
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const scale = svg
        ? e.getScreenCTM().d || Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b)
        : 1;
      const size =
        parseFloat(style.fontSize) * Math.abs(svg && !e.closest('[transform]') ? scale : 1);
      if (contrast < 4.5) bad.push(e.textContent.trim() + ': contrast ' + contrast.toFixed(2));
      if (size < 8.5) bad.push(e.textContent.trim() + ': ' + size.toFixed(1) + ' pixels');
    });
  return bad;
};
