// SPDX-License-Identifier: Apache-2.0
//
// The server's interface (openapi.json). A session that was lost, as the server was started
// again, is taken up by itself with the name and token given before, and the request repeated.
import { kept, tab } from './kept.js';

/** The server said no: status and its sentence. */
export class Refused extends Error {
  constructor(status, body) {
    super(body?.error ?? `The server answered with ${status}.`);
    this.status = status;
  }
  /** It may say yes later to the very same. */
  get passing() {
    return this.status >= 500 || this.status === 429 || this.status === 408;
  }
}
export class Unreachable extends Error {
  constructor() {
    super('The server cannot be reached.');
  }
}
/** Nobody is signed in, and the page cannot do so by itself. */
export class SignedOut extends Error {}

const PATIENCE = 30000; // milliseconds

export class Api extends EventTarget {
  constructor() {
    super();
    this.csrf = null;
    this.resuming = null;
  }

  async call(method, path, body, options = {}) {
    const headers = {};
    if (method === 'POST') {
      headers['Content-Type'] = 'application/json';
      headers['X-Scant'] = this.csrf ?? '';
    }
    let answer;
    try {
      answer = await fetch(path, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(PATIENCE),
        ...options,
      });
    } catch {
      throw new Unreachable();
    }
    let json = null;
    try {
      json = await answer.json();
    } catch {
      if (answer.ok) throw new Unreachable(); // cut off in the middle
    }
    if (!answer.ok) throw new Refused(answer.status, json);
    return json;
  }

  async signedIn(method, path, body) {
    try {
      return await this.call(method, path, body);
    } catch (error) {
      if (!(error instanceof Refused) || (error.status !== 401 && error.status !== 403))
        throw error;
      await this.resume();
      return this.call(method, path, body);
    }
  }

  get(path) {
    return this.signedIn('GET', path);
  }

  post(path, body = {}) {
    return this.signedIn('POST', path, body);
  }

  /** Sent even while the page is being left; nobody waits for it. */
  parting(path, body) {
    this.call('POST', path, body, { keepalive: true, signal: undefined }).catch(() => {});
  }

  async session() {
    const session = await this.call('GET', '/api/session');
    this.csrf = session.csrf;
    return session;
  }

  async signIn(name, token) {
    if (!this.csrf) await this.session();
    const session = await this.call('POST', '/api/session', token ? { name, token } : { name });
    this.csrf = session.csrf;
    kept.set('scant.name', session.person.name);
    if (token) tab.set('scant.token', token);
    return session;
  }

  /** As the person of before; SignedOut where that takes a person. */
  resume() {
    this.resuming ??= this.resumeOnce().finally(() => {
      this.resuming = null;
    });
    return this.resuming;
  }

  resumed(session) {
    this.dispatchEvent(new CustomEvent('resumed', { detail: session }));
    return session;
  }

  async resumeOnce() {
    const name = kept.get('scant.name'),
      token = tab.get('scant.token');
    const session = await this.session();
    if (session.person && session.person.name === name) return this.resumed(session);
    if (name && (!session.needs_token || token)) {
      try {
        return this.resumed(await this.signIn(name, token));
      } catch (error) {
        if (!(error instanceof Refused) || error.passing) throw error;
      }
    }
    this.dispatchEvent(new CustomEvent('signedout', { detail: session }));
    throw new SignedOut('Please sign in again.');
  }
}
