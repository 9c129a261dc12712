// Server-Sent Events with fetch, because EventSource cannot send a token. A reconnection sends the last id, so that the
// server sends only new data.

const SILENCE = 15000;
const LONGEST_PAUSE = 10000;

export class Feed {
  // `handlers`: event(kind, data), status(word, seconds), refused(status, detail).
  constructor(url, token, handlers) {
    this.url = url;
    this.token = token;
    this.handlers = handlers;
    this.lastId = null;
    this.isClosed = false;
    this.pause = 1000;
    this.connect();
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.abort?.abort();
  }

  async connect() {
    this.abort = new AbortController();
    const headers = { Accept: "text/event-stream" };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (this.lastId) headers["Last-Event-ID"] = this.lastId;
    try {
      const reply = await fetch(this.url, { headers, cache: "no-store", signal: this.abort.signal });
      if ([401, 403, 404].includes(reply.status)) {
        const problem = await reply.json().catch(() => ({}));
        if (!this.isClosed) this.handlers.refused(reply.status, problem.detail ?? "");
        return;
      }
      if (!reply.ok) throw new Error(`status ${reply.status}`);
      await this.read(reply.body.getReader());
    } catch {
      // Whatever the cause, the feed reconnects below.
    }
    this.retry();
  }

  async read(reader) {
    const decoder = new TextDecoder();
    let text = "";
    try {
      while (true) {
        this.watch();
        const { done, value } = await reader.read();
        if (done || this.isClosed) return;
        text += decoder.decode(value, { stream: true });
        const blocks = text.split("\n\n");
        text = blocks.pop();
        blocks.forEach((block) => this.take(block));
      }
    } finally {
      clearTimeout(this.watchdog);
    }
  }

  // A connection that has been silent for long is considered lost, even if the operating system reports it as open.
  watch() {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.abort.abort(), SILENCE);
  }

  take(block) {
    const event = { id: null, event: "message", data: "" };
    for (const line of block.split("\n")) {
      const colon = line.indexOf(": ");
      if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 2);
    }
    if (this.isClosed || !event.data) return;
    this.pause = 1000;
    if (event.id) this.lastId = event.id;
    this.handlers.status("live", 0);
    this.handlers.event(event.event, JSON.parse(event.data));
  }

  retry() {
    if (this.isClosed) return;
    this.handlers.status("lost", Math.round(this.pause / 1000));
    this.timer = setTimeout(() => this.connect(), this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }
}
