// The transcript follows its newest step until the reader scrolls up; then it counts what is new below.
(() => {
  const log = () => document.querySelector("[data-log]");
  const button = () => document.getElementById("follow");
  let following = true, seen = 0;
  const atEnd = (node) => node.scrollHeight - node.scrollTop - node.clientHeight < 40;
  const count = (node) => node.querySelectorAll(".step").length;
  const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };  // an equal text would wake the observer again
  const show = () => {
    const node = log(), line = document.getElementById("jump-line"), jump = document.getElementById("jump");
    if (button()) {
      button().hidden = false;
      put(button(), following ? "Follow: on" : "Follow: off");
      button().setAttribute("aria-pressed", String(following));
    }
    if (!node || !line) return;
    const fresh = Math.max(0, count(node) - seen);
    line.hidden = following || !fresh;
    if (!line.hidden) put(jump, `${fresh} new below, jump to live`);
  };
  const toEnd = () => { const node = log(); if (!node) return; node.scrollTop = node.scrollHeight; seen = count(node); };
  const changed = () => { if (following && button()) toEnd(); show(); };
  document.addEventListener("scroll", (event) => {
    if (event.target !== log() || !button()) return;
    const end = atEnd(event.target);
    if (end) seen = count(event.target);
    if (end !== following) { following = end; show(); }
  }, true);
  document.addEventListener("click", (event) => {
    if (event.target.closest("#follow")) following = !following;
    else if (event.target.closest("#jump")) following = true;
    else return;
    if (following) toEnd();
    show();
  });
  const main = document.getElementById("main");
  if (main) new MutationObserver(changed).observe(main, { subtree: true, childList: true });
  changed();
})();
