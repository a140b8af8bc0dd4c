// What pages do by themselves: forms, order, clocks, menus. Every form works without it.
(() => {
  const INERT = 500, BOUND = 10_000;

  // An answer counts only 500 ms after its request, or a changed text of it, has come into view: no click meant for something
  // else may land on it. A redrawn but unchanged card stays live.
  let seen = {}, until = 0;
  const arm = () => {
    const before = seen;
    seen = {}; // who left comes back as new
    for (const { dataset: { decision, payload } } of document.querySelectorAll("[data-decision]")) {
      if (before[decision] === (seen[decision] = payload)) continue;
      until = performance.now() + INERT;
      document.documentElement.dataset.inert = "";
      setTimeout(() => { if (performance.now() >= until - 1) delete document.documentElement.dataset.inert; }, INERT);
    }
  };

  // The address names the most urgent, which the inbox shows: fetched again it never puts another in its place.
  const pin = () => {
    const card = document.querySelector(".split:not(.picked) > [data-decision]");
    if (!card?.offsetParent || location.pathname !== "/inbox/") return;
    history.replaceState(history.state, "", `/inbox/${card.dataset.decision}/${location.search}`);
  };

  // What is written or chosen, or given back by an answer, is the person's until it is sent: no frame changes it.
  const keep = (form, on = true) => {
    for (const field of form.elements) {
      if (field.id) field.toggleAttribute("hx-morph-skip", on);
      if (field.matches("[aria-invalid]")) field.closest(".field,.ask,form").toggleAttribute("hx-morph-skip", on);
    }
  };
  document.addEventListener("input", ({ target: { form } }) => { if (form) keep(form); });

  // "Sending…" lasts ten seconds; a second press within them does nothing.
  // What is sent again, for nobody knows whether it came, keeps its key: the server makes it once.
  const sending = new Map(), once = Symbol(), words = Symbol(); // named by a text they could be its fields
  let answered = false, refused = false, given;
  const say = (form, text) => {
    let status = form.querySelector("[data-answer-status]");
    if (!status) {
      form.insertAdjacentHTML("beforeend", '<p class="error" role="alert" data-answer-status>');
      status = form.lastElementChild;
    }
    if (status.textContent !== text) status.textContent = text; // read aloud once
    status.hidden = false;
  };
  const failed = (form, why) => {
    sending.delete(form.dataset.answer);
    if (form.id && !form.dataset.answer) form.dataset.hold = "firm"; // no frame takes the words away; else they come again
    say(form, form[words] = `Not delivered: ${why}. Your text is kept. Try again.`);
  };
  document.addEventListener("submit", (event) => {
    const form = event.target.closest?.("[data-answer]");
    if (!form) return;
    const id = form.dataset.answer;
    if (performance.now() < until || sending.has(id)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    const mark = {};
    sending.set(id, mark);
    setTimeout(() => { if (sending.get(id) === mark) failed(form, "no answer within 10 s"); }, BOUND);
    say(form, "Sending…");
  }, true);
  const posted = (event) => event.target.closest?.("form[method=post]");
  document.addEventListener("htmx:config:request", (event) => {
    const form = posted(event);
    if (!form) return;
    event.detail.ctx.request.headers["Idempotency-Key"] = form[once] ??= Math.random();
    form[words] = null;
    if (!form.dataset.answer) form.querySelector("[data-answer-status]")?.remove();
  });
  document.addEventListener("htmx:error", (event) => {
    const form = posted(event);
    if (form) failed(form, event.detail.error === "timeout" ? "no answer within 10 s" : "the server cannot be reached");
  });
  document.addEventListener("htmx:after:request", (event) => {
    const form = posted(event), { status, raw } = event.detail.ctx.response, good = status < 400;
    if (!form) return;
    if (status >= 500 || status === 413) return failed(form, status < 500 ? "it is too large" : "server error");
    form[once] = form[words] = null;
    delete form.dataset.hold;
    keep(form, false);
    given = !raw.redirected && form;
    sending.delete(form.dataset.answer);
    if (form.matches("[data-answer],[data-next]")) [answered, refused] = [good, !good];
    if (!good) return;
    // What was sent is gone from its form (a morphed field keeps it); to whom one writes stays.
    const to = form.elements.namedItem("to"), chosen = to?.value;
    form.reset();
    if (to) to.value = chosen;
  });

  // After an answer the next heading has the focus.
  let settled;
  document.addEventListener("htmx:after:settle", () => {
    if (!settled) queueMicrotask(settle); // one look for a whole frame
    settled = true;
  });
  const settle = () => {
    settled = false;
    arm();
    pin();
    follow();
    if (refused) {
      refused = false;
      // to what is wrong: what is typed next is meant for it, and is no key
      const why = document.querySelector("#main [role=alert]");
      why?.setAttribute("tabindex", "-1");
      const wrong = document.querySelector("#main [aria-invalid]") ?? why?.closest(".ask")?.querySelector("input") ?? why;
      wrong?.closest("details")?.setAttribute("open", "");
      wrong?.focus({ preventScroll: true });
      why?.scrollIntoView({ block: "center" });
    }
    if (given) {
      keep(given);
      given = document.querySelector("#main [data-safe]")?.focus(); // what asks "are you sure?" begins at the safe way out
    }
    if (!answered) return;
    answered = false;
    scrollTo(0, 0);
    (document.querySelector("[data-decision] h2") ?? document.querySelector("#main h1"))?.focus({ preventScroll: true });
  };

  // A list that keeps its places (live.js) is put in order by a button, shown where that has changed.
  const rows = (list) => [...list.children].filter((one) => one.id);
  const rank = (row) => row.dataset.rank ?? row.querySelector("[data-rank]")?.dataset.rank ?? 0;
  const sorted = (list) => rows(list).sort((one, other) => rank(one) - rank(other));
  const order = () => {
    for (const list of document.querySelectorAll("[data-sorted]")) {
      const wanted = sorted(list), button = list.querySelector("[data-sort]");
      if (button) button.hidden = rows(list).every((row, at) => row === wanted[at]);
    }
  };
  document.addEventListener("click", (event) => {
    const list = event.target.closest("[data-sort]")?.closest("[data-sorted]");
    if (!list) return;
    list.prepend(...sorted(list));
    list.querySelector("a")?.focus();
    order();
  });

  // Clocks, by the server's, in the words of tasks_app/domain/spans.py.
  let skew = 0;
  const span = (s) => {
    for (const [unit, word, rest, less] of [[86400, "days", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]]) {
      if (s < unit) continue;
      const many = Math.floor(s / unit), few = Math.floor(s % unit / rest);
      return `${many} ${unit > 3600 && many < 2 ? "day" : word}${few ? ` ${few} ${less}` : ""}`;
    }
    return `${s} s`;
  };
  const times = document.getElementsByTagName("time"); // the browser keeps the list
  const tick = () => {
    if (document.hidden) return;
    for (const node of times) {
      if (!("since" in node.dataset || "until" in node.dataset)) continue;
      const ms = Date.now() + skew - Date.parse(node.dateTime);
      const text = span(Math.max(0, Math.floor(("until" in node.dataset ? -ms : ms) / 1000)));
      if (node.textContent !== text) node.textContent = text;
    }
  };
  document.addEventListener("page:skew", ({ detail }) => { skew = detail; });
  document.addEventListener("page:shown", () => {
    order();
    tick();
    for (const form of document.forms) if (form[words]) say(form, form[words]);
  });
  document.addEventListener("visibilitychange", tick);
  setInterval(tick, 1000);

  const menus = () => document.querySelectorAll("details.menu[open]");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of menus()) { menu.open = false; menu.querySelector("summary")?.focus(); }
  });
  document.addEventListener("pointerdown", (event) => {
    for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
  });

  const follow = () => { if (document.getElementById("follow")) import(document.documentElement.dataset.transcript).catch(() => {}); };

  // What tells of requests comes later: with the first, and before for who asked for it, or is about to.
  const later = document.documentElement.dataset.later, choice = "[data-notify-on],[data-notify-no]";
  const chose = (event) => {
    const button = event.target.closest(choice);
    if (!button) return;
    document.removeEventListener("click", chose);
    import(later).then(() => button.click());
  };
  document.addEventListener("live:decision", ({ detail }) => import(later).then(({ announce }) => announce(detail)));
  if (document.documentElement.dataset.notify !== "ask" || document.querySelector("[data-notify-switch]")) {
    (window.requestIdleCallback ?? setTimeout)(() => import(later));
  } else document.addEventListener("click", chose);

  new MutationObserver(arm).observe(document.getElementById("main") ?? document.body, {
    subtree: true, childList: true, attributes: true, attributeFilter: ["data-payload"],
  });
  arm();
  pin();
  follow();
})();
