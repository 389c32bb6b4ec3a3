// SPDX-License-Identifier: Apache-2.0
//
// Signing in: a name, which is remembered, and a token if the server requires one.
import { by } from './dom.js';
import { saved } from './storage.js';
import { Refused } from './api.js';

export class SignIn {
  constructor(api) {
    this.api = api;
    by('signin-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.submit();
    });
  }

  /** Resolves with the session once a person has signed in. */
  ask(session) {
    by('name').value = saved.get('scant.name') ?? '';
    this.askToken(session.needs_token);
    this.showError(session.why ?? '');
    (by('name').value && session.needs_token ? by('token') : by('name')).focus();
    return new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  askToken(needed) {
    by('token-field').hidden = !needed;
    by('token').required = needed;
  }

  async submit() {
    const name = by('name').value.trim();
    if (!name || this.busy) return;
    this.busy = true;
    this.showError('');
    try {
      this.askToken((await this.api.session()).needs_token); // the server may have been replaced
      const session = await this.api.signIn(name, by('token').value);
      by('token').value = '';
      document.activeElement?.blur(); // browsers do this later, but the next key is an answer
      this.resolve?.(session);
    } catch (error) {
      const status = error instanceof Refused ? error.status : 0,
        wrong = { 403: by('token'), 422: by('name') }[status];
      this.showError(error.message, wrong);
    } finally {
      this.busy = false;
    }
  }

  /** Shows an error, and marks the field it concerns. */
  showError(words, wrong = null) {
    by('signin-trouble').textContent = words;
    for (const field of [by('name'), by('token')])
      if (field === wrong) field.setAttribute('aria-invalid', 'true');
      else field.removeAttribute('aria-invalid');
    wrong?.select(); // also focuses it
  }
}
