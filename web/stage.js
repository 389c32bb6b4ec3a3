// SPDX-License-Identifier: Apache-2.0
//
// One item, large: its image scaled to the space (small images by whole factors), its text,
// or its id if it has neither. An image can be zoomed, and moved by scrolling or dragging.
import { make } from './dom.js';
import { address, crisp, Loading } from './picture.js';

const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8];
const ENLARGE = 3; // the largest scale of an image that is not small

export class Stage {
  constructor(box) {
    this.box = box;
    this.item = null;
    this.level = 0;
    new ResizeObserver(() => this.fit()).observe(box);
    this.drag();
  }

  /** none (no item), loading, shown, broken or away (not connected); only a shown item
   * can be labelled. */
  get state() {
    return this.box.dataset.state;
  }

  show(item, why) {
    this.item = item;
    this.level = 0;
    this.image = null;
    this.loading?.stop();
    if (!item) this.notice(why ?? '');
    else if (item.picture) this.picture(item);
    else if (item.text !== null && item.text !== undefined)
      this.put(make('div', { class: 'text', tabindex: 0 }, item.text), 'shown');
    else
      this.put(
        make(
          'p',
          { class: 'empty' },
          'This item has no image and no text.',
          make('br'),
          make('b', {}, item.id),
        ),
        'shown',
      );
  }

  notice(...words) {
    this.put(make('p', { class: 'empty' }, ...words), 'none');
  }

  put(element, state) {
    this.box.replaceChildren(element);
    this.box.dataset.state = state;
  }

  picture(item) {
    const image = item.image ?? new Image();
    this.image = image;
    image.alt = `Item ${item.id}`;
    image.draggable = false;
    this.put(make('p', { class: 'empty' }, 'Loading the image…'), 'loading');
    this.loading = new Loading(image, address(item, 1024), (state, why) => {
      if (state === 'shown') {
        this.put(image, state);
        this.fit();
      } else {
        this.missing(item, state, why);
      }
    });
  }

  missing(item, state, why) {
    const name = make('b', {}, item.id);
    const words =
      state === 'away'
        ? [make('p', {}, 'Not connected. The image of ', name, ' loads when the connection is back.')]
        : [
            make('p', {}, 'The image of ', name, why ? ' cannot be shown:' : ' cannot be loaded.'),
            why ? make('p', { class: 'why' }, why) : '',
            make(
              'p',
              {},
              'Skip it, or ',
              make('button', { type: 'button', onclick: () => this.loading.retry() }, 'try again'),
              '.',
            ),
          ];
    const text = item.text ? make('p', { class: 'text' }, item.text) : null;
    this.put(make('div', { class: 'empty' }, ...words, text), state);
  }

  fit() {
    const { image, box } = this;
    if (!image?.naturalWidth || !box.clientWidth) return;
    const small = crisp(image);
    let scale = Math.min(
      box.clientWidth / image.naturalWidth,
      box.clientHeight / image.naturalHeight,
    );
    if (!small) scale = Math.min(scale, ENLARGE);
    else if (scale > 1) scale = Math.floor(scale);
    scale *= ZOOMS[this.level];
    image.style.width = `${image.naturalWidth * scale}px`;
    image.style.height = `${image.naturalHeight * scale}px`;
    box.classList.toggle('zoomed', this.level > 0);
  }

  /** One step larger (1) or smaller (-1), about the visible centre. */
  zoom(step) {
    const { box } = this;
    const x = (box.scrollLeft + box.clientWidth / 2) / box.scrollWidth;
    const y = (box.scrollTop + box.clientHeight / 2) / box.scrollHeight;
    this.level = Math.min(ZOOMS.length - 1, Math.max(0, this.level + step));
    this.fit();
    box.scrollLeft = x * box.scrollWidth - box.clientWidth / 2;
    box.scrollTop = y * box.scrollHeight - box.clientHeight / 2;
  }

  drag() {
    const { box } = this;
    box.addEventListener('pointerdown', (event) => {
      if (!this.level || event.pointerType !== 'mouse' || event.button) return;
      const from = { x: event.clientX + box.scrollLeft, y: event.clientY + box.scrollTop };
      const move = (at) => {
        box.scrollLeft = from.x - at.clientX;
        box.scrollTop = from.y - at.clientY;
      };
      box.setPointerCapture(event.pointerId);
      box.addEventListener('pointermove', move);
      box.addEventListener(
        'lostpointercapture',
        () => box.removeEventListener('pointermove', move),
        { once: true },
      );
    });
  }
}
