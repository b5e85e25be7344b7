// A source whose blocks keep their octets: what was not changed is written as it was read.
//
// Each block that was read has a number, which its node has as orig. A node that equals the one that was read is written
// as its source; another one is written anew, with what stood between it and its neighbours, where they are still those.
// Blocks of callouts and columns have numbers of their own.
import { Fragment } from "prosemirror-model";
import { read, readBlocks } from "./read.js";
import { schema } from "./schema.js";
import { beside, writeBlock } from "./write.js";

const n = schema.nodes;
const containers = [n.callout, n.columns, n.column];
// Text in the line after one of these goes on with it.
const spread = [n.blockquote, n.bullet_list, n.ordered_list];

export class Source {
  // The source of a text; a TemplateError is thrown where its placeholders are not closed.
  constructor(text) {
    this.text = text;
    this.blocks = []; // by number: {node, source, next, gap, head, tail}
    const found = read(text);
    const nodes = this.number(found);
    this.doc = n.doc.create(null, nodes.length ? nodes : n.paragraph.create());
    this.first = nodes[0]?.attrs.orig ?? null;
    this.last = nodes.at(-1)?.attrs.orig ?? null;
    this.before = found.length ? text.slice(0, found[0].from) : "";
    this.after = found.length ? text.slice(found.at(-1).to) : text;
  }

  // number gives numbers to blocks that follow each other, and returns their nodes.
  number(found) {
    const nodes = [];
    let last = null;
    found.forEach((b, i) => {
      let { node } = b;
      const source = this.text.slice(b.from, b.to);
      const record = { source, next: null, gap: "", head: "", tail: "", indented: b.indented };
      if (b.inner) {
        if (b.inner.blocks.length) {
          const inner = b.inner.blocks;
          node = node.copy(Fragment.from(this.number(inner)));
          record.head = this.text.slice(b.from, inner[0].from);
          record.tail = this.text.slice(inner.at(-1).to, b.to);
        }
      } else if (node.type !== n.locked && !sameAgain(node)) {
        node = n.locked.create({ source });
      }
      const id = this.blocks.push(record) - 1;
      record.node = node.type.create({ ...node.attrs, orig: id }, node.content, node.marks);
      if (last !== null) {
        this.blocks[last].next = id;
        this.blocks[last].gap = this.text.slice(found[i - 1].to, b.from);
      }
      last = id;
      nodes.push(record.node);
    });
    return nodes;
  }

  // write returns the Markdown of a document. anew: of all blocks, also of those that didn't change.
  write(doc, anew = false) {
    if (!anew && doc.eq(this.doc)) return this.text;
    const { text, first, last } = this.join(doc, anew);
    if (!text) return "";
    const before = first !== null && first === this.first ? this.before : "";
    return before + text + (last !== null && last === this.last ? this.after : "\n");
  }

  join(parent, anew) {
    let text = "";
    let previous = null; // {id, same, sort, node, text}
    let first = null;
    parent.forEach((node, _, index) => {
      const id = node.attrs.orig;
      const record = this.blocks[id];
      const neighbour = previous && record && this.blocks[previous.id]?.next === id;
      let same = Boolean(record) && !anew && record.node.eq(node);
      // Indented code stays as it is where nothing before it can take it for its own.
      const safe = previous ? neighbour && previous.sort && !spread.includes(previous.node.type) : index === 0;
      if (record?.indented && !safe && !previous?.same) same = false;
      const taken = () => beside(node, previous?.node, previous?.text, parent.maybeChild(index + 1));
      const written = same ? record.source : this.write1(node, record, taken(), anew);
      if (!written) return;
      const sort = record?.node.type === node.type;
      if (previous) {
        const gap = neighbour ? this.blocks[previous.id].gap : "";
        const tight = previous.sort && sort && !spread.includes(previous.node.type) && node.type !== n.divider;
        const usable = /\n[ \t]*\n/.test(gap) || (gap && ((previous.same && same) || tight));
        text += usable ? gap : node.type === n.column ? "\n" : "\n\n";
      } else {
        first = id;
      }
      text += written;
      previous = { id, same, sort, node, text: written };
    });
    return { text, first, last: previous?.id ?? null };
  }

  // write1 writes a block that was changed. A container keeps its lines of colons.
  write1(node, record, taken, anew) {
    if (!containers.includes(node.type)) return writeBlock(node, taken);
    const { text, first, last } = this.join(node, anew);
    const same = record && !anew && record.node.type === node.type && record.node.attrs.kind === node.attrs.kind;
    if (!text || !same || !record.head) return writeBlock(node, [], () => text);
    const inner = record.node.content;
    const head = first === inner.firstChild.attrs.orig ? record.head : record.head.replace(/\n\s*$/, "\n");
    const tail = last === inner.lastChild.attrs.orig && record.tail ? record.tail : "\n:::";
    return head + text + tail;
  }
}

// lockedBlocks returns the nodes of a source; those that would be written otherwise are locked.
export function lockedBlocks(source) {
  const known = readBlocks(source);
  const keeps = (node) => node.type === n.locked || containers.includes(node.type) || sameAgain(node);
  return known.every(keeps) ? known : [n.locked.create({ source: source.trim() })];
}

// sameAgain reports whether what a block is written as is read as the same block.
function sameAgain(node) {
  try {
    const again = read(writeBlock(node));
    return again.length === 1 && again[0].node.eq(node);
  } catch {
    return false;
  }
}
