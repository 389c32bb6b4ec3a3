// SPDX-License-Identifier: Apache-2.0
//
// The HTTP interface (openapi.json). If the session is lost because the server was restarted,
// the page signs in again with the same name and token and repeats the request. It sends
// nothing while the sign-in form is shown. It stops for good if the server has another project
// or the session another person, so that no answer is stored in the wrong place.
//
// Events: "signedout" {session}, "moved".
import { saved, tab } from './storage.js';
import { sentence } from './words.js';

/** An error reply: its status and message. */
export class Refused extends Error {
  constructor(status, body) {
    super(body?.error ? sentence(String(body.error)) : `The server answered with ${status}.`);
    this.status = status;
    this.ours = typeof body?.error === 'string'; // else it is from a proxy or a captive portal
  }
  /** Whether the same request may succeed later. */
  get temporary() {
    return this.status >= 500 || this.status === 429 || this.status === 408;
  }
}
export class Unreachable extends Error {
  constructor() {
    super('The server cannot be reached.');
  }
}
/** Nobody is signed in, and the page cannot sign in by itself. */
export class SignedOut extends Error {}
/** The server has another project, or the session another person. */
export class Moved extends SignedOut {}

const TIMEOUT = 30000; // milliseconds
const SIGN_IN = 'Please sign in again.';

export class Api extends EventTarget {
  constructor() {
    super();
    this.csrf = null;
    this.resuming = null;
    this.project = null; // the key of the page's project
    this.person = null; // the name
    this.gone = false;
    this.signedOut = false; // the sign-in form is shown
  }

  /** Binds the page to a project and a person. */
  enter({ project, person }) {
    this.project = project.key;
    this.person = person.name;
    saved.set(`scant.name/${project.key}`, person.name);
    tab.set('scant.project', project.key);
  }

  async call(method, path, body, options = {}, project = this.project) {
    if (this.gone) throw new Moved('The page is being reloaded.');
    const headers = {};
    if (method === 'POST') {
      headers['Content-Type'] = 'application/json';
      headers['X-Scant'] = this.csrf ?? '';
      if (project) headers['X-Scant-Project'] = project;
    }
    let answer;
    try {
      answer = await fetch(path, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(TIMEOUT),
        ...options,
      });
    } catch {
      throw new Unreachable();
    }
    let json = null;
    try {
      json = await answer.json();
    } catch {
      if (answer.ok) throw new Unreachable(); // the reply is incomplete
    }
    if (answer.ok) return json;
    const refused = new Refused(answer.status, json);
    throw refused.ours && answer.status === 412 && this.project ? this.moved() : refused;
  }

  async signedIn(method, path, body) {
    if (this.signedOut) throw new SignedOut(SIGN_IN);
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

  /** Sends a request that outlives the page. */
  async sendOnExit(path, body) {
    await this.call('POST', path, body, { keepalive: true, signal: undefined }).catch(() => {});
  }

  async session() {
    const session = await this.call('GET', '/api/session');
    const { project, person } = session;
    if (this.project && project && project.key !== this.project) throw this.moved();
    if (this.person && person && person.name !== this.person)
      throw this.moved('Somebody else has signed in with this browser.');
    this.csrf = session.csrf;
    return session;
  }

  /** Signs in, after session(). project: the key of the expected project; null: any. */
  async signIn(name, token, project = this.project) {
    const body = token ? { name, token } : { name };
    const session = await this.call('POST', '/api/session', body, {}, project);
    if (project && session.project.key !== project) throw this.moved();
    this.csrf = session.csrf;
    this.signedOut = false;
    saved.set('scant.name', session.person.name); // the suggestion for all projects
    saved.set(`scant.name/${session.project.key}`, session.person.name);
    if (token) tab.set('scant.token', token);
    return session;
  }

  /** Signs out, and forgets the name in this browser. */
  async leave() {
    const place = `scant.name/${this.project}`;
    saved.drop(place); // first, so that no other tab signs in again
    try {
      await this.call('POST', '/api/leave', {});
    } catch (error) {
      saved.set(place, this.person);
      throw error;
    }
    this.gone = true;
    saved.drop('scant.name');
    tab.drop('scant.token');
  }

  /** Stops all requests; after the reload the page shows the sign-in form. */
  moved(why = 'Another project is served here now.') {
    if (!this.gone) {
      this.gone = true;
      tab.set('scant.moved', why);
      this.dispatchEvent(new Event('moved'));
    }
    return new Moved(why);
  }

  /** Signs in as the same person; throws SignedOut if that needs the form. */
  resume() {
    this.resuming ??= this.resumeOnce().finally(() => {
      this.resuming = null;
    });
    return this.resuming;
  }

  async resumeOnce(tries = 5) {
    const session = await this.session();
    const why = tab.get('scant.moved');
    tab.drop('scant.moved');
    if (session.person && !why) return session;
    // A server with a token names its project only after the sign-in: use the tab's.
    const project = this.project ?? session.project?.key ?? tab.get('scant.project'),
      name = saved.get(`scant.name/${project}`),
      token = tab.get('scant.token'),
      same = name && (!this.person || name === this.person);
    if (same && !why && (!session.needs_token || token)) {
      try {
        return await this.signIn(name, token, project);
      } catch (error) {
        if (!(error instanceof Refused) || error.temporary) throw error;
        // Another tab may have changed the session; without cookies it is always a new one.
        const another = (await this.session()).csrf !== session.csrf;
        if (another && tries > 1) return this.resumeOnce(tries - 1);
        if (error.status === 403) tab.drop('scant.token'); // the server has another token now
      }
    }
    if (!this.signedOut) {
      this.signedOut = true;
      this.dispatchEvent(new CustomEvent('signedout', { detail: { ...session, why } }));
    }
    throw new SignedOut(SIGN_IN);
  }
}
