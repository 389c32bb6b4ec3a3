// SPDX-License-Identifier: Apache-2.0
//
// The browser's storage, with memory as a fallback where that fails (private windows, full
// disks): labelling must not depend on it.

class Storage {
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
      // no storage
    }
  }

  /** Keys with a prefix. */
  keys(prefix) {
    const all = new Set(this.memory.keys());
    for (let i = 0; i < (this.storage?.length ?? 0); i++) all.add(this.storage.key(i));
    return [...all].filter((key) => key.startsWith(prefix));
  }
}

/** Permanent: a person's name, keys, answers that are not confirmed. */
export const saved = new Storage('localStorage');
/** Until the tab is closed: the token, the number of labels. */
export const tab = new Storage('sessionStorage');
