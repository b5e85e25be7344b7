// What the buttons and keys of the editor do.
import { lift, setBlockType, toggleMark, wrapIn } from "prosemirror-commands";
import { closeHistory, redo, undo } from "prosemirror-history";
import { Fragment } from "prosemirror-model";
import { liftListItem, wrapInList } from "prosemirror-schema-list";
import { NodeSelection, Selection, TextSelection } from "prosemirror-state";
import { make } from "../console/page.js";
import { dialog } from "./dialog.js";
import { dataAddress } from "./pictures.js";
import { schema } from "./schema.js";
import { Grid, rowsOf, sourceOf } from "./table.js";
import { field, isPoll } from "./template.js";
import { word } from "./words.js";

const n = schema.nodes;
const m = schema.marks;

export const bold = toggleMark(m.strong);
export const italic = toggleMark(m.em);
export const strike = toggleMark(m.strike);
export { redo, undo };

// apart returns a dispatch whose change is undone by itself: neither with what was typed before, nor with what comes after.
export function apart(view) {
  return (tr) => {
    view.dispatch(closeHistory(tr));
    view.dispatch(closeHistory(view.state.tr));
  };
}

// nextColumn leads from a column to the one after it, and from the last to what stands after the columns; step -1 leads
// back.
export function nextColumn(step) {
  return (state, dispatch) => {
    const { $from } = state.selection;
    let d = $from.depth;
    while (d > 0 && $from.node(d).type !== n.column) d--;
    if (!d) return false;
    const columns = $from.node(d - 1);
    const to = $from.index(d - 1) + step;
    const inside = to >= 0 && to < columns.childCount;
    let at = step > 0 ? $from.after(d - 1) : $from.before(d - 1);
    if (inside) {
      at = $from.start(d - 1) + 1;
      for (let i = 0; i < to; i++) at += columns.child(i).nodeSize;
    }
    const $at = state.doc.resolve(at);
    let found = Selection.findFrom($at, inside ? 1 : step, true);
    if (inside && !(found?.to <= $at.end())) found = Selection.findFrom($at, 1); // there is no text in it
    if (!found) return false;
    dispatch?.(state.tr.setSelection(found).scrollIntoView());
    return true;
  };
}

// around returns the innermost node of a type around the selection, with its place; or null.
export function around(state, ...types) {
  const { selection } = state;
  if (selection instanceof NodeSelection && types.includes(selection.node.type)) {
    return { node: selection.node, pos: selection.from };
  }
  const { $from } = selection;
  for (let d = $from.depth; d > 0; d--) {
    if (types.includes($from.node(d).type)) return { node: $from.node(d), pos: $from.before(d) };
  }
  return null;
}

// marked reports whether the selection has a mark.
export function marked(state, type) {
  const { from, to, empty, $from } = state.selection;
  if (empty) return Boolean(type.isInSet(state.storedMarks ?? $from.marks()));
  return state.doc.rangeHasMark(from, to, type);
}

export function style(level) {
  return level ? setBlockType(n.heading, { level }) : setBlockType(n.paragraph);
}

// list makes a list of the selection, makes it one of the other kind, or no list.
export function list(type) {
  return (state, dispatch) => {
    const found = around(state, n.bullet_list, n.ordered_list);
    if (!found) return wrapInList(type)(state, dispatch);
    if (found.node.type === type) return liftListItem(n.list_item)(state, dispatch);
    const { tight } = found.node.attrs;
    dispatch?.(state.tr.setNodeMarkup(found.pos, type, { tight, orig: found.node.attrs.orig }));
    return true;
  };
}

export function quote(state, dispatch) {
  return around(state, n.blockquote) ? lift(state, dispatch) : wrapIn(n.blockquote)(state, dispatch);
}

// say puts a text into the place of the selection, or after a field that is chosen.
export function say(text) {
  return (state, dispatch) => {
    const { $from, from, to } = state.selection;
    if (!$from.parent.inlineContent) return false;
    const at = state.selection instanceof NodeSelection ? to : from;
    dispatch?.(state.tr.insertText(text, at, to).scrollIntoView());
    return true;
  };
}

// insert puts a block after the one with the selection, or into its place where that is an empty paragraph. It goes
// between blocks of the document, or of the column or box around it, where those may hold it.
export function insert(state, dispatch, node, into) {
  const { $from, $to } = state.selection;
  const homes = node.type === n.columns ? [n.doc] : [n.doc, n.column, n.callout];
  let d = $from.depth;
  while (d > 0 && !homes.includes($from.node(d).type)) d--;
  if (!dispatch) return true;
  const tr = state.tr;
  let pos;
  const block = d < $from.depth ? $from.node(d + 1) : null;
  if (block?.type === n.paragraph && block.content.size === 0) {
    pos = $from.before(d + 1);
    tr.replaceWith(pos, $from.after(d + 1), node);
  } else {
    pos = d < $to.depth ? $to.after(d + 1) : $to.pos;
    tr.insert(pos, node);
  }
  const at = tr.doc.resolve(pos);
  if (into) {
    tr.setSelection(TextSelection.near(tr.doc.resolve(pos + 1), 1));
  } else {
    const after = pos + node.nodeSize;
    const $after = tr.doc.resolve(after);
    if (!$after.nodeAfter) tr.insert(after, n.paragraph.create());
    tr.setSelection(node.isAtom ? NodeSelection.create(tr.doc, at.pos) : TextSelection.near(tr.doc.resolve(after), 1));
  }
  dispatch(tr.scrollIntoView());
  return true;
}

export function divider(state, dispatch) {
  return insert(state, dispatch, n.divider.create());
}

// staying leaves the selection in the text where it was, before which a transaction has taken some tags away.
function staying(state, tr, tags) {
  const at = Math.min(tr.doc.content.size, Math.max(0, state.selection.from - tags));
  return tr.setSelection(TextSelection.near(tr.doc.resolve(at))).scrollIntoView();
}

// columns makes two or three columns, changes how many there are, or puts them below each other.
export function columns(count) {
  return (state, dispatch) => {
    const found = around(state, n.columns);
    if (!found) {
      if (!count) return false;
      const all = Array.from({ length: count }, () => n.column.create(null, n.paragraph.create()));
      return insert(state, dispatch, n.columns.create(null, all), true);
    }
    if (!dispatch) return true;
    const { node, pos } = found;
    const all = [];
    node.forEach((c) => all.push(c));
    const end = pos + node.nodeSize;
    if (!count) {
      const blocks = all.flatMap((c) => c.content.content);
      // The tags of the columns and of the column, and both of each column before it.
      const before = 2 + 2 * state.selection.$from.index(state.doc.resolve(pos).depth + 1);
      dispatch(staying(state, state.tr.replaceWith(pos, end, blocks), before));
      return true;
    }
    while (all.length < count) all.push(n.column.create(null, n.paragraph.create()));
    if (all.length > count) {
      const rest = all.splice(count - 1).flatMap((c) => c.content.content);
      all.push(n.column.create(null, rest));
    }
    dispatch(state.tr.replaceWith(pos, end, node.copy(Fragment.from(all))).scrollIntoView());
    return true;
  };
}

// callout puts the selection into a box, changes the kind of the one around it, or takes it away.
export function callout(kind) {
  return (state, dispatch) => {
    const found = around(state, n.callout);
    if (!found) {
      if (!kind) return false;
      const { $from, $to, empty } = state.selection;
      const range = $from.blockRange($to);
      if (empty || !range) return insert(state, dispatch, n.callout.create({ kind }, n.paragraph.create()), true);
      return wrapIn(n.callout, { kind })(state, dispatch);
    }
    if (!dispatch) return true;
    const { node, pos } = found;
    if (kind) dispatch(state.tr.setNodeMarkup(pos, null, { ...node.attrs, kind }));
    else dispatch(staying(state, state.tr.replaceWith(pos, pos + node.nodeSize, node.content), 1));
    return true;
  };
}

// complete returns an address as it is meant: with a scheme.
export function complete(href) {
  if (!href || /^(?:[a-z][a-z0-9+.-]*:|\{\{|\/|#)/i.test(href)) return href;
  return /^[^\s@/]+@[^\s@/]+$/.test(href) ? `mailto:${href}` : `https://${href}`;
}

export function askLink(state, dispatch, view) {
  if (around(state, n.button)) return askButton(state, dispatch, view);
  if (around(state, n.figure)) return false;
  const { from, to, empty, $from } = state.selection;
  const mark = m.link.isInSet($from.marks()) || ($from.nodeAfter && m.link.isInSet($from.nodeAfter.marks));
  if (!dispatch) return $from.parent.inlineContent && !$from.parent.type.spec.code;
  let range = { from, to };
  if (mark && empty) range = extent($from, mark);
  const bare = range.from === range.to;
  const fields = [{ name: "href", label: word("address"), value: mark?.attrs.href, required: true, mode: "url" }];
  if (bare) fields.unshift({ name: "text", label: word("words") });
  dialog(word("link"), fields, { remove: Boolean(mark) }).then((a) => {
    view.focus();
    if (!a) return;
    const { tr } = view.state;
    const dispatch = apart(view);
    if (a === "remove") return dispatch(tr.removeMark(range.from, range.to, m.link));
    const link = m.link.create({ href: complete(a.href), title: mark?.attrs.title ?? "" });
    if (bare) tr.replaceSelectionWith(schema.text(a.text || a.href, [...$from.marks(), link]), false);
    else tr.addMark(range.from, range.to, link);
    dispatch(tr.removeStoredMark(m.link).scrollIntoView());
  });
  return true;
}

// ownLink links what is selected to an address that each subscriber has of their own, or inserts such a link. A button
// gets the address.
export function ownLink(name) {
  return (state, dispatch) => {
    const { $from, from, to, empty } = state.selection;
    const button = around(state, n.button);
    if (!button && !($from.parent.inlineContent && $from.parent.type.allowsMarkType(m.link))) return false;
    if (!dispatch) return true;
    const href = `{{ ${name} }}`;
    const link = m.link.create({ href });
    const { tr } = state;
    if (button) {
      dispatch(tr.setNodeMarkup(button.pos, null, { ...button.node.attrs, href }));
      return true;
    }
    if (empty) tr.replaceSelectionWith(schema.text(word(`say.${name}`), [...$from.marks(), link]), false);
    else tr.addMark(from, to, link);
    dispatch(tr.removeStoredMark(m.link).scrollIntoView());
    return true;
  };
}

// askTable inserts a table, or changes the one that is selected.
export function askTable(state, dispatch, view) {
  const found = around(state, n.locked);
  const was = found && !found.node.attrs.json ? rowsOf(found.node.attrs.source) : null;
  if (found && !was) return false;
  if (!dispatch) return true;
  const grid = new Grid(was?.rows ?? [["", ""], ["", ""], ["", ""]]);
  const about = { remove: Boolean(found), ok: found ? word("save") : word("insert") };
  dialog(word("table"), [{ element: () => grid.dom }], about).then((a) => {
    view.focus();
    if (!a) return;
    const { tr } = view.state;
    const dispatch = apart(view);
    if (a === "remove") return dispatch(tr.delete(found.pos, found.pos + found.node.nodeSize));
    const node = n.locked.create({ source: sourceOf(grid.rows(), was?.align ?? []) });
    if (found) dispatch(tr.replaceWith(found.pos, found.pos + found.node.nodeSize, node));
    else insert(view.state, dispatch, node);
  });
  return true;
}

// extent returns where the text begins and ends that has a mark and is next to a place.
function extent($pos, mark) {
  const parent = $pos.parent;
  let from = $pos.start();
  let found = { from: $pos.pos, to: $pos.pos };
  let at = from;
  let start = null;
  parent.forEach((child) => {
    const has = mark.isInSet(child.marks);
    if (has && start === null) start = at;
    if (!has) start = null;
    at += child.nodeSize;
    if (has && start <= $pos.pos && at >= $pos.pos) found = { from: start, to: at };
  });
  return found;
}

export function askButton(state, dispatch, view) {
  if (!dispatch) return true;
  const found = around(state, n.button);
  const fields = [
    { name: "text", label: word("words"), value: found?.node.textContent, required: true },
    { name: "href", label: word("address"), value: found?.node.attrs.href, required: true, mode: "url" },
  ];
  const about = { remove: Boolean(found), ok: found ? word("save") : word("insert") };
  dialog(word("button"), fields, about).then((a) => {
    view.focus();
    if (!a) return;
    const { tr } = view.state;
    const dispatch = apart(view);
    if (a === "remove") return dispatch(tr.delete(found.pos, found.pos + found.node.nodeSize));
    const href = complete(a.href);
    if (!found) return insert(view.state, dispatch, n.button.create({ href }, schema.text(a.text)));
    tr.setNodeMarkup(found.pos, null, { ...found.node.attrs, href });
    if (a.text !== found.node.textContent) {
      tr.replaceWith(found.pos + 1, found.pos + 1 + found.node.content.size, schema.text(a.text));
    }
    dispatch(tr);
  });
  return true;
}

// A word before a field: a space belongs between them. Scripts without spaces between words are left alone.
const wordEnd = /[\p{N},;:]$|(?![\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}])\p{L}$/u;

// askField inserts one of the fields of subscribers, or changes the one that is selected. A field right behind a word
// gets a space before it: at the end of a paragraph, Markdown doesn't keep the one that was typed.
export function askField(fields) {
  return (state, dispatch, view) => {
    const { selection } = state;
    const { $from } = selection;
    if (!$from.parent.inlineContent || $from.parent.type.spec.code) return false;
    if (!dispatch) return true;
    const chosen = selection instanceof NodeSelection && selection.node.type === n.field ? selection.node : null;
    const now = /^\{\{-?\s*([\w.]+)\s*(?:\|\s*default:\s*(?:"([^"]*)"|'([^']*)')\s*)?-?\}\}$/.exec(chosen?.attrs.source);
    if (chosen && !now) return false;
    const options = fields.map((f) => [f.name, f.label ?? f.name]);
    if (now && !options.some(([name]) => name === now[1])) options.push([now[1], now[1]]);
    const value = now?.[1] ?? options[0][0];
    // Another field comes with its own word, unless one was typed. A poll has no fallback.
    const fallbackOf = (name) => fields.find((f) => f.name === name)?.fallback ?? "";
    const change = (form, was) => {
      const { name, fallback } = form.elements;
      if (name.value !== was && (!fallback.value || fallback.value === fallbackOf(was))) {
        fallback.value = fallbackOf(name.value);
      }
      fallback.parentElement.hidden = isPoll(name.value);
    };
    dialog(
      word("field"),
      [
        { name: "name", label: word("field.name"), options, value },
        { name: "fallback", label: word("field.fallback"), value: now ? (now[2] ?? now[3] ?? "") : fallbackOf(value) },
      ],
      { remove: Boolean(chosen), ok: chosen ? word("save") : word("insert"), change },
    ).then((a) => {
      view.focus();
      if (!a) return;
      const { tr } = view.state;
      const dispatch = apart(view);
      if (a === "remove") return dispatch(tr.deleteSelection());
      const node = n.field.create({ source: field(a.name, isPoll(a.name) ? "" : a.fallback) }, null, $from.marks());
      const before = chosen ? "" : $from.parent.textBetween(0, $from.parentOffset, " ", " ");
      if (wordEnd.test(before)) tr.insertText(" ");
      dispatch(tr.replaceSelectionWith(node, false).scrollIntoView());
    });
    return true;
  };
}

// library offers the pictures that are there already: one that is chosen fills the form.
function library(pictures, form) {
  const box = make("div", { className: "editor-library", hidden: true });
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", word("library"));
  pictures.own().then((all) => {
    for (const { url, name, alt } of all) {
      const img = make("img", { src: url, alt: "", loading: "lazy" });
      const b = make("button", { type: "button", title: name }, img);
      b.setAttribute("aria-label", alt || name);
      b.setAttribute("aria-pressed", "false");
      b.onclick = () => {
        for (const other of box.children) other.setAttribute("aria-pressed", String(other === b));
        form.elements.src.value = url;
        const said = form.elements.alt;
        if (!said.value || said.value === said.dataset.ofLibrary) said.value = said.dataset.ofLibrary = alt;
        if (form.elements.file) form.elements.file.value = "";
        form.elements.src.dispatchEvent(new Event("change", { bubbles: true }));
      };
      box.append(b);
    }
    box.hidden = !all.length;
  });
  return box;
}

// chosen shows the picture that is chosen in the form: a file, or what is at an address, where the page may show that.
function chosen(pictures, form, { src = "", pending = "" }) {
  const img = make("img", { alt: word("picture.chosen") });
  const box = make("div", { className: "editor-chosen", hidden: true }, img);
  let turn = 0;
  const show = async (file, address) => {
    const now = ++turn;
    const from = file ? await dataAddress(file) : pictures.visible(complete(address), address === src ? pending : "");
    if (now !== turn) return;
    box.hidden = !from;
    if (from) img.src = from;
    else img.removeAttribute("src");
  };
  img.onerror = () => (box.hidden = true);
  form.addEventListener("change", (event) => {
    const { file, src: address } = form.elements;
    if (event.target === file || event.target === address) show(file?.files[0], address.value.trim());
  });
  show(null, src);
  return box;
}

// askPicture inserts a picture, or changes the one that is selected. pictures sends files.
export function askPicture(pictures) {
  return (state, dispatch, view) => {
    if (!dispatch) return true;
    const found = around(state, n.figure);
    const old = found?.node.attrs ?? {};
    const fields = [
      { name: "src", label: word(pictures.canSend ? "picture.address" : "address"), value: old.src, mode: "url" },
      { name: "alt", label: word("alt"), value: old.alt },
      { name: "title", label: word("caption"), value: old.title },
      { name: "width", label: word("width"), value: old.width || "", mode: "numeric" },
      { name: "href", label: word("leads"), value: old.href, mode: "url" },
    ];
    fields.unshift({ element: (form) => chosen(pictures, form, old) });
    if (pictures.canSend) fields.unshift({ name: "file", label: word("file.choose"), type: "file" });
    if (pictures.library) fields.unshift({ element: (form) => library(pictures, form) });
    const about = { remove: Boolean(found), ok: found ? word("save") : word("insert") };
    dialog(word("picture"), fields, about).then((a) => {
      view.focus();
      if (!a) return;
      const { tr } = view.state;
      const dispatch = apart(view);
      if (a === "remove") return dispatch(tr.delete(found.pos, found.pos + found.node.nodeSize));
      if (!a.file && !a.src && !old.pending) return;
      const width = Math.min(2000, Math.max(0, parseInt(a.width, 10) || 0));
      const attrs = { ...old, src: complete(a.src), alt: a.alt, title: a.title, width, href: complete(a.href) };
      attrs.pending = a.file ? pictures.send(a.file, view, a.alt) : a.src ? "" : old.pending;
      if (found) dispatch(tr.setNodeMarkup(found.pos, null, attrs));
      else insert(view.state, dispatch, n.figure.create(attrs));
    });
    return true;
  };
}

// insertPictures puts pictures that are on their way after the selection, or at a place.
export function insertPictures(view, pendings, pos) {
  for (const pending of pendings) {
    const node = n.figure.create({ pending });
    if (pos === undefined) {
      insert(view.state, view.dispatch, node);
      continue;
    }
    const $pos = view.state.doc.resolve(pos);
    const under = $pos.nodeAfter;
    if (under?.type === n.figure && under.attrs.pending === "drop") {
      view.dispatch(view.state.tr.setNodeMarkup(pos, null, { ...under.attrs, pending }));
    } else {
      const home = $pos.depth ? $pos.after(1) : pos + (under?.nodeSize ?? 0);
      view.dispatch(view.state.tr.insert(home, node));
    }
  }
}
