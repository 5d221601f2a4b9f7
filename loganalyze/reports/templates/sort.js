"use strict";
for (const table of document.querySelectorAll("table[data-sort]")) {
  const body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);
  const value = (row, i) => { const c = row.cells[i], v = c.dataset.v; return v === undefined ? c.textContent : v === "" ? null : Number(v); };
  const order = (a, b) => a === null ? 1 : b === null ? -1 : typeof a === "number" ? a - b : a.localeCompare(b);
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button"; button.textContent = head.textContent; head.textContent = ""; head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(h => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = Array.from(body.rows).map((r, n) => [value(r, i), n, r]);
      rows.sort((a, b) => { const o = order(a[0], b[0]); return (down && a[0] !== null && b[0] !== null ? -o : o) || a[1] - b[1]; });
      body.append(...rows.map(r => r[2]));
    });
  });
}
