// Sets the colours before the first paint: as the system wants, or as this person chose; and whether buttons name their keys, so
// that none grows while it is read. Loaded blocking, in the head.
(() => {
  const NAMES = { "": "as the system", light: "light", dark: "dark" };
  const NEXT = { "": "light", light: "dark", dark: "" };
  const read = () => { try { return localStorage.getItem("theme") || ""; } catch { return ""; } };
  const keep = (theme) => { try { localStorage.setItem("theme", theme); } catch { /* private mode: for this page only */ } };
  let theme = read();
  const apply = () => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    const button = document.getElementById("theme");
    if (!button) return;
    button.hidden = false;
    button.setAttribute("aria-label", `Colours: ${NAMES[theme]}. Change`);
    const use = button.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, theme === "dark" ? "#moon" : "#sun"));
  };
  apply();
  try { document.documentElement.dataset.keys = localStorage.getItem("keys") || "on"; } catch { document.documentElement.dataset.keys = "on"; }
  // Whether the bar asks who wants to be told: known at the first paint, so nothing moves.
  try { document.documentElement.dataset.notify = localStorage.getItem("notify") ? "off" : "ask"; } catch { document.documentElement.dataset.notify = "ask"; }
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme")?.addEventListener("click", () => { theme = NEXT[theme]; keep(theme); apply(); });
  });
})();
