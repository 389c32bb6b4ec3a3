// SPDX-License-Identifier: Apache-2.0
//
// What happens meanwhile: server-sent events, or where they do not come through, asking every
// few seconds. While nobody looks at the page nothing is asked, as a browser has few
// connections to a server for all of its tabs.
//
// Events: "status" {labels, entries, worker, round, model, people?}, "again" (the connection
// was lost and is there again: perhaps to another server).

const ASK = 5000; // milliseconds
const TRY_AGAIN = 30000; // events, after they failed
const SILENCE = 40000; // the server says something every 15 seconds

export class Live extends EventTarget {
  constructor(api) {
    super();
    this.api = api;
    document.addEventListener('visibilitychange', () =>
      document.hidden ? this.stop() : this.start(),
    );
  }

  start() {
    this.stop();
    if (document.hidden || this.api.signedOut) return;
    this.source = new EventSource('/api/events');
    this.source.addEventListener('status', (event) => {
      this.heard();
      this.tell(JSON.parse(event.data));
    });
    this.source.addEventListener('open', () => {
      if (this.lost) this.dispatchEvent(new Event('again'));
      this.lost = false;
    });
    this.source.addEventListener('error', () => {
      this.lost = true;
      if (this.source?.readyState === EventSource.CLOSED) this.ask();
    });
    this.heard();
  }

  heard() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.ask(), SILENCE);
  }

  stop() {
    this.source?.close();
    this.source = null;
    clearTimeout(this.silence);
    clearInterval(this.asking);
    clearTimeout(this.again);
  }

  ask() {
    this.stop();
    this.again = setTimeout(() => this.start(), TRY_AGAIN);
    this.asking = setInterval(() => this.askOnce(), ASK);
    this.askOnce();
  }

  async askOnce() {
    const status = await this.api.get('/api/status').catch(() => null);
    if (!status) return;
    const { info, worker, meter } = status;
    this.tell({
      labels: info.labelled,
      entries: info.entries,
      worker,
      round: info.rounds,
      model: meter.model,
    });
  }

  tell(status) {
    this.dispatchEvent(new CustomEvent('status', { detail: status }));
  }
}
