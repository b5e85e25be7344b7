// How blocks look that are more than text.
import { NodeSelection, TextSelection } from "prosemirror-state";
import { make } from "../console/page.js";
import { apart, askButton, askPicture, askTable } from "./actions.js";
import { BlocksError, checkBlock } from "./blocks.js";
import { without } from "./columns.js";
import { parse } from "./dialect.js";
import { isFailed } from "./pictures.js";
import { lockedBlocks } from "./source.js";
import { rowsOf } from "./table.js";
import { describe, hide, show, TemplateError } from "./template.js";
import { word } from "./words.js";

// views returns the views of nodes. pictures sends pictures and knows which can be shown; labels are those of fields.
export function views(pictures, labels) {
  return {
    field: (node) => new Field(node, labels),
    locked: (node, view, getPos) => new Locked(node, view, getPos),
    figure: (node, view, getPos) => new Figure(node, view, getPos, pictures),
    callout: (node) => new Callout(node),
    columns: (node, view, getPos) => new Columns(node, view, getPos),
    column: (node, view, getPos) => new Column(node, view, getPos),
    button: (node, view, getPos) => new Button(node, view, getPos),
  };
}

class Field {
  constructor(node, labels) {
    const { name, fallback, tag } = describe(node.attrs.source);
    const known = labels.get(/^\{\{-?\s*([\w.]+)/.exec(node.attrs.source)?.[1]);
    this.dom = make("span", { className: "editor-field", title: node.attrs.source, textContent: known ?? name });
    if (tag) this.dom.classList.add("tag");
    if (fallback) this.dom.append(make("span", { textContent: ` · ${word("else", { text: fallback })}` }));
  }
}

// ownAddress returns the name of the placeholder for an address that each subscriber has of their own.
const ownAddress = (href) => /^\{\{-?\s*((?:preferences|view|unsubscribe)_url)\s*-?\}\}$/.exec(href)?.[1];

// Button shows its URL, which the email doesn't. A click on the URL changes it. Without one, a click on the button asks
// for it, too.
class Button {
  constructor(node, view, getPos) {
    this.contentDOM = make("span");
    this.target = make("button", { type: "button", contentEditable: "false", disabled: !view.editable });
    const ask = () => {
      const { state } = view;
      view.dispatch(state.tr.setSelection(TextSelection.create(state.doc, getPos() + 1)));
      askButton(view.state, view.dispatch, view);
    };
    this.target.onclick = ask;
    this.contentDOM.onclick = () => view.editable && !this.href && ask();
    this.dom = make("p", { className: "editor-button" }, this.contentDOM, this.target);
    this.update(node);
  }

  update(node) {
    if (node.type.name !== "button") return false;
    const { href } = node.attrs;
    this.href = href;
    const own = ownAddress(href);
    this.target.className = href ? "editor-target" : "editor-target editor-missing";
    const shown = own ? word(`own.${own}`) : href.replace(/^https:\/\//, "");
    this.target.textContent = href ? `→ ${shown}` : word("leads.missing");
    this.target.title = own ? "" : href;
    return true;
  }

  ignoreMutation(mutation) {
    return mutation.type !== "selection" && !this.contentDOM.contains(mutation.target);
  }
}

class Callout {
  constructor(node) {
    this.label = make("p", { className: "editor-kind", contentEditable: "false" });
    this.contentDOM = make("div");
    this.dom = make("div", { className: "editor-callout" }, this.label, this.contentDOM);
    this.update(node);
  }

  update(node) {
    if (node.type.name !== "callout") return false;
    this.dom.dataset.kind = node.attrs.kind;
    this.label.textContent = word(`callout.${node.attrs.kind}`);
    return true;
  }

  ignoreMutation(mutation) {
    return mutation.type !== "selection" && !this.contentDOM.contains(mutation.target);
  }
}

// dropButton returns a button that deletes the columns or the column at a place.
function dropButton(view, getPos, about) {
  const b = make("button", { type: "button", className: "button", disabled: !view.editable, ...about });
  b.onclick = () => {
    apart(view)(without(view.state, getPos()));
    view.focus();
  };
  return b;
}

// Holder is a view with buttons of its own around what is in it.
class Holder {
  stopEvent({ target }) {
    return target instanceof Element && Boolean(target.closest("button")) && !this.contentDOM.contains(target);
  }

  // A browser may take away all that is in it.
  ignoreMutation({ type, target }) {
    return type !== "selection" && !this.contentDOM.contains(target) && (type !== "childList" || target !== this.dom);
  }
}

// Columns stand below a line that says what they are and deletes them.
class Columns extends Holder {
  constructor(node, view, getPos) {
    super();
    this.contentDOM = make("div", { className: "editor-columns" });
    const kind = make("span", { className: "editor-kind", textContent: word("columns") });
    const drop = dropButton(view, getPos, { textContent: word("columns.delete") });
    this.dom = make("div", {}, make("p", { className: "editor-about", contentEditable: "false" }, kind, drop), this.contentDOM);
  }
}

// Column has a button that deletes it.
class Column extends Holder {
  constructor(node, view, getPos) {
    super();
    this.contentDOM = make("div");
    const title = word("column.delete");
    const drop = dropButton(view, getPos, { className: "button editor-drop", contentEditable: "false", textContent: "×", title });
    drop.setAttribute("aria-label", title);
    this.dom = make("div", { className: "editor-column" }, drop, this.contentDOM);
  }
}

// kindOf returns the word for what a locked block is.
function kindOf({ source, json }) {
  if (json) {
    const { type } = JSON.parse(source);
    return word(["spacer", "social", "html"].includes(type) ? `locked.${type}` : "locked.block");
  }
  if (/^\{%/.test(source)) return word("locked.tags");
  if (/^</.test(source)) return word("locked.html");
  if (/^\[[^\]]+\]:/.test(source)) return word("locked.links");
  return word(/^\|?.*\|.*\n\|?[\s:|-]+(?:\n|$)/.test(source) ? "locked.table" : "locked.other");
}

// tableOf returns the table that a source is, with its texts, or null.
function tableOf(source) {
  const known = [];
  let tokens;
  try {
    tokens = parse(hide(source, known));
  } catch {
    return null;
  }
  if (tokens[0]?.type !== "table_open") return null;
  const table = make("table");
  let row;
  let cell;
  for (const token of tokens) {
    if (token.type === "tr_open") table.append((row = make("tr")));
    else if (token.type === "th_open" || token.type === "td_open") {
      row.append((cell = make(token.tag)));
      if (/right/.test(token.attrGet("style"))) cell.className = "right";
    } else if (token.type === "inline" && cell) {
      cell.textContent = show(token.children.map((c) => c.content).join(""), known);
    }
  }
  return table;
}

// Locked shows a block's source, and lets it be changed there.
class Locked {
  constructor(node, view, getPos) {
    Object.assign(this, { node, view, getPos });
    this.dom = make("div", { className: "editor-locked", contentEditable: "false" });
    this.show();
  }

  show() {
    const { source } = this.node.attrs;
    const table = !this.node.attrs.json && rowsOf(source);
    const edit = make("button", { type: "button", className: "button", textContent: word(table ? "table.edit" : "edit.source") });
    edit.onclick = () => (table ? this.editTable() : this.edit());
    edit.disabled = !this.view.editable;
    const kind = make("span", { className: "editor-kind", textContent: kindOf(this.node.attrs) });
    if (!source.includes("\n")) {
      this.dom.replaceChildren(make("p", {}, kind, make("code", { textContent: source }), edit));
      return;
    }
    const text = (this.node.attrs.json ? null : tableOf(source)) ?? make("pre", { textContent: source });
    const box = make("div", { className: "editor-scroll", tabIndex: 0 }, text);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", kind.textContent);
    this.dom.replaceChildren(make("p", {}, kind, edit), box);
  }

  editTable() {
    const { state } = this.view;
    this.view.dispatch(state.tr.setSelection(NodeSelection.create(state.doc, this.getPos())));
    askTable(this.view.state, this.view.dispatch, this.view);
  }

  edit() {
    const text = make("textarea", { value: this.node.attrs.source, spellcheck: false });
    text.rows = Math.min(20, text.value.split("\n").length + 1);
    text.setAttribute("aria-label", word("edit.source"));
    const fault = make("p", { className: "editor-fault" });
    fault.setAttribute("role", "alert");
    const save = make("button", { type: "button", className: "button primary", textContent: word("save") });
    const cancel = make("button", { type: "button", className: "button", textContent: word("cancel") });
    const back = () => {
      this.show();
      this.dom.querySelector("button").focus();
    };
    cancel.onclick = back;
    save.onclick = () => {
      try {
        const pos = this.getPos();
        const { json } = this.node.attrs;
        const nodes = text.value.trim() ? (json ? this.ofJSON(text.value) : lockedBlocks(text.value)) : [];
        const { tr } = this.view.state;
        if (text.value === this.node.attrs.source) return back();
        if (nodes.length) tr.replaceWith(pos, pos + this.node.nodeSize, nodes);
        else tr.delete(pos, pos + this.node.nodeSize);
        this.view.dispatch(tr);
        this.view.focus();
      } catch (why) {
        if (!(why instanceof TemplateError || why instanceof BlocksError)) throw why;
        fault.textContent = word(why instanceof BlocksError ? "blocks.bad" : "source.bad", { text: why.message });
      }
    };
    text.onkeydown = (event) => {
      if (event.key === "Escape") back();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save.click();
    };
    this.dom.replaceChildren(text, fault, make("p", {}, save, cancel));
    text.focus();
  }

  ofJSON(text) {
    checkBlock(text);
    return [this.node.type.create({ source: text.trim(), json: true })];
  }

  stopEvent(event) {
    return event.target instanceof Element && Boolean(event.target.closest("button, textarea"));
  }

  ignoreMutation() {
    return true;
  }
}

class Figure {
  constructor(node, view, getPos, pictures) {
    Object.assign(this, { view, getPos, pictures });
    this.dom = make("figure", { className: "editor-figure", contentEditable: "false" });
    this.update(node);
  }

  update(node) {
    if (node.type.name !== "figure") return false;
    const { src, alt, title, width, pending } = node.attrs;
    const visible = this.pictures.visible(src, pending);
    const parts = [];
    if (visible) {
      const img = make("img", { src: visible, alt });
      if (width) img.width = width;
      parts.push(img);
    } else if (pending === "drop" && this.pictures.canSend) {
      parts.push(this.chooser());
    } else {
      parts.push(make("p", { className: "editor-elsewhere", textContent: this.missing(src, pending) }));
    }
    if (title) parts.push(make("figcaption", { textContent: title }));
    const text = make("span", { textContent: alt || word("alt.missing") });
    if (!alt) text.className = "editor-missing";
    const line = make("p", { className: "editor-about" }, text);
    if (isFailed(pending)) {
      if (visible) parts.push(make("p", { className: "editor-elsewhere", textContent: this.missing(src, pending) }));
      line.append(this.button(word("picture.again"), () => this.pictures.again(pending, this.view)));
    }
    line.append(this.button(word("edit"), () => this.edit()));
    parts.push(line);
    this.dom.replaceChildren(...parts);
    this.dom.dataset.pending = pending.replace(/-.*/, "");
    return true;
  }

  missing(src, pending) {
    if (pending === "drop") return word("picture.drop");
    if (isFailed(pending)) return this.pictures.reasons.get(pending) ?? word("picture.failed");
    if (pending) return word("picture.sending");
    let host = src;
    try {
      host = new URL(src).host;
    } catch {
      // a placeholder
    }
    return word("picture.elsewhere", { host });
  }

  // chooser is the place of a picture that stayed on a computer: its file is dropped there or chosen.
  chooser() {
    const input = make("input", { type: "file", accept: "image/png,image/jpeg,image/gif,image/webp" });
    input.onchange = () => {
      const file = input.files[0];
      if (!file) return;
      const { state } = this.view;
      const attrs = { ...state.doc.nodeAt(this.getPos()).attrs, pending: "" };
      attrs.pending = this.pictures.send(file, this.view, attrs.alt);
      this.view.dispatch(state.tr.setNodeMarkup(this.getPos(), null, attrs));
    };
    return make("label", { className: "editor-elsewhere" }, word("picture.drop"), input);
  }

  button(text, act) {
    const b = make("button", { type: "button", className: "button", textContent: text });
    b.onclick = act;
    return b;
  }

  edit() {
    const { state } = this.view;
    this.view.dispatch(state.tr.setSelection(NodeSelection.create(state.doc, this.getPos())));
    askPicture(this.pictures)(this.view.state, this.view.dispatch, this.view);
  }

  stopEvent(event) {
    if (/^d/.test(event.type)) return false; // a drop is the editor's
    return event.target instanceof Element && Boolean(event.target.closest("button, label"));
  }

  ignoreMutation() {
    return true;
  }
}
