// How columns are deleted.
import { Selection } from "prosemirror-state";
import { around } from "./actions.js";
import { schema } from "./schema.js";

const n = schema.nodes;

// dropColumns deletes the columns around the selection, with what is in them.
export function dropColumns(state, dispatch) {
  const found = around(state, n.columns);
  if (!found) return false;
  dispatch?.(without(state, found.pos));
  return true;
}

// dropEmptyColumn deletes the column with the selection, if there is nothing in it.
export function dropEmptyColumn(state, dispatch) {
  const found = around(state, n.column);
  const { childCount, firstChild } = found?.node ?? {};
  if (childCount !== 1 || firstChild.type !== n.paragraph || firstChild.content.size) return false;
  dispatch?.(without(state, found.pos));
  return true;
}

// stayInColumn swallows Backspace (-1) at the start or Delete (1) at the end of a column. Otherwise the browser would
// delete content outside it.
export function stayInColumn(step) {
  return (state) => {
    const found = around(state, n.column);
    if (!found || !state.selection.empty) return false;
    const end = step < 0 ? found.pos + 1 : found.pos + found.node.nodeSize - 1;
    return Selection.findFrom(state.doc.resolve(end), -step, true)?.head === state.selection.head;
  };
}

// dropText deletes the only letter or, with whole, the only word of a block in a column, next to which the selection is.
// A browser would take what is around the block with it.
export function dropText(step, whole) {
  return (state, dispatch) => {
    const { empty, $from } = state.selection;
    const { parent, parentOffset } = $from;
    if (!empty || !around(state, n.column) || !parent.isTextblock) return false;
    if (parent.childCount !== 1 || !parent.firstChild.isText) return false;
    if (parentOffset !== (step < 0 ? parent.content.size : 0)) return false;
    const text = parent.textContent;
    if (whole ? /\S\s+\S/.test(text) : [...text].length > 1) return false;
    dispatch?.(state.tr.delete($from.start(), $from.end()).scrollIntoView());
    return true;
  };
}

// without deletes the columns or the column at a place. The column that is left of two becomes text of its own.
export function without(state, pos) {
  const { tr } = state;
  const $pos = state.doc.resolve(pos);
  const node = $pos.nodeAfter;
  if (node.type === n.column && $pos.parent.childCount === 2) {
    const other = $pos.parent.child(1 - $pos.index());
    tr.replaceWith($pos.before(), $pos.after(), other.content);
  } else if ($pos.parent.childCount === 1) {
    tr.replaceWith(pos, pos + node.nodeSize, n.paragraph.create());
  } else {
    tr.delete(pos, pos + node.nodeSize);
  }
  return tr.setSelection(Selection.near(tr.doc.resolve(Math.min(pos, tr.doc.content.size)))).scrollIntoView();
}
