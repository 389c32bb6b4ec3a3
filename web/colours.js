// SPDX-License-Identifier: Apache-2.0
//
// Colours and shapes of classes. The colours are those of Okabe and Ito (2008), which are
// distinguishable with any colour vision; yellow is darker on a light page, most colours
// are lighter on a dark one. Eight colours with four shapes each; they repeat from the
// 33rd class on.

const LIGHT = [
  '#0072b2',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#d55e00',
  '#56b4e9',
  '#8a7f00',
  '#3d3d3d',
];
const DARK = [
  '#4aa3df',
  '#e69f00',
  '#1fbf8f',
  '#e08fbd',
  '#f0792b',
  '#8fd0f5',
  '#f0e442',
  '#e0e0e0',
];

const dark = window.matchMedia('(prefers-color-scheme: dark)');

export const colour = (label) => (dark.matches ? DARK : LIGHT)[label % LIGHT.length];

/** Calls f when the colour scheme changes. */
export const onScheme = (f) => dark.addEventListener('change', f);

/** Adds the shape of a class to a path of a canvas, about (x, y). */
export function shape(path, label, x, y, r) {
  switch (Math.floor(label / LIGHT.length) % 4) {
    case 0:
      path.moveTo(x + r, y);
      path.arc(x, y, r, 0, 2 * Math.PI);
      break;
    case 1:
      path.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r);
      break;
    case 2:
      path.moveTo(x, y - 1.2 * r);
      path.lineTo(x + 1.1 * r, y + 0.8 * r);
      path.lineTo(x - 1.1 * r, y + 0.8 * r);
      path.closePath();
      break;
    default:
      path.moveTo(x, y - 1.3 * r);
      path.lineTo(x + 1.3 * r, y);
      path.lineTo(x, y + 1.3 * r);
      path.lineTo(x - 1.3 * r, y);
      path.closePath();
  }
}

/** The shape of a class in its colour, as a small image for legends and buttons. */
export function swatch(label) {
  const canvas = document.createElement('canvas');
  canvas.className = 'swatch';
  canvas.setAttribute('aria-hidden', 'true');
  canvas.width = canvas.height = 28;
  const paint = () => {
    const ink = canvas.getContext('2d');
    ink.clearRect(0, 0, 28, 28);
    ink.beginPath();
    shape(ink, label, 14, 14, 9);
    ink.fillStyle = colour(label);
    ink.fill();
  };
  paint();
  canvas.repaint = paint;
  return canvas;
}

onScheme(() => document.querySelectorAll('canvas.swatch').forEach((canvas) => canvas.repaint()));
