// Before the first paint, so that nothing moves: the colours, whether buttons name their keys, and whether the bar asks who wants to
// be told. Loaded blocking, in the head.
(() => {
  const NAMES = { "": "as the system", light: "light", dark: "dark" };
  const NEXT = { "": "light", light: "dark", dark: "" };
  const read = (name) => { try { return localStorage.getItem(name) || ""; } catch { return ""; } };
  const keep = (theme) => { try { localStorage.setItem("theme", theme); } catch { /* private mode: for this page only */ } };
  const { dataset } = document.documentElement;
  let theme = read("theme");
  const apply = () => {
    if (theme) dataset.theme = theme;
    else delete dataset.theme;
    const button = document.getElementById("theme");
    if (!button) return;
    button.hidden = false;
    button.setAttribute("aria-label", `Colours: ${NAMES[theme]}. Change`);
    const use = button.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, theme === "dark" ? "#moon" : "#sun"));
  };
  apply();
  dataset.keys = read("keys") || "on";
  dataset.notify = read("notify") ? "off" : "ask";
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme")?.addEventListener("click", () => { theme = NEXT[theme]; keep(theme); apply(); });
  });
})();
