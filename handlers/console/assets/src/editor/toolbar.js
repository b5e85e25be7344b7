// The toolbar: one stop of the Tab key, arrows go through its buttons (as WAI-ARIA has it), Alt+F10 leads there.
import { make } from "../console/page.js";
import * as act from "./actions.js";
import { dropColumns } from "./columns.js";
import { across, emoji } from "./emoji.js";
import { schema } from "./schema.js";
import { askVideo } from "./video.js";
import { word } from "./words.js";

const n = schema.nodes;
const m = schema.marks;
const mac = /Mac|iPhone|iPad/.test(navigator.platform);
const mod = mac ? "⌘" : "Ctrl+";

// Signs of buttons, drawn on 20 by 20.
const icons = {
  bold: "M6 4h5a3 3 0 0 1 0 6H6zM6 10h6a3 3 0 0 1 0 6H6z",
  italic: "M12 4h-3M11 16H8M11.5 4 8.5 16",
  link: "M8 12l4-4M9 6l1.500-1.500a3.200 3.200 0 0 1 4.500 4.500L13.500 10.500M11 14l-1.500 1.500a3.200 3.200 0 0 1-4.500-4.500L6.500 9.500",
  bullets: "M8 5h9M8 10h9M8 15h9M3.500 5h.01M3.500 10h.01M3.500 15h.01",
  numbers: "M8 5h9M8 10h9M8 15h9M3 4l1-.5v3.500M2.800 13.500c.8-1 2-.2 1.500.8L2.800 16.500h1.900",
  picture: "M3 4.500h14v11H3zM3 13l4-4 3.500 3.500L13 10l4 4M13 8h.01",
  button: "M3 6.500h14v7H3zM7 10h6",
  table: "M3 4.500h14v11H3zM3 8.500h14M3 12h14M10 8.500v7",
  emoji: "M10 3a7 7 0 1 0 0 14a7 7 0 1 0 0-14M7 11.500c1.500 2.500 4.500 2.500 6 0M7.700 8h.01M12.300 8h.01",
  field: "M7 4c-3 0-1 5-3.500 6 2.500 1 .5 6 3.500 6M13 4c3 0 1 5 3.500 6-2.500 1-.5 6-3.500 6",
  blocks: "M10 4v12M4 10h12",
  source: "M7 6l-4 4 4 4M13 6l4 4-4 4",
  quote: "M4 14V9a3 3 0 0 1 3-3M11 14V9a3 3 0 0 1 3-3M4 11h3v3H4zM11 11h3v3h-3z",
  undo: "M4 8h8a4 4 0 0 1 0 8H8M4 8l3.500-3.500M4 8l3.500 3.500",
  redo: "M16 8H8a4 4 0 0 0 0 8h4M16 8l-3.500-3.500M16 8l-3.500 3.500",
};

function icon(name) {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(ns, "path");
  path.setAttribute("d", icons[name]);
  svg.append(path);
  return svg;
}

export class Toolbar {
  // editor has view, fields, pictures and toggle().
  constructor(editor) {
    this.editor = editor;
    this.updates = [];
    this.dom = make("div", { className: "editor-toolbar" });
    this.dom.setAttribute("role", "toolbar");
    this.dom.setAttribute("aria-label", word("toolbar"));
    this.build();
    this.stops = [...this.dom.querySelectorAll(":scope > select, :scope > button, .editor-menu > button")];
    this.stops.forEach((e, i) => (e.tabIndex = i ? -1 : 0));
    this.dom.addEventListener("keydown", (event) => this.key(event));
    this.dom.addEventListener("focusin", (event) => {
      if (!this.stops.includes(event.target)) return;
      for (const e of this.stops) e.tabIndex = e === event.target ? 0 : -1;
    });
    // The focus stays in the text, and with it the selection.
    this.dom.addEventListener("mousedown", (event) => {
      if (event.target.closest("button")) event.preventDefault();
    });
  }

  build() {
    // What is used most comes first: a telephone shows only the beginning.
    this.toggle("bold", act.bold, m.strong, `${mod}B`);
    this.toggle("italic", act.italic, m.em, `${mod}I`);
    this.toggle("link", act.askLink, m.link, `${mod}K`);
    this.block("picture", act.askPicture(this.editor.pictures), n.figure);
    this.rule();
    this.styles();
    this.block("bullets", act.list(n.bullet_list), n.bullet_list);
    this.block("numbers", act.list(n.ordered_list), n.ordered_list);
    this.block("quote", act.quote, n.blockquote);
    this.rule();
    this.block("button", act.askButton, n.button);
    if (this.editor.kind === "markdown") this.block("table", act.askTable);
    this.menu("emoji", [], emoji.map((e) => [e, act.say(e)]), across);
    this.block("field", act.askField(this.editor.fields), n.field);
    this.blocks = this.menu("blocks", [n.columns, n.callout], [
      ["picture", act.askPicture(this.editor.pictures)],
      ["video", askVideo(this.editor.pictures)],
      ["button", act.askButton],
      ...(this.editor.kind === "markdown" ? [["table", act.askTable]] : []),
      ["columns.2", act.columns(2)],
      ["columns.3", act.columns(3)],
      ["columns.none", act.columns(0)],
      ["columns.delete", dropColumns],
      ["callout.note", act.callout("note")],
      ["callout.tip", act.callout("tip")],
      ["callout.warning", act.callout("warning")],
      ["callout.none", act.callout("")],
      ["divider", act.divider],
      ["own.preferences_url", act.ownLink("preferences_url")],
      ["own.view_url", act.ownLink("view_url")],
      ["own.unsubscribe_url", act.ownLink("unsubscribe_url")],
    ]);
    this.rule();
    this.block("undo", act.undo, null, `${mod}Z`);
    this.block("redo", act.redo, null, mac ? "⇧⌘Z" : "Ctrl+Y");
    this.source = this.add("source", () => this.editor.toggle());
    if (this.editor.kind === "blocks") {
      this.source.textContent = "JSON";
      this.source.removeAttribute("aria-label");
    }
    this.source.classList.add("end");
    this.source.setAttribute("aria-pressed", "false");
  }

  rule() {
    this.dom.append(make("span", { className: "editor-rule" }));
  }

  add(name, run, keys) {
    const b = make("button", { type: "button" });
    b.dataset.action = name;
    if (icons[name]) {
      b.append(icon(name));
      b.setAttribute("aria-label", word(name));
      b.title = keys ? `${word(name)} (${keys})` : word(name);
    } else {
      b.textContent = word(name);
      if (keys) b.title = keys;
    }
    b.onclick = run;
    this.dom.append(b);
    return b;
  }

  run(command) {
    const { view } = this.editor;
    command(view.state, act.apart(view), view);
    if (!document.querySelector("dialog[open]")) view.focus();
  }

  toggle(name, command, mark, keys) {
    const b = this.add(name, () => this.run(command), keys);
    this.updates.push((state) => {
      b.setAttribute("aria-pressed", String(act.marked(state, mark)));
      able(b, command(state));
    });
  }

  block(name, command, type, keys) {
    const b = this.add(name, () => this.run(command), keys);
    this.updates.push((state) => {
      if (type?.isBlock) b.setAttribute("aria-pressed", String(Boolean(act.around(state, type))));
      able(b, command(state));
    });
  }

  styles() {
    const select = make("select");
    select.setAttribute("aria-label", word("style"));
    select.append(make("option", { value: "0", textContent: word("paragraph") }));
    for (const level of [1, 2, 3]) {
      select.append(make("option", { value: String(level), textContent: word("heading", { n: level }) }));
    }
    select.onchange = () => this.run(act.style(Number(select.value)));
    this.dom.append(select);
    this.updates.push((state) => {
      const { parent } = state.selection.$from;
      const level = parent.type === n.heading ? Math.min(3, parent.attrs.level) : 0;
      select.value = String(level);
      select.disabled = parent.type !== n.heading && parent.type !== n.paragraph;
    });
  }

  // menu adds a button that opens a menu, and returns what opens it at another place. That calls back where nothing was
  // chosen. It is marked while the selection is in a node of the types. wide: so many items stand in a row.
  menu(name, types, items, wide = 1) {
    const box = make("span", { className: "editor-menu" });
    const list = make("div", { hidden: true, tabIndex: -1 });
    list.setAttribute("role", "menu");
    list.setAttribute("aria-label", word(name));
    if (wide > 1) list.className = "editor-emoji";
    let other = null; // {at, back} where it was opened elsewhere
    const opener = this.add(name, () => (list.hidden ? open() : close(true)));
    opener.setAttribute("aria-haspopup", "menu");
    opener.setAttribute("aria-expanded", "false");
    const open = (elsewhere = null) => {
      other = elsewhere;
      list.hidden = false;
      list.tabIndex = 0; // it may scroll
      place(list, other ?? opener);
      opener.setAttribute("aria-expanded", "true");
      list.querySelector("button:not([disabled])")?.focus();
    };
    const close = (focus) => {
      list.hidden = true;
      list.tabIndex = -1;
      opener.setAttribute("aria-expanded", "false");
      if (focus && other) other.back();
      else if (focus) opener.focus();
      other = null;
    };
    for (const [label, command] of items) {
      const b = make("button", { type: "button", textContent: word(label), tabIndex: -1 });
      b.dataset.action = label;
      b.setAttribute("role", "menuitem");
      b.onclick = () => {
        close(false);
        this.run(command);
      };
      list.append(b);
      this.updates.push((state) => {
        b.disabled = !command(state);
        b.hidden = b.disabled && /\.(?:none|delete)$/.test(label);
      });
    }
    list.addEventListener("keydown", (event) => {
      const all = [...list.querySelectorAll("button:not([disabled])")];
      const step = { ArrowDown: wide, ArrowUp: -wide, ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
      else if (event.key === "Escape") close(true);
      else if (event.key === "Tab") close(false);
      if (step || event.key === "Escape") event.preventDefault();
      if (event.key !== "Tab") event.stopPropagation();
    });
    document.addEventListener("mousedown", (event) => {
      if (!list.hidden && !box.contains(event.target)) close(false);
    });
    for (const moved of ["scroll", "resize"]) {
      addEventListener(moved, (event) => {
        if (!list.hidden && event.target !== list) place(list, other ?? opener);
      }, { capture: true, passive: true });
    }
    box.append(opener, list);
    this.dom.append(box);
    this.updates.push((state) => opener.setAttribute("data-on", String(Boolean(act.around(state, ...types)))));
    return open;
  }

  key(event) {
    const at = this.stops.indexOf(event.target);
    if (event.key === "Escape") {
      this.editor.focus();
    } else if (at >= 0 && /^(?:ArrowLeft|ArrowRight|Home|End)$/.test(event.key)) {
      const able = this.stops.filter((e) => !e.disabled);
      const k = able.indexOf(event.target);
      const next = { ArrowLeft: k - 1, ArrowRight: k + 1, Home: 0, End: able.length - 1 }[event.key];
      able[(next + able.length) % able.length].focus();
    } else {
      return;
    }
    event.preventDefault();
  }

  focus() {
    (this.stops.find((e) => e.tabIndex === 0 && !e.disabled) ?? this.source).focus();
  }

  // update shows what the selection has. Without a state, the text is shown as source, and only that button works.
  update(state) {
    if (state) for (const f of this.updates) f(state);
    else for (const e of this.stops) if (e !== this.source) e.disabled = true;
    this.source.setAttribute("aria-pressed", String(!state));
    if (!state) for (const e of this.stops) e.tabIndex = e === this.source ? 0 : -1;
  }
}

// place puts a menu below its button, or above it where there is more room, or beside it where only that shows all of it.
// It stays within the window: a menu that is higher scrolls.
function place(list, opener) {
  const { clientWidth, clientHeight } = document.documentElement;
  const { left, right, top, bottom } = opener.getBoundingClientRect();
  const whole = list.scrollHeight + list.offsetHeight - list.clientHeight;
  const up = bottom + whole + 8 > clientHeight && top > clientHeight - bottom;
  const room = (up ? top : clientHeight - bottom) - 8;
  if (whole > room && whole + 8 <= clientHeight && right + list.offsetWidth + 8 <= clientWidth) {
    list.style.maxHeight = `${whole}px`;
    list.style.left = `${right + 4}px`;
    list.style.top = `${Math.max(4, Math.min(top, clientHeight - whole - 4))}px`;
    return;
  }
  const height = Math.min(whole, room);
  list.style.maxHeight = `${height}px`;
  list.style.left = `${Math.max(4, Math.min(left, clientWidth - list.offsetWidth - 4))}px`;
  list.style.top = `${up ? top - height - 4 : bottom + 4}px`;
}

function able(button, can) {
  button.disabled = !can;
}
