// The palette: every place and act of the page that is open, found by typing; the list of keys; and what rare keys do. Loaded by keys.js
// when asked for.
// It holds nothing of its own: each line is a link or a button of the page. Answers are not among them: they are read first.
const PLACES = ".nav a[href], .tabbar a[href], #main .title a[href], #main .seg-ctl a[href]";
const THINGS = "#main :is(.item[href], .tcard h3 a, .agent h3 a, tbody th > a:first-child)";
const ACTS = "#main :is(button, summary).btn, #main .menu > summary";
const MOST = 50;

const words = (node) => [...node.childNodes].map((one) => one.textContent).join(" ").replace(/\s+/g, " ").trim();
const seen = (node) => node.offsetParent && !node.disabled && !node.closest("[data-answer], dialog");

// The team this page is about, else the first it names.
const team = () => {
  const links = [...document.querySelectorAll("#main a[href^='/teams/'], .nav a[href^='/teams/']")].map((one) => one.pathname);
  return [location.pathname, ...links].map((path) => path.match(/^\/teams\/(?!new\/)[\w-]+\//)?.[0]).find(Boolean);
};

const lines = (team, pause) => {
  const found = new Map();
  const add = (text, kind, run) => { if (text && !found.has(`${kind} ${text}`)) found.set(`${kind} ${text}`, { text, kind, run }); };
  for (const node of document.querySelectorAll(PLACES)) if (seen(node)) add(words(node), "Go to", () => node.click());
  if (team) for (const [text, path] of [["Board", ""], ["Dependencies", "?view=graph"], ["Messages", "messages/"], ["Shared context", "context/"], ["Checkpoints", "checkpoints/"]])
    add(`${text} of ${team.split("/")[2]}`, "Go to", () => location.assign(team + path));
  for (const [text, path] of [["New team", "/teams/new/"], ["History", "/history/"], ["Keys", "/keys/"]]) add(text, "Go to", () => location.assign(path));
  for (const node of document.querySelectorAll(THINGS)) if (seen(node)) add(words(node.querySelector("b") ?? node), "Open", () => node.click());
  for (const node of document.querySelectorAll(ACTS)) if (seen(node)) add(words(node), "Do", () => { node.focus(); node.click(); });
  add("paused" in document.documentElement.dataset ? "Go on live" : "Pause live", "Do", pause);
  return [...found.values()];
};

export const open = (pause) => {
  const all = lines(team(), pause), box = document.createElement("dialog");
  box.className = "card palette";
  box.setAttribute("aria-label", "Commands");
  box.innerHTML = `<input type="text" role="combobox" aria-label="Place, task, agent or act" placeholder="Place, task, agent or act" aria-expanded="true"
    aria-controls="palette-list" aria-autocomplete="list" autocomplete="off" spellcheck="false" maxlength="80"><ul id="palette-list" role="listbox" aria-label="Found"></ul>`;
  const [field, list] = box.children;
  let shown = [], at = 0;
  const mark = (to) => {
    at = Math.min(Math.max(to, 0), shown.length - 1);
    [...list.children].forEach((row, place) => row.setAttribute("aria-selected", String(place === at)));
    list.children[at]?.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", `palette-${at}`);
  };
  const find = () => {
    const asked = field.value.trim(), parts = asked.toLowerCase().split(/\s+/);
    shown = all.filter((one) => parts.every((part) => `${one.kind} ${one.text}`.toLowerCase().includes(part))).slice(0, MOST);
    if (asked) shown.push({ kind: "Search", text: asked, run: () => location.assign(`/search/?q=${encodeURIComponent(asked)}`) });
    list.replaceChildren(...shown.map((one, place) => {
      const row = document.createElement("li"), kind = document.createElement("span"), text = document.createElement("span");
      row.id = `palette-${place}`;
      row.setAttribute("role", "option");
      kind.className = "small muted";
      kind.textContent = one.kind;
      text.className = "clip";
      text.textContent = one.text;
      row.append(kind, text);
      row.addEventListener("click", () => choose(place));
      return row;
    }));
    mark(0);
  };
  const choose = (place) => {
    const one = shown[place];
    box.close();
    one?.run();
  };
  field.addEventListener("input", find);
  box.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") mark(at + (event.key === "ArrowDown" ? 1 : -1));
    else if (event.key === "Enter") choose(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  box.addEventListener("close", () => box.remove());
  find();
  document.body.append(box);
  box.showModal();
  field.focus();
};

// The list of keys, taken from its page. `dress` gives its switch a life.
export const help = async (dress) => {
  const page = await fetch("/keys/", { headers: { "HX-Request": "true" } }).then((got) => (got.ok && !got.redirected ? got.text() : ""));
  const keys = new DOMParser().parseFromString(page, "text/html").getElementById("keys");
  if (!keys) return location.assign("/keys/");
  if (document.querySelector("dialog[open]")) return;
  const box = document.createElement("dialog"), close = document.createElement("button");
  box.className = "card";
  box.setAttribute("aria-labelledby", "keys-h");
  close.className = "btn";
  close.textContent = "Close";
  close.autofocus = true;
  close.addEventListener("click", () => box.close());
  box.addEventListener("close", () => box.remove());
  keys.prepend(close);
  box.append(keys);
  dress(box);
  document.body.append(box);
  box.showModal();
};

// What follows a `g` (keys.js has where it leads).
export const go = (to) => {
  const of = team();
  if (to !== undefined) location.assign(to.startsWith("/") ? to : of ? of + to : "/teams/");
};

// `[` and `]`: another request of the list.
export const turn = (by) => {
  const all = [...document.querySelectorAll(".split .item[href]:not(.gone)")];
  const at = all.findIndex((one) => one.hasAttribute("aria-current"));
  all[at < 0 ? 0 : at + by]?.click();
};

// `.`: the nearest menu.
export const more = () => {
  const near = document.activeElement?.closest(".card, .tcard, tr") ?? document.body, all = "details.menu > summary, details.fold > summary";
  const shown = (from) => [...from.querySelectorAll(all)].find((one) => one.offsetParent);
  const menu = shown(near) ?? shown(document.getElementById("main"));
  menu?.click();
  menu?.focus();
};
