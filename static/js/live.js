// One socket per page. The server says which blocks look different now ({prev, seq, html: {id: html}, wait, events}); this
// file morphs them in, keeps what the person is doing, and says honestly how fresh the page is. Needs htmx 4; a page works
// without it. Dispatches `live:<type>` on document for each event of a frame (notifications hook in there).
(() => {
  "use strict";
  const BEAT = 25_000; // no frame for so long: stale, whatever the socket says (the server beats every 10 s)
  const FIRST = 500, LONGEST = 30_000; // ms between tries to connect, doubling, ± 30 %
  const ACK_EVERY = 20, ACK_MS = 1000;
  const BUDGET = 12; // ms of morphing per animation frame
  const NOTE = 4000; // ms
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const queue = new Map(); // DOM id -> newest HTML, oldest arrival first; null removes
  let socket = null, url = "", seq = "", pageSeq = "", state = "live", note = "";
  let last = Date.now(), tries = 0, timer = 0, raf = 0, away = false, fetching = false;
  let unacked = 0, acked = 0, ackTimer = 0, skew = 0;

  // How fresh the page is ------------------------------------------------------------------------------------------

  const hms = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  const write = (node, text) => { if (node && node.textContent !== text) node.textContent = text; };

  const paint = () => {
    root.dataset.conn = state;
    const words = { live: note || "Live", reconnecting: "Reconnecting", stale: `Stale since ${hms(last)}` };
    write(byId("conn-text"), words[state]);
    for (const node of document.querySelectorAll(state === "stale" ? "[data-needs-live]:not([disabled])" : "[data-was-live]")) {
      node.toggleAttribute("disabled", state === "stale");
      node.toggleAttribute("data-was-live", state === "stale");
    }
  };
  const say = (word) => { state = word; paint(); };
  const caughtUp = (count) => {
    note = `Caught up: ${count} change${count === 1 ? "" : "s"}`;
    paint();
    setTimeout(() => { note = ""; paint(); }, NOTE);
  };
  const badge = (count) => {
    const bare = document.title.replace(/^\(\d+\) /, "");
    document.title = count ? `(${count}) ${bare}` : bare;
    navigator.setAppBadge?.(count)?.catch(() => {});
  };

  // What the person holds: a field being typed in, something under the pointer that asks for it ---------------------

  const TYPING = "textarea,select,[contenteditable],input:not([type=checkbox],[type=radio],[type=button],[type=submit])";
  const holds = () => {
    const found = [...document.querySelectorAll("[data-hold]:hover")];
    const field = document.activeElement;
    if (field?.matches(TYPING)) found.push(field.closest("[data-hold]") ?? field.closest("form") ?? field);
    const main = byId("main");
    return found.map((node) => node.closest("[id]")).filter((node) => node && !node.contains(main));
  };

  // Put HTML in place of an element, all but what is held in it; false: later.
  const put = (element, html) => {
    const held = holds();
    if (held.some((node) => node.contains(element))) return false;
    const inside = held.filter((node) => element.contains(node));
    if (inside.length) {
      const made = document.createElement("template");
      made.innerHTML = html;
      const twins = inside.map((node) => made.content.querySelector(`#${CSS.escape(node.id)}`));
      if (twins.includes(null)) return false;
      inside.forEach((node, at) => {
        queue.delete(node.id);
        queue.set(node.id, twins[at].outerHTML);
        twins[at].replaceWith(node.cloneNode(true));
      });
      html = made.innerHTML;
    }
    window.htmx.swap({ target: element, text: html, swap: "outerMorph", sourceElement: element });
    return true;
  };

  const flush = () => {
    raf = 0;
    const start = performance.now();
    for (const [id, html] of [...queue]) {
      const element = byId(id);
      if (element && html !== null && !put(element, html)) continue; // stays queued, tried again when it is let go
      if (queue.get(id) === html) queue.delete(id);
      if (html === null) element?.remove();
      if (performance.now() - start > BUDGET) { kick(); break; }
    }
    tick();
  };
  const kick = () => { if (!raf && !document.hidden && queue.size) raf = requestAnimationFrame(flush); };

  // The socket -----------------------------------------------------------------------------------------------------

  const ack = () => {
    clearTimeout(ackTimer);
    ackTimer = 0;
    if (!unacked || socket?.readyState !== 1) return;
    unacked = 0;
    acked = Date.now();
    socket.send(JSON.stringify({ ack: seq }));
  };
  const received = () => {
    unacked += 1;
    if (unacked >= ACK_EVERY || Date.now() - acked >= ACK_MS) ack();
    else ackTimer ||= setTimeout(ack, ACK_MS);
  };

  const heard = (event) => {
    if (event.target !== socket) return;
    const frame = JSON.parse(event.data);
    if (frame.error) return;
    last = Date.now();
    tries = 0;
    if (frame.now) skew = frame.now - last;
    if (frame.resync || (frame.prev !== undefined && frame.prev !== seq)) { resync(frame.missed); return; }
    seq = frame.seq ?? seq;
    received();
    if (state !== "live") say("live");
    if (frame.missed) caughtUp(frame.missed);
    for (const id in frame.html) { queue.delete(id); queue.set(id, frame.html[id]); }
    if (frame.wait !== undefined) badge(frame.wait);
    for (const detail of frame.events ?? []) document.dispatchEvent(new CustomEvent(`live:${detail.type}`, { detail }));
    kick();
  };

  const drop = () => {
    clearTimeout(timer);
    const old = socket;
    socket = null;
    old?.close();
  };
  const open = (from) => {
    drop();
    seq = from;
    const to = new URL(url, location.href);
    to.protocol = to.protocol.replace("http", "ws");
    to.searchParams.set("since", seq);
    unacked = 0;
    socket = new WebSocket(to);
    socket.onmessage = heard;
    socket.onclose = closed;
  };
  const later = (what) => {
    clearTimeout(timer);
    timer = setTimeout(what, Math.min(LONGEST, FIRST * 2 ** tries) * (0.7 + Math.random() * 0.6));
    tries = Math.min(tries + 1, 10);
  };
  const lost = () => say(Date.now() - last > BEAT ? "stale" : "reconnecting");
  const closed = (event) => {
    if (event.target !== socket || away) return;
    socket = null;
    if (event.code === 4401 || event.code === 4403) { reload(); return; } // the server says on a page what is wrong
    lost();
    later(() => open(seq));
  };
  const retry = () => { if (url && !away && !fetching && socket?.readyState !== 0 && socket?.readyState !== 1) open(seq); };

  const reload = () => {
    const before = Number(sessionStorage.getItem("live-reload"));
    if (Date.now() - before < BEAT) { say("stale"); return; } // not in circles
    sessionStorage.setItem("live-reload", Date.now());
    location.reload();
  };

  // Fetch the page again, morph it in, go on from where *it* stands: nothing can fall between.
  const resync = async (missed) => {
    if (fetching) return;
    fetching = true;
    drop();
    queue.clear();
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (answer.status >= 500) throw new Error(answer.statusText);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const main = page.getElementById("main");
      if (!answer.ok || answer.redirected || !main?.dataset.live) { fetching = false; reload(); return; }
      document.title = page.title;
      for (const node of parts(page)) {
        const mine = byId(node.id);
        if (mine && !put(mine, node.outerHTML)) queue.set(node.id, node.outerHTML);
      }
      url = main.dataset.live;
      pageSeq = main.dataset.seq;
      fetching = false;
      open(pageSeq);
      if (missed) caughtUp(missed);
    } catch {
      fetching = false;
      lost();
      later(() => resync(missed));
    }
  };
  // #main and what is live around it: outermost elements with an id, but not what a script of ours has changed.
  const parts = (page) =>
    [...page.querySelectorAll("#main, body [id]")].filter(
      (node) => !node.parentElement.closest("#main, body [id]") && !/^(conn|theme)/.test(node.id),
    );

  // A page that htmx has put in (an answer to a form) has a position of its own: go on from there.
  const follow = () => {
    const main = byId("main");
    if (!main?.dataset.live || fetching || (main.dataset.seq === pageSeq && main.dataset.live === url)) return;
    url = main.dataset.live;
    pageSeq = main.dataset.seq;
    open(pageSeq);
  };

  // Clocks ---------------------------------------------------------------------------------------------------------

  const two = (n) => String(n).padStart(2, "0");
  const clock = (s) => {
    const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
    return h ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
  };
  const age = (s, node) => {
    if (s < 3600 || node.dataset.as === "clock") return clock(s);
    return s < 86_400 ? `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min` : node.textContent;
  };
  const tick = () => {
    const now = Date.now() + skew;
    for (const node of document.querySelectorAll("time[data-since],time[data-until]")) {
      const down = "until" in node.dataset;
      const span = Math.max(0, Math.floor((now - Date.parse(node.dateTime)) / 1000 * (down ? -1 : 1)));
      if (!Number.isNaN(span)) write(node, down ? clock(span) : age(span, node));
    }
  };

  // Beginnings and ends --------------------------------------------------------------------------------------------

  setInterval(() => {
    if (url && !away && Date.now() - last > BEAT) {
      say("stale");
      if (socket?.readyState === 1) { drop(); later(() => open(seq)); }
    }
    if (!document.hidden) { tick(); kick(); }
  }, 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { tick(); kick(); tries = 0; retry(); } });
  document.addEventListener("focusout", () => setTimeout(kick, 0));
  document.addEventListener("pointerout", kick);
  document.addEventListener("htmx:after:swap", follow);
  addEventListener("online", () => { tries = 0; retry(); });
  addEventListener("pagehide", () => { away = true; drop(); });
  addEventListener("pageshow", (event) => { if (event.persisted) { away = false; retry(); } });
  if (byId("main")?.dataset.live) { say("reconnecting"); follow(); }
})();
