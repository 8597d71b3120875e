// The arrow keys lead to the previous and the next citation of an answer, as the links do.
"use strict";
(() => {
  const text = document.querySelector(".beside mark.cited");
  const pane = text?.closest("article");
  if (pane && pane.scrollHeight > pane.clientHeight) pane.scrollTop = text.offsetTop - pane.clientHeight / 3;
  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, textarea, select, [tabindex='0']")) return;
    if (/^Arrow(Left|Right)$/.test(event.key)) document.querySelector(`a[aria-keyshortcuts="${event.key}"]`)?.click();
  });
})();
