// Keys: go to a page, move in a list, answer the request that is open; Ctrl K and ? open palette.js. Ignored in fields; single ones can be switched off
// (WCAG 2.1.4). /keys/ lists and switches them.
(() => {
  const GO = { o: "/", i: "/inbox/", b: "", d: "?view=graph", m: "messages/", h: "/history/" }; // no slash before it: of a team
  const FIELDS = "textarea,select,[contenteditable],input:not([type=checkbox],[type=radio],[type=submit])";
  const LISTS = ".item[href]:not(.gone), .tcard h3 a, .agent h3 a, tbody th > a:first-child";
  const TOGETHER_MS = 1500, RASH_MS = 700;
  const read = () => { try { return localStorage.getItem("keys") ?? "on"; } catch { return "on"; } };
  const keep = (word) => { try { localStorage.setItem("keys", word); } catch { /* private mode: for this page only */ } };
  const off = () => read() === "off" || document.documentElement.dataset.keys === "off";

  // What is asked answers only when it has been in view for a moment (desk.js), and to one press of a key that is not held, nor of words
  // that began before (`rash`), nor where the focus is at what says that something is wrong.
  // A button without a key has none on purpose: what is risky is pressed by hand.
  const card = () => shown("[data-decision]");
  const inert = () => "inert" in document.documentElement.dataset;
  const answer = (key) => {
    if (rash || document.activeElement?.matches("[role=alert], form:has(.error:not([hidden])) *")) return;
    card()?.querySelector(`[data-key="${key}"]:enabled`)?.click();
  };
  const choose = (number) => {
    if (rash) return;
    const asks = [...(card()?.querySelectorAll(".ask") ?? [])].filter((one) => one.querySelector("input"));
    const here = asks.find((one) => one.contains(document.activeElement));
    const option = (here ?? asks.find((one) => !one.querySelector("input:checked")) ?? asks[0])?.querySelectorAll(".opt input")[number - 1];
    option?.click();
    option?.focus();
  };
  const write = () => card()?.querySelector("textarea[name=note], textarea[name=text], .ask textarea")?.focus();
  const send = (event) => {
    const form = event.target.closest?.("form") ?? card()?.querySelector("[data-answer]");
    if (!form) return;
    if (form.matches("[data-answer]")) { if (!inert()) form.querySelector('[data-key="Control+Enter"]:enabled')?.click(); return; }
    const buttons = [...form.elements].filter((one) => one.type === "submit" && !one.disabled);
    if (buttons.length === 1) buttons[0].click();
  };

  const move = (by) => {
    const all = [...document.querySelectorAll(LISTS)].filter((one) => one.offsetParent);
    const focused = all.indexOf(document.activeElement);
    const from = focused < 0 ? all.findIndex((one) => one.hasAttribute("aria-current")) : focused;
    all[Math.min(Math.max(from + by, 0), all.length - 1)]?.focus();
  };
  const search = () => {
    const field = shown("#search, #main [type=search]");
    if (!field) return location.assign("/search/");
    field.focus();
    field.select();
  };

  const shown = (selector, from = document) => [...from.querySelectorAll(selector)].find((one) => one.offsetParent);
  const pause = () => document.dispatchEvent(new CustomEvent("live:pause"));
  const turn = (by) => rarely().then((one) => one.turn(by));
  const go = (letter) => rarely().then((one) => one.go(GO[letter]));
  const rarely = () => import(document.documentElement.dataset.palette);
  const palette = () => rarely().then(({ open }) => open(pause)).catch(search);

  // The list, and the switch in it.
  const dress = (list) => {
    const on = list?.querySelector("#keys-on");
    if (!on) return;
    on.checked = !off();
    on.closest("[hidden]")?.removeAttribute("hidden");
  };
  const help = () => {
    if (location.pathname === "/keys/" || document.querySelector("dialog[open]")) return;
    rarely().then((one) => one.help(dress)).catch(() => location.assign("/keys/"));
  };
  document.addEventListener("change", (event) => {
    if (event.target.id === "keys-on") keep(document.documentElement.dataset.keys = event.target.checked ? "on" : "off");
  });
  dress(document.getElementById("main"));

  const DO = { "/": search, "?": help, r: write, h: () => answer("h"), a: () => answer("a"), d: () => answer("d"), u: () => shown("#undo-note button")?.click(), f: () => shown("#follow")?.click(), p: pause, ".": () => rarely().then((one) => one.more()), "[": () => turn(-1), "]": () => turn(1) };
  let went = -TOGETHER_MS, early = -RASH_MS, last, rash;
  const single = (event) => {
    const key = event.key.toLowerCase(), after = event.timeStamp - went < TOGETHER_MS;
    went = -TOGETHER_MS;
    rash = inert() || event.timeStamp - early < RASH_MS;
    if (inert() || rash && key !== last) early = event.timeStamp; // the same again is impatience, another goes on with a word
    last = key;
    if (event.shiftKey && key >= "a" && key <= "z") return false;
    if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
    else if (event.repeat) return false;
    else if (after) go(key); // whatever follows a `g` belongs to it and answers nothing
    else if (key === "g") went = event.timeStamp;
    else if (key in DO) DO[key]();
    else if (key >= "1" && key <= "9") choose(Number(key));
    else return false;
    return true;
  };
  document.addEventListener("keydown", (event) => {
    if (!event.key || event.isComposing || event.key.length > 1 && event.key !== "Enter" && event.key !== "Escape") return;
    const field = event.target.closest?.(FIELDS), chord = event.ctrlKey || event.metaKey || event.altKey;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { if (!event.repeat) send(event); return; }
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault(); // the browser's own bar
      if (!event.repeat && !document.querySelector("dialog[open]")) palette();
      return;
    }
    // out of a field, back to where the keys of an answer work
    if (event.key === "Escape" && (field?.closest("[data-answer]") || event.target.matches?.("[role=alert]"))) return card()?.querySelector("h2").focus();
    if (field || off() || event.key.length > 1 || (chord && !event.getModifierState("AltGraph"))) return;
    const box = document.querySelector("dialog[open]");
    if (box) { if (event.key === "?") box.close(); return; }
    if (single(event)) event.preventDefault();
  });
})();
