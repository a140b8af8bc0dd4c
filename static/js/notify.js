// Tells a person who looks elsewhere that something waits: a notification of the desktop and a soft sound, both only when asked for.
// And says a new request to who cannot see the bar. Loaded by desk.js: with the first one, or once the page stands.
// Kept in this browser alone: what was chosen, and which requests were told of.
// static/sound/knock.wav: two decaying sine tones, made for Crewdesk.
const AGAIN_S = [60, 300], LATER_S = 900, HEARD_MS = 500, KEPT = 60;
const root = document.documentElement;
const WORDS = { plan: "Plan approval", stall: "Quiet agent" };
const ELSEWHERE = "A web hook tells you on your phone, too: see On-call in docs/operations.md.";

const read = (name, other) => { try { return JSON.parse(localStorage.getItem(name)) ?? other; } catch { return other; } };
const keep = (name, value) => { try { localStorage.setItem(name, JSON.stringify(value)); } catch { /* private mode: for this page only */ } };
let chosen = read("notify", {}), sound;

const show = () => {
  root.dataset.notify = "asked" in chosen ? (chosen.desktop || chosen.sound ? "on" : "off") : "ask";
  for (const button of document.querySelectorAll("[data-notify-switch]")) {
    const name = button.dataset.notifySwitch, state = `${button.dataset.word}: ${chosen[name] ? "on" : "off"}`;
    if (button.textContent !== state) button.textContent = state;
    button.setAttribute("aria-pressed", String(!!chosen[name]));
  }
};
const choose = (more) => { chosen = { ...chosen, ...more, asked: true }; keep("notify", chosen); show(); };
const say = (text) => {
  const line = document.createElement("p");
  line.className = "note";
  line.setAttribute("role", "status");
  line.dataset.notifySaid = "";
  line.textContent = text;
  document.querySelector("[data-notify-said]")?.remove();
  document.getElementById("main")?.prepend(line);
};

const asks = (kind, agent) => `${WORDS[kind] ?? kind[0].toUpperCase() + kind.slice(1)}${agent ? ` from ${agent}` : ""}`;

// Read aloud, once; several that come together are one sentence.
let fresh = 0, quiet;
export const announce = ({ kind, agent }) => {
  const news = document.getElementById("conn-news");
  clearTimeout(quiet);
  fresh += 1;
  news.textContent = `New: ${asks(kind, agent)}${fresh > 1 ? `, and ${fresh - 1} more` : ""}`;
  quiet = setTimeout(() => { fresh = 0; news.textContent = ""; }, 8000);
};

// A notification carries who asks and where, and nothing of what is asked: it may lie on a locked screen.
const notify = ({ id, kind, agent, team }, again) => {
  const told = new Notification(`${asks(kind, agent)} · ${team}`, {
    tag: id, renotify: again, body: again ? "Still waits for you." : "Waits for you.", silent: true,
  });
  told.onclick = () => { focus(); told.close(); location.assign(`/inbox/${encodeURIComponent(id)}/`); };
};
const knock = () => { sound ??= new Audio(root.dataset.sound); sound.currentTime = 0; sound.play().catch(() => {}); };

const turnOn = async (withSound) => {
  choose({ sound: withSound });
  if (withSound) knock();
  if (!("Notification" in window)) return say(`This browser shows no notifications here. ${ELSEWHERE}`);
  const answer = await Notification.requestPermission();
  if (answer !== "granted") return say(`The browser does not allow notifications here. Its settings can change that. ${ELSEWHERE}`);
  try {
    new Notification("Crewdesk tells you here", { tag: "crewdesk-test", silent: true }).onclick = () => focus();
    choose({ desktop: true });
  } catch { // phones want a service worker for it
    say(`This browser shows no notifications of an open page. ${ELSEWHERE}`);
  }
};

// One telling for all tabs of this browser: the first to write it down tells, and a tab that is looked at has seen it.
const told = () => read("notify.told", {});
const write = (id, item) => {
  const rest = Object.entries({ ...told(), [id]: item }).sort((one, other) => other[1].at - one[1].at).slice(0, KEPT);
  keep("notify.told", Object.fromEntries(rest));
};
const tell = (detail, times) => {
  write(detail.id, { detail, at: Date.now(), times: times + 1, seen: false });
  if (chosen.desktop) { try { notify(detail, times > 0); } catch { choose({ desktop: false }); } }
  if (chosen.sound) knock();
};
const seen = () => {
  if (document.hidden) return;
  for (const [id, item] of Object.entries(told())) if (!item.seen) write(id, { ...item, seen: true });
};
document.addEventListener("live:decision", ({ detail }) => {
  if (!chosen.desktop && !chosen.sound) return;
  if (!document.hidden) return write(detail.id, { detail, at: Date.now(), times: 0, seen: true });
  setTimeout(() => { if (!told()[detail.id]) tell(detail, 0); }, HEARD_MS);
});

// Again after one and five minutes, then every quarter of an hour, while nobody has looked and it still waits.
setInterval(async () => {
  if (!document.hidden || (!chosen.desktop && !chosen.sound)) return;
  const due = Object.values(told()).filter((item) => !item.seen && Date.now() - item.at >= (AGAIN_S[item.times - 1] ?? LATER_S) * 1000);
  if (!due.length) return;
  const answer = await fetch("/api/decisions", { headers: { Accept: "application/json" } }).catch(() => null);
  if (!answer?.ok) return;
  const open = new Set((await answer.json()).decisions.filter((one) => !one.snoozed && !one.looking).map((one) => one.id));
  for (const { detail, times } of due) {
    if (open.has(detail.id)) tell(detail, times);
    else write(detail.id, { ...told()[detail.id], at: Date.now() });
  }
}, 5000);

document.addEventListener("click", (event) => {
  const asked = event.target.closest("[data-notify-on]"), button = event.target.closest("[data-notify-switch]");
  if (asked) turnOn(asked.dataset.notifyOn === "sound");
  else if (event.target.closest("[data-notify-no]")) choose({});
  else if (button?.dataset.notifySwitch === "sound") { choose({ sound: !chosen.sound }); if (chosen.sound) knock(); }
  else if (button) { if (chosen.desktop) choose({ desktop: false }); else turnOn(!!chosen.sound); }
});
addEventListener("storage", () => { chosen = read("notify", {}); show(); });
document.addEventListener("visibilitychange", seen);
document.addEventListener("htmx:after:settle", show);
document.addEventListener("page:shown", show); // texts that are put in place (live.js) settle nothing
seen();
show();
