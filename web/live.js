// SPDX-License-Identifier: Apache-2.0
//
// Live status: server-sent events or, as a fallback, polling every few seconds. A hidden page
// does neither, because all tabs of a browser share few connections to a server.
//
// Events: "status" {labels, entries, worker, round, model, people?}, "again" (the connection
// is back, maybe to another server).

const POLL = 5000; // milliseconds; also below
const TRY_AGAIN = 30000; // until events are tried again
const SILENCE = 40000; // the server sends something every 15 seconds

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
      this.emitStatus(JSON.parse(event.data));
    });
    this.source.addEventListener('open', () => {
      if (this.lost) this.dispatchEvent(new Event('again'));
      this.lost = false;
    });
    this.source.addEventListener('error', () => {
      this.lost = true;
      if (this.source?.readyState === EventSource.CLOSED) this.poll();
    });
    this.heard();
  }

  heard() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.poll(), SILENCE);
  }

  stop() {
    this.source?.close();
    this.source = null;
    clearTimeout(this.silence);
    clearInterval(this.polling);
    clearTimeout(this.again);
  }

  poll() {
    this.stop();
    this.again = setTimeout(() => this.start(), TRY_AGAIN);
    this.polling = setInterval(() => this.pollOnce(), POLL);
    this.pollOnce();
  }

  async pollOnce() {
    const status = await this.api.get('/api/status').catch(() => null);
    if (!status) return;
    const { info, worker, meter } = status;
    this.emitStatus({
      labels: info.labelled,
      entries: info.entries,
      worker,
      round: info.rounds,
      model: meter.model,
    });
  }

  emitStatus(status) {
    this.dispatchEvent(new CustomEvent('status', { detail: status }));
  }
}
