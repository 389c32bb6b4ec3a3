// SPDX-License-Identifier: Apache-2.0
//
// Who is labelling: a name, remembered, and a token where the server asks for one.
import { by } from './dom.js';
import { kept } from './kept.js';

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
    by('name').value = kept.get('scant.name') ?? '';
    by('token-field').hidden = !session.needs_token;
    by('token').required = session.needs_token;
    by('signin-trouble').textContent = session.why ?? '';
    (by('name').value && session.needs_token ? by('token') : by('name')).focus();
    return new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  async submit() {
    const name = by('name').value.trim();
    if (!name) return;
    by('signin-trouble').textContent = '';
    by('signin-go').disabled = true;
    try {
      const session = await this.api.signIn(name, by('token').value);
      by('token').value = '';
      this.resolve?.(session);
    } catch (error) {
      by('signin-trouble').textContent = error.message;
    } finally {
      by('signin-go').disabled = false;
    }
  }
}
