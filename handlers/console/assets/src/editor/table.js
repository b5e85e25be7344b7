// Tables are kept as the lines of Markdown that they are, and written in a grid of inputs.
import { make } from "../console/page.js";
import { word } from "./words.js";

// rowsOf returns the cells of a table of Markdown, row by row and as they are written, with the line that aligns them; or
// null where a source is none.
export function rowsOf(source) {
  const lines = source.trim().split("\n");
  if (lines.length < 2 || !/^[\s|:-]*-[\s|:-]*$/.test(lines[1]) || lines.some((l) => !l.includes("|"))) return null;
  const cells = lines.map((l) => l.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((c) => c.trim()));
  const [align] = cells.splice(1, 1);
  return { rows: cells, align };
}

// sourceOf writes a table.
export function sourceOf(rows, align) {
  const columns = Math.max(...rows.map((r) => r.length));
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const whole = (r) => Array.from({ length: columns }, (_, i) => (r[i] ?? "").replace(/\s*\n\s*/g, " ").replace(/(?<!\\)\|/g, "\\|"));
  const dashes = Array.from({ length: columns }, (_, i) => align[i] || "---");
  return [line(whole(rows[0])), line(dashes), ...rows.slice(1).map((r) => line(whole(r)))].join("\n");
}

// Grid is a table of inputs for a dialog; rows() is what they say. The first row is the heading.
export class Grid {
  constructor(rows) {
    this.table = make("table");
    this.columns = Math.max(...rows.map((r) => r.length));
    for (const r of rows) this.add(r);
    const button = (name, act) => {
      const b = make("button", { type: "button", className: "button", textContent: word(name) });
      b.onclick = act;
      return b;
    };
    this.dom = make(
      "div",
      { className: "editor-grid" },
      make("div", { className: "editor-scroll" }, this.table),
      make(
        "p",
        {},
        button("table.row", () => this.add([]).querySelector("input").focus()),
        button("table.column", () => this.widen()),
      ),
    );
  }

  add(cells) {
    const row = make("tr");
    this.table.append(row);
    for (let i = 0; i < this.columns; i++) this.cell(row, cells[i] ?? "");
    return row;
  }

  widen() {
    this.columns++;
    for (const row of this.table.rows) this.cell(row, "");
    this.table.rows[0].lastChild.firstChild.focus();
  }

  cell(row, value) {
    const input = make("input", { value });
    const at = { row: row.rowIndex + 1, column: row.cells.length + 1 };
    input.setAttribute("aria-label", word(row.rowIndex ? "table.cell" : "table.head", at));
    row.append(make("td", {}, input));
  }

  // rows returns what was written, without rows and columns at the end that are empty.
  rows() {
    const all = [...this.table.rows].map((r) => [...r.cells].map((c) => c.firstChild.value.trim()));
    while (all.length > 1 && all.at(-1).every((c) => !c)) all.pop();
    while (all[0].length > 1 && all.every((r) => !r.at(-1))) for (const r of all) r.pop();
    return all;
  }
}
