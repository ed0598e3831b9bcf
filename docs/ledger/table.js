// The table of printed scores: a field that filters its rows, and columns that sort on a click.
document.querySelectorAll(".claims table").forEach((table) => {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, text: row.textContent.toLowerCase() }));
  const field = document.createElement("input");
  const count = document.createElement("span");
  Object.assign(field, { type: "search", placeholder: "Search: minerva, selection, 7B ..." });
  field.setAttribute("aria-label", "Search the printed scores");
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const { row, text } of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = ` ${shown} of ${rows.length}`;
  };
  field.addEventListener("input", filter);
  table.closest(".claims").prepend(field, count);
  filter();
  Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
    let down = true;
    const sort = () => {
      const value = ({ row }) => row.cells[column].textContent.trim();
      const number = (text) => (text.match(/^-?[\d.]+/) ? parseFloat(text) : NaN);
      rows.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        const difference = number(x) - number(y);
        return (down ? 1 : -1) * (Number.isNaN(difference) ? x.localeCompare(y) : difference);
      });
      down = !down;
      body.append(...rows.map(({ row }) => row));
    };
    cell.tabIndex = 0;
    cell.style.cursor = "pointer";
    cell.addEventListener("click", sort);
    cell.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
});
