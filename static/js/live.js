// One socket per page: morphs what frames bring in, around what the person holds, and says how fresh the page is. See
// docs/architecture.md, "The live page".
(() => {
  "use strict";
  const BEAT = 25_000, FIRST = 500, LONGEST = 30_000, LATE = 10_000, SOON = 2000, ACK_MS = 1000, ACK_SIZE = 150_000, BUDGET_MS = 12, MOST_MS = 100, REST = 4;
  const byId = (id) => document.getElementById(id);
  const queue = new Map(); // id -> { html, at: when it was heard }, the longest waiting first
  const told = new Set();
  let socket, url, seq, known, state, note, fetching, away, paused, owed, ackDue; // known: the last good seq; fetching: { missed }, no socket
  let last = Date.now(), tries = 0, rested = 0, timer, raf, ackTimer, heards = 0, budget = BUDGET_MS, acked = 0, size = 0, opened = 0, good, fetched = 0, again = 0, moved = 0;

  const write = (node, text) => { if (node && node.textContent !== text) node.textContent = text; };
  const tell = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));
  const parse = (html) => { const made = document.createElement("template"); made.innerHTML = html; return made; };
  const since = () => new Date(last).toTimeString().slice(0, 8);
  const say = (word) => {
    state = document.documentElement.dataset.conn = word;
    const stale = word === "stale";
    const texts = { none: "Not live", connecting: "Connecting", live: paused ? "Paused" : note || "Live", reconnecting: "Reconnecting", stale: `Stale since ${since()}` };
    write(byId("conn-text"), texts[word]);
    if (stale) write(byId("conn-since"), `No data since ${since()}.`);
    for (const node of document.querySelectorAll(stale ? "[data-needs-live]:enabled" : "[data-was-live]")) {
      node.toggleAttribute("disabled", stale);
      node.toggleAttribute("data-was-live", stale);
    }
  };
  const caughtUp = (count) => {
    if (!count) return;
    note = `Caught up: ${count} change${count > 1 ? "s" : ""}`;
    say(state);
    setTimeout(() => { note = ""; say(state); }, 4000);
  };
  const badge = (count) => {
    document.title = (count ? `(${count}) ` : "") + document.title.replace(/^\(\d+\) /, "");
    const icon = byId("conn-icon");
    if (icon) icon.href = count ? icon.dataset.waiting : icon.dataset.idle;
    navigator.setAppBadge?.(count).catch(() => {});
  };

  const TYPING = "textarea,select,[contenteditable],input:not([type=checkbox],[type=radio])";
  const holds = () => {
    const over = Date.now() - moved < LONGEST ? ":hover," : "", field = document.activeElement;
    const found = [...document.querySelectorAll(`[data-hold]:is(${over}:has(form.htmx-request)),[data-hold=firm]`)];
    if (field?.matches(TYPING)) found.push(field.closest("[data-hold]") ?? field.closest("form") ?? field);
    return found.map((node) => node.closest("[id]")).filter((node) => node && !node.contains(byId("main")));
  };
  // What stands in a [data-sorted] list keeps its place: what is new comes last.
  const steady = (text) => {
    if (!text.includes("data-sorted")) return text;
    const made = parse(text);
    for (const list of made.content.querySelectorAll("[data-sorted]")) {
      const place = new Map([...(byId(list.id)?.children ?? [])].map((one, at) => [one.id, at]));
      const where = (row) => place.get(row.id) ?? place.size;
      list.prepend(...[...list.children].filter((one) => one.id).sort((one, other) => where(one) - where(other)));
    }
    return made.innerHTML;
  };
  // Texts and attributes alone are put; a morph, ten times as dear, knows a row that has moved.
  const MADE = /^(hx-|(href|action|formaction|name|value|type|for)$)/, FIELDS = "input,select,textarea,template";
  const changes = (one, other, found) => {
    if (one.isEqualNode(other)) return true;
    if (one.nodeName !== other.nodeName || one.id !== other.id || one.childNodes.length !== other.childNodes.length) return false;
    if (one.nodeType !== 1) {
      found.push(() => { one.nodeValue = other.nodeValue; });
      return true;
    }
    if (one.matches(FIELDS)) return false;
    for (const name of new Set([...one.getAttributeNames(), ...other.getAttributeNames()])) {
      const word = other.getAttribute(name);
      if (one.getAttribute(name) === word || htmx.config.morphIgnore.includes(name)) continue;
      if (MADE.test(name)) return false;
      found.push(() => { word === null ? one.removeAttribute(name) : one.setAttribute(name, word); });
    }
    return [...one.childNodes].every((node, at) => changes(node, other.childNodes[at], found));
  };
  const rewrite = (target, text) => {
    const made = parse(text.trim()), found = [];
    if (made.content.childNodes.length !== 1 || !changes(target, made.content.firstChild, found)) return false;
    found.forEach((change) => change());
    return true;
  };
  const wait = (id, html, at = ++heards) => { if (!(queue.get(id)?.at > at)) queue.set(id, { html, at }); };
  // Morph all but what is held; false: it is all held.
  const put = (target, text, held = holds(), at = ++heards) => {
    const inside = held.filter((node) => target.contains(node));
    if (held.some((node) => node.contains(target))) return false;
    if (inside.length) {
      const made = parse(text);
      for (const node of inside) {
        const twin = made.content.querySelector("#" + CSS.escape(node.id));
        if (!twin) return false;
        wait(node.id, twin.outerHTML, at);
        twin.replaceWith(node.cloneNode(true));
      }
      text = made.innerHTML;
    }
    if (inside.length || !rewrite(target, text)) htmx.swap({ target, text: steady(text), swap: "outerMorph", sourceElement: target, own: true });
    return true;
  };
  // What is around a block and was heard before comes first; where that is held, the block comes again after it.
  const show = (id, held) => {
    const { html, at } = queue.get(id);
    let again = false;
    for (let up = byId(id); up = up?.parentElement?.closest("[id]");) {
      if (!(queue.get(up.id)?.at < at)) continue;
      if (show(up.id, held) && !queue.has(up.id)) return show(id, held);
      again = true;
    }
    const node = byId(id);
    if (html === null) node?.remove();
    else if (node ? !put(node, html, held, at) : [...queue.values()].some((other) => other.at < at)) return false;
    for (const [other, one] of queue) if (one.at < at && byId(id)?.contains(byId(other))) queue.delete(other);
    return again || queue.get(id)?.at > at || queue.delete(id);
  };
  const flush = () => {
    raf = 0;
    const start = performance.now(), held = holds();
    for (const id of [...queue.keys()]) {
      try { if (queue.has(id)) show(id, held); } catch (error) { queue.delete(id); console.error(error); }
      if (performance.now() - start > budget) { kick(); break; }
    }
    tell("page:shown");
    // after the paint: who has no time gets fewer frames
    setTimeout(() => {
      const took = performance.now() - start;
      budget = Math.min(MOST_MS, Math.max(BUDGET_MS, took / 2));
      if (!raf) rested = start + REST * took;
      if (ackDue) ack();
    });
  };
  const kick = () => {
    if (raf || paused || document.hidden || !queue.size) return;
    const pause = rested - performance.now();
    raf = pause > 0 ? setTimeout(() => { raf = requestAnimationFrame(flush); }, pause) : requestAnimationFrame(flush);
  };

  // What is not shown is not acknowledged: a slow page is sent less, not later. A hidden one shows nothing.
  const ack = () => {
    if (ackDue = raf && !document.hidden && Date.now() - acked < LATE) return;
    ackTimer = clearTimeout(ackTimer);
    acked = Date.now();
    size = 0;
    if (socket?.readyState === 1) socket.send(JSON.stringify({ ack: seq }));
  };
  // Another word in [data-made-of] means blocks that no frame can bring.
  const remade = (node, html) => {
    if (!node?.dataset.madeOf || html === null) return false;
    return parse(html).content.getElementById(node.id)?.dataset.madeOf !== node.dataset.madeOf;
  };
  const heard = (event) => {
    if (event.target !== socket) return;
    const frame = JSON.parse(event.data), html = frame.html ?? {}, gap = frame.resync || ("prev" in frame && frame.prev !== seq);
    if (frame.error) return;
    last = Date.now();
    tries = 0;
    seq = frame.seq;
    if (frame.now) tell("page:skew", frame.now - last);
    if ("wait" in frame) badge(frame.wait);
    for (const detail of frame.events ?? []) {
      if (told.has(detail.id)) continue; // a page may hear of it twice
      told.add(detail.id);
      tell("live:" + detail.type, detail);
    }
    if (gap || Object.keys(html).some((id) => remade(byId(id), html[id]))) {
      if (last - good > SOON) again = 0;
      if (!again++ || paused) return resync(frame.missed);
      drop(); // just fetched, and not yet good: longer each time
      fetching = frame;
      tries = again - 2;
      return later(() => resync(frame.missed));
    }
    good ||= last;
    if (!owed) known = seq;
    if (state !== "live") say("live");
    caughtUp(frame.missed);
    for (const id in html) wait(id, html[id]); // the oldest first
    kick();
    size += event.data.length; // beyond 512 kB without a word the server sends nothing
    if (document.hidden || last - acked >= ACK_MS || size > ACK_SIZE) ack(); // a hidden page's timers are slow
    else ackTimer ||= setTimeout(ack, ACK_MS);
  };
  const drop = () => {
    const old = socket;
    clearTimeout(timer);
    socket = null;
    old?.close();
  };
  const open = (from) => {
    drop();
    fetching = null;
    seq = from;
    good = NaN;
    opened = acked = Date.now();
    socket = new WebSocket(location.origin.replace("http", "ws") + `${url}&since=${from}&heard=${known ??= from}`);
    socket.onmessage = heard;
    socket.onclose = (event) => {
      if (event.target !== socket || away) return;
      socket = null;
      if (event.code === 4401 || event.code === 4403) reload();
      else later(() => open(seq));
    };
  };
  const later = (what) => {
    say(Date.now() - last > BEAT ? "stale" : "reconnecting");
    clearTimeout(timer);
    timer = setTimeout(what, Math.min(LONGEST, FIRST * 2 ** tries++) * (0.7 + Math.random() * 0.6));
  };
  const retry = () => {
    if (!url || away) return;
    tries = 0;
    if (!fetching) { if (!(socket?.readyState < 2)) open(seq); }
    else if (Date.now() - fetched > SOON) resync(fetching.missed);
  };
  const reload = () => {
    const before = sessionStorage.liveReload;
    sessionStorage.liveReload = Date.now();
    if (Date.now() - before < BEAT) later(() => open(seq));
    else location.replace(location.pathname + location.search); // a page that a form was sent to is not sent again
  };

  // Paused: nothing moves but the count in the title, and what tells of requests.
  document.addEventListener("live:pause", () => {
    paused = document.documentElement.toggleAttribute("data-paused");
    say(state);
    if (paused) return;
    if (owed) resync();
    else kick();
  });

  const resync = async (missed) => {
    if (paused) {
      owed = true;
      return socket ? ack() : open(seq);
    }
    owed = false;
    const mine = fetching = { missed };
    fetched = Date.now();
    drop();
    queue.clear();
    try {
      const answer = await fetch(location.href, { cache: "no-store", headers: { "X-Live": "resync" }, signal: AbortSignal.timeout(LATE) });
      if (answer.status >= 500) throw answer;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html"), main = page.getElementById("main");
      if (fetching !== mine) return; // another page was put in meanwhile
      owed = paused;
      if (paused || byId("main")?.dataset.live !== url) return open(seq); // it stands still, or is none that lives
      // another page's address
      if (!answer.ok || main?.dataset.live !== url) return reload();
      document.title = page.title;
      // what this person was told stays
      main.prepend(...[...document.querySelectorAll("#main > .note[role]")].map((node) => node.cloneNode(true)));
      // outermost elements with an id, but what scripts write into
      for (const node of page.querySelectorAll("body [id]:not(body [id] [id], [id^=conn], [id^=theme])")) {
        const mine = byId(node.id);
        if (mine && !put(mine, node.outerHTML)) wait(node.id, node.outerHTML);
      }
      tell("page:shown");
      open(main.dataset.seq); // though it be held: it waits with what is heard from now on
      caughtUp(missed);
    } catch {
      if (fetching === mine) later(() => resync(missed));
    }
  };
  // A page that was put in has a position of its own; what was heard before is older, or is heard again.
  const follow = () => {
    const main = byId("main"), { live, seq: at } = main?.dataset ?? {};
    if (!live) return;
    for (const id of queue.keys()) if (!byId(id) || main.contains(byId(id))) queue.delete(id);
    url = live;
    open(at);
  };

  setInterval(() => {
    if (url && !away && Date.now() - last > BEAT) {
      say("stale");
      if (socket && Date.now() - opened > BEAT) { drop(); later(() => open(seq)); }
    }
    if (ackDue) ack();
    kick();
  }, 1000);
  document.addEventListener("visibilitychange", () => { if (ackDue) ack(); kick(); if (!document.hidden) retry(); });
  document.addEventListener("focusout", () => setTimeout(kick));
  document.addEventListener("pointerout", kick);
  document.addEventListener("pointermove", (event) => { if (event.pointerType !== "touch") moved = Date.now(); });
  document.addEventListener("htmx:after:swap", ({ detail }) => { if (!detail.ctx.own) follow(); });
  addEventListener("online", retry);
  addEventListener("focus", retry);
  addEventListener("pagehide", () => { away = true; fetched = 0; drop(); });
  addEventListener("pageshow", () => { away = false; retry(); });
  say(byId("main")?.dataset.live ? "connecting" : "none");
  follow();
})();
