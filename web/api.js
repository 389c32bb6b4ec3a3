// SPDX-License-Identifier: Apache-2.0
//
// The server's interface (openapi.json). A session that was lost, as the server was started
// again, is taken up by itself with the name and token given before, and the request repeated;
// but never for another project or another person than the page's: it asks nothing any more
// then, as answers would be stored where they do not belong. While a person is
// to sign in it asks nothing either.
//
// Events: "signedout" {session}, "moved".
import { kept, tab } from './kept.js';
import { sentence } from './words.js';

/** The server said no: status and its sentence. */
export class Refused extends Error {
  constructor(status, body) {
    super(body?.error ? sentence(String(body.error)) : `The server answered with ${status}.`);
    this.status = status;
    this.ours = typeof body?.error === 'string'; // not from a proxy or a portal
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
/** What answers is another project's server, or takes us for another person. */
export class Moved extends SignedOut {}

const PATIENCE = 30000; // milliseconds
const SIGN_IN = 'Please sign in again.';

export class Api extends EventTarget {
  constructor() {
    super();
    this.csrf = null;
    this.resuming = null;
    this.project = null; // the key of the page's, once there is one
    this.person = null; // the name
    this.gone = false;
    this.signedOut = false; // a person is asked who they are
  }

  /** From now on the page is of this project and person. */
  enter({ project, person }) {
    this.project = project.key;
    this.person = person.name;
    kept.set(`scant.name/${project.key}`, person.name);
    tab.set('scant.project', project.key);
  }

  async call(method, path, body, options = {}, project = this.project) {
    if (this.gone) throw new Moved('The page is loaded anew.');
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

  /** Sent even while the page is being left; nobody need wait for it. */
  async parting(path, body) {
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

  /** After session(). project: the key it must be; null: any. */
  async signIn(name, token, project = this.project) {
    const body = token ? { name, token } : { name };
    const session = await this.call('POST', '/api/session', body, {}, project);
    if (project && session.project.key !== project) throw this.moved();
    this.csrf = session.csrf;
    this.signedOut = false;
    kept.set('scant.name', session.person.name); // to be proposed, whatever the project
    kept.set(`scant.name/${session.project.key}`, session.person.name);
    if (token) tab.set('scant.token', token);
    return session;
  }

  /** The session forgets its person, and so does the browser. */
  async leave() {
    const place = `scant.name/${this.project}`;
    kept.drop(place); // first, or another tab would sign in again by itself
    try {
      await this.call('POST', '/api/leave', {});
    } catch (error) {
      kept.set(place, this.person);
      throw error;
    }
    this.gone = true;
    kept.drop('scant.name');
    tab.drop('scant.token');
  }

  /** Asks nothing any more; the page that is loaded next asks who is there. */
  moved(why = 'Another project is served here now.') {
    if (!this.gone) {
      this.gone = true;
      tab.set('scant.moved', why);
      this.dispatchEvent(new Event('moved'));
    }
    return new Moved(why);
  }

  /** As the person of before; SignedOut where that takes a person. */
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
    // Where a token is needed the server does not say which project it is: that of the tab.
    const project = this.project ?? session.project?.key ?? tab.get('scant.project'),
      name = kept.get(`scant.name/${project}`),
      token = tab.get('scant.token'),
      same = name && (!this.person || name === this.person);
    if (same && !why && (!session.needs_token || token)) {
      try {
        return await this.signIn(name, token, project);
      } catch (error) {
        if (!(error instanceof Refused) || error.passing) throw error;
        // Another tab may have begun or ended the browser's session meanwhile; without cookies
        // it is another each time.
        const another = (await this.session()).csrf !== session.csrf;
        if (another && tries > 1) return this.resumeOnce(tries - 1);
        if (error.status === 403) tab.drop('scant.token'); // the server's is another by now
      }
    }
    if (!this.signedOut) {
      this.signedOut = true;
      this.dispatchEvent(new CustomEvent('signedout', { detail: { ...session, why } }));
    }
    throw new SignedOut(SIGN_IN);
  }
}
