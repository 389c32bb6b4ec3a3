// SPDX-License-Identifier: Apache-2.0
//
// What the browser keeps for us. Where it keeps nothing (private windows, full disks) it is
// kept as long as the page is open: labelling must not fail for that.

class Kept {
  constructor(storage) {
    this.memory = new Map();
    try {
      this.storage = window[storage];
    } catch {
      this.storage = null;
    }
  }

  get(key) {
    try {
      const text = this.memory.get(key) ?? this.storage?.getItem(key) ?? null;
      return text === null ? null : JSON.parse(text);
    } catch {
      return null;
    }
  }

  set(key, value) {
    const text = JSON.stringify(value);
    try {
      this.storage.setItem(key, text);
      this.memory.delete(key);
    } catch {
      this.memory.set(key, text);
    }
  }

  drop(key) {
    this.memory.delete(key);
    try {
      this.storage.removeItem(key);
    } catch {
      // there was none
    }
  }

  /** Keys that begin so. */
  keys(prefix) {
    const all = new Set(this.memory.keys());
    for (let i = 0; i < (this.storage?.length ?? 0); i++) all.add(this.storage.key(i));
    return [...all].filter((key) => key.startsWith(prefix));
  }
}

/** For good: a person's name, keys, answers that are not confirmed. */
export const kept = new Kept('localStorage');
/** As long as the tab is open: the token, how many were labelled. */
export const tab = new Kept('sessionStorage');
