// Content of JSON blocks, as programs make it, in the editor: what the document can hold of them is edited, and the others
// are locked, with their JSON. A block that nobody changed keeps its octets, and so does all around the blocks.
//
// Each node that was read has a number, as orig, of a record: {block, node, own}. A block is {source, records, sub}: its
// JSON, the records of its nodes, and, where it is a text, the Source of its Markdown, in which a node's number is own.
import { pictureAt, savedSrc } from "./pictures.js";
import { read } from "./read.js";
import { schema } from "./schema.js";
import { Source } from "./source.js";
import { TemplateError } from "./template.js";
import { writeBlock, writeBlocks } from "./write.js";

const n = schema.nodes;

// BlocksError is thrown where a text is no JSON of blocks.
export class BlocksError extends Error {}

class Unknown extends Error {}

// The keys of blocks that the document can hold, and of what type their values are.
const known = {
  heading: { text: "string", level: "number" },
  text: { text: "string" },
  image: { src: "string", alt: "string", width: "number", href: "string", caption: "string" },
  button: { text: "string", href: "string" },
  divider: {},
  columns: { columns: "object" },
  quote: { text: "string", blocks: "object" },
  callout: { kind: "string", text: "string", blocks: "object" },
};

// scan returns where the values of a JSON text stand, which is one: {from, to, items, props}.
function scan(text) {
  let at = 0;
  const blanks = () => {
    while (/[ \t\r\n]/.test(text[at])) at++;
  };
  const string = () => {
    const from = at++;
    while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    return JSON.parse(text.slice(from, ++at));
  };
  const value = () => {
    blanks();
    const found = { from: at };
    const end = { "{": "}", "[": "]" }[text[at]];
    if (end) {
      found[end === "}" ? "props" : "items"] = end === "}" ? new Map() : [];
      for (at++, blanks(); text[at] !== end; blanks()) {
        if (end === "}") {
          const name = string();
          blanks();
          at++; // the colon
          found.props.set(name, value());
        } else {
          found.items.push(value());
        }
        blanks();
        if (text[at] === ",") at++;
      }
      at++;
    } else if (text[at] === '"') {
      string();
    } else {
      while (/[^\s,\]}]/.test(text[at] ?? ",")) at++;
    }
    found.to = at;
    return found;
  };
  return value();
}

// object writes an object; values that are Raw stand in it as they are.
class Raw {
  constructor(text) {
    this.text = text;
  }
}

function object(values) {
  const all = Object.entries(values).filter(([, v]) => v !== undefined);
  const write = (v) => (v instanceof Raw ? v.text : JSON.stringify(v));
  return `{${all.map(([k, v]) => `${JSON.stringify(k)}: ${write(v)}`).join(", ")}}`;
}

// inline returns what is in a line of Markdown, as headings and buttons have it.
function inline(text) {
  const line = text.split(/[ \t\r\n\v\f]+/).filter(Boolean).join(" ");
  if (!line) return null;
  const found = read(line);
  if (found.length !== 1 || found[0].node.type !== n.paragraph) throw new Unknown();
  return found[0].node.content;
}

// lineOf writes it.
function lineOf(node) {
  return writeBlock(n.paragraph.create(null, node.content)).replace(/\s*\n\s*/g, " ");
}

// line returns a node of one line, where it is written as it was read.
function line(type, attrs, text) {
  const content = inline(text);
  const node = type.createChecked(attrs, content);
  if (content && !inline(lineOf(node))?.eq(content)) throw new Unknown();
  return node;
}

export class BlockSource {
  // The source of a text; a BlocksError is thrown where it is no JSON of blocks.
  constructor(text) {
    this.text = text;
    this.records = [];
    let all;
    try {
      all = JSON.parse(text);
    } catch (why) {
      throw new BlocksError(why.message);
    }
    if (!Array.isArray(all?.blocks)) throw new BlocksError("blocks");
    this.array = scan(text).props.get("blocks");
    const nodes = this.nodes(this.array.items);
    this.doc = n.doc.createChecked(null, nodes.length ? nodes : n.paragraph.create());
  }

  // nodes returns the nodes of blocks that follow each other.
  nodes(items) {
    return items.flatMap((item, i) => {
      const source = this.text.slice(item.from, item.to);
      const block = { source, records: [], sub: null, next: items[i + 1]?.from, gap: "" };
      if (items[i + 1]) block.gap = this.text.slice(item.to, items[i + 1].from);
      block.from = item.from;
      const before = this.records.length;
      try {
        return this.numbered(block, this.block(block, item, JSON.parse(source)));
      } catch (why) {
        if (!(why instanceof Unknown || why instanceof RangeError || why instanceof TemplateError)) throw why;
        this.records.length = before;
        block.records = [];
        block.sub = null;
        return this.numbered(block, [n.locked.create({ source, json: true })]);
      }
    });
  }

  // numbered gives numbers to the nodes of a block.
  numbered(block, nodes) {
    return nodes.map((node) => {
      const id = this.records.length;
      const made = node.type.create({ ...node.attrs, orig: id }, node.content, node.marks);
      const record = { block, node: made, own: block.sub ? node.attrs.orig : null };
      this.records.push(record);
      block.records.push(record);
      return made;
    });
  }

  block(block, item, value) {
    const keys = value && known[value.type];
    if (!keys) throw new Unknown();
    for (const [k, v] of Object.entries(value)) {
      if (k !== "type" && (typeof v !== keys[k] || v === null)) throw new Unknown();
    }
    block.value = value;
    switch (value.type) {
      case "heading":
        if (![undefined, 1, 2, 3].includes(value.level)) throw new Unknown();
        return [line(n.heading, { level: value.level ?? 1 }, value.text ?? "")];
      case "text":
        return this.markdown(block, value.text ?? "");
      case "image":
        return [
          n.figure.create({
            ...pictureAt(value.src), alt: value.alt ?? "", title: value.caption ?? "", width: value.width ?? 0, href: value.href ?? "",
          }),
        ];
      case "button":
        return [line(n.button, { href: value.href }, value.text ?? "")];
      case "divider":
        return [n.divider.create()];
      case "columns":
        return [
          n.columns.createChecked(
            null,
            item.props.get("columns").items.map((c) => n.column.createChecked(null, this.filled(this.nodes(c.items)))),
          ),
        ];
    }
    const type = value.type === "quote" ? n.blockquote : n.callout;
    const attrs = value.type === "quote" ? {} : { kind: value.kind ?? "note" };
    if (value.blocks?.length) return [type.createChecked(attrs, this.filled(this.nodes(item.props.get("blocks").items)))];
    const inner = { source: null, records: [], sub: null };
    return [type.createChecked(attrs, this.numbered(inner, this.markdown(inner, value.text ?? "")))];
  }

  filled(nodes) {
    return nodes.length ? nodes : [n.paragraph.create()];
  }

  // markdown returns the nodes of a block's text.
  markdown(block, text) {
    block.sub = new Source(text);
    return block.sub.doc.content.content;
  }

  // write returns the JSON of a document. anew: of all blocks, also of those that didn't change.
  write(doc, anew = false) {
    if (!anew && doc.eq(this.doc)) return this.text;
    const { from, to, items } = this.array;
    const usual = items.length > 1 ? this.text.slice(items[0].to, items[1].from) : ",\n";
    const parts = this.parts(doc, anew);
    let out = "";
    parts.forEach((part, i) => {
      const last = parts[i - 1]?.last;
      if (i) out += last?.gap && last.next === part.first?.from ? last.gap : usual;
      out += part.json();
    });
    const head = items.length ? items[0].from : from + 1;
    const tail = items.length ? items.at(-1).to : to - 1;
    return this.text.slice(0, head) + out + this.text.slice(tail);
  }

  // parts returns the blocks of what is in a node: {first, last, text, json()}, where first and last are the blocks that its
  // nodes were read from, and text is that of a block of Markdown.
  parts(parent, anew) {
    const out = [];
    const nodes = parent.content.content;
    for (let i = 0; i < nodes.length; ) {
      const { block } = this.records[nodes[i].attrs.orig] ?? {};
      if (!anew && this.same(block, nodes, i)) {
        out.push({ first: block, last: block, json: () => block.source });
        i += block.records.length;
        continue;
      }
      let end = i;
      while (end < nodes.length && this.isText(nodes[end]) && (anew || !this.starts(nodes, end, i))) end++;
      if (end > i) {
        const text = this.textOf(nodes.slice(i, end), anew);
        const last = this.records[nodes[end - 1].attrs.orig]?.block;
        if (text) out.push({ first: block, last, text, json: () => object({ type: "text", text }) });
        i = end;
        continue;
      }
      const json = this.json(nodes[i], block?.value ?? {}, anew);
      if (json) out.push({ first: block, last: block, json: () => json });
      i++;
    }
    return out;
  }

  starts(nodes, at, after) {
    return at > after && this.same(this.records[nodes[at].attrs.orig]?.block, nodes, at);
  }

  // same reports whether all nodes of a block stand at a place as they were read.
  same(block, nodes, at) {
    return Boolean(block?.source) && block.records.every((r, k) => nodes[at + k]?.eq(r.node));
  }

  // isText reports whether a node is written as Markdown.
  isText(node) {
    const block = this.records[node.attrs.orig]?.block;
    if (block?.sub) return true;
    const is = block?.value?.type;
    switch (node.type) {
      case n.locked:
        return !node.attrs.json;
      case n.heading:
        return node.attrs.level > 3;
      case n.blockquote:
        return is !== "quote";
    }
    return ![n.figure, n.button, n.divider, n.columns, n.callout].includes(node.type);
  }

  textOf(nodes, anew) {
    const blockOf = (node) => this.records[node.attrs.orig]?.block;
    const sub = nodes.map((node) => blockOf(node)?.sub).find(Boolean);
    const own = (node) => (sub && blockOf(node)?.sub === sub ? this.records[node.attrs.orig].own : null);
    const doc = n.doc.create(
      null,
      nodes.map((node) => node.type.create({ ...node.attrs, orig: own(node) }, node.content, node.marks)),
    );
    return (sub ? sub.write(doc, anew) : writeBlocks(doc)).trimEnd();
  }

  // json writes a block that was changed; before is what it said.
  json(node, before, anew) {
    const { attrs } = node;
    switch (node.type) {
      case n.locked:
        return attrs.source;
      case n.heading:
        return object({ type: "heading", level: attrs.level, text: lineOf(node) });
      case n.figure: {
        const src = savedSrc(attrs);
        if (!src) return "";
        const alt = attrs.alt || before.alt !== undefined ? attrs.alt : undefined;
        const { width, href, title } = attrs;
        return object({
          type: "image", src, alt, width: width || undefined, href: href || undefined, caption: title || undefined,
        });
      }
      case n.button:
        return object({ type: "button", text: lineOf(node), href: attrs.href });
      case n.divider:
        return object({ type: "divider" });
      case n.columns:
        return object({ type: "columns", columns: new Raw(this.list(node.content.content.map((c) => this.listOf(c, anew)))) });
    }
    const about = node.type === n.callout ? { type: "callout", kind: attrs.kind } : { type: "quote" };
    const parts = this.parts(node, anew);
    if (!parts.length) return object({ ...about, text: "" });
    if (parts.length === 1 && parts[0].text !== undefined) return object({ ...about, text: parts[0].text });
    return object({ ...about, blocks: new Raw(this.list(parts.map((p) => p.json()))) });
  }

  listOf(node, anew) {
    return this.list(this.parts(node, anew).map((p) => p.json()));
  }

  list(items) {
    return `[${items.join(", ")}]`;
  }
}

// checkBlock throws a BlocksError where a text is no JSON of a block.
export function checkBlock(text) {
  try {
    if (typeof JSON.parse(text)?.type === "string") return;
  } catch (why) {
    throw new BlocksError(why.message);
  }
  throw new BlocksError("type");
}
