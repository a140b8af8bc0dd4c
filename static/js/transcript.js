// The transcript follows its newest step until the reader scrolls up; then it counts what is new below.
// Loaded by desk.js where a page has one.
const log = () => document.querySelector("[data-log]");
const button = () => document.getElementById("follow");
let following = true, seen = 0, aloud = false, own = -1; // own: where this script has scrolled to
const atEnd = (node) => node.scrollHeight - node.scrollTop - node.clientHeight < 40;
const count = (node) => node.querySelectorAll(".step").length;
const put = (node, text) => { if (node.textContent !== text) node.textContent = text; }; // an equal text would wake the observer again
const show = () => {
  const node = log(), line = document.getElementById("jump-line"), jump = document.getElementById("jump");
  if (button()) {
    button().hidden = false;
    put(button(), following ? "Follow: on" : "Follow: off");
    button().setAttribute("aria-pressed", String(following));
  }
  const voice = document.getElementById("aloud"), way = aloud ? "polite" : "off";
  if (voice) { voice.hidden = false; voice.setAttribute("aria-pressed", String(aloud)); }
  if (node && node.getAttribute("aria-live") !== way) node.setAttribute("aria-live", way); // a frame has set it back
  if (!node || !line) return;
  const fresh = Math.max(0, count(node) - seen);
  line.hidden = following || !fresh;
  if (!line.hidden) put(jump, `${fresh} new below, jump to live`);
};
const toEnd = () => { const node = log(); if (!node) return; node.scrollTop = node.scrollHeight; own = node.scrollTop; seen = count(node); };
const changed = () => { if (following && button()) toEnd(); show(); };
document.addEventListener("scroll", (event) => {
  if (event.target !== log() || !button()) return;
  if (event.target.scrollTop === own) return; // told late of what it did itself: meanwhile the reader may have switched it off
  own = -1;
  const end = atEnd(event.target);
  if (end) seen = count(event.target);
  if (end !== following) { following = end; show(); }
}, true);
document.addEventListener("click", (event) => {
  if (event.target.closest("#follow")) following = !following;
  else if (event.target.closest("#jump")) following = true;
  else if (event.target.closest("#aloud")) { aloud = !aloud; show(); return; }
  else return;
  if (following) toEnd();
  show();
});
const main = document.getElementById("main");
if (main) new MutationObserver(changed).observe(main, { subtree: true, childList: true });
document.addEventListener("page:shown", changed); // texts and attributes that are put in place (live.js)
changed();
