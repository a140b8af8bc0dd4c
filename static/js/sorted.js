// A list that keeps its places (live.js) is put in order by a button, shown where the order has changed.
// Loaded by desk.js where a page has one.
const rows = (list) => [...list.children].filter((one) => one.id);
const rank = (row) => Number((row.matches("[data-rank]") ? row : row.querySelector("[data-rank]"))?.dataset.rank ?? 0);
const look = () => {
  for (const list of document.querySelectorAll("[data-sorted]")) {
    const ranks = rows(list).map(rank), button = list.querySelector("[data-sort]");
    if (button) button.hidden = ranks.every((one, at) => !at || ranks[at - 1] <= one);
  }
};
document.addEventListener("click", (event) => {
  const list = event.target.closest("[data-sort]")?.closest("[data-sorted]");
  if (!list) return;
  list.prepend(...rows(list).sort((one, other) => rank(one) - rank(other)));
  list.querySelector("a")?.focus();
  look();
});
document.addEventListener("page:shown", look);
look();
