// Markdown to the document. What the document can't hold, or what would be written otherwise, becomes a locked block
// with its source.
import { callouts, parse } from "./dialect.js";
import { pictureAt } from "./pictures.js";
import { schema } from "./schema.js";
import { hide, onlyTags, show, split } from "./template.js";

const n = schema.nodes;

class Unknown extends Error {}

// read returns the blocks of a source: {node, from, to, inner}, where from and to are places in it, and inner, of
// containers, {from, to, blocks}.
export function read(source) {
  return new Reader(source).all();
}

// readBlocks returns the nodes of a source.
export function readBlocks(source) {
  return read(source).map((b) => b.node);
}

class Reader {
  constructor(source) {
    this.source = source;
    this.known = [];
    const hidden = hide(source, this.known);
    // A placeholder may hold line ends: lines of the hidden source begin elsewhere in the source.
    this.starts = [];
    for (const line of hidden.split("\n")) this.starts.push(show(line, this.known).length);
    let at = 0;
    this.starts = this.starts.map((length) => {
      const start = at;
      at += length + 1;
      return start;
    });
    this.starts.push(source.length);
    this.tokens = parse(hidden);
  }

  all() {
    // A column stands only in columns.
    return this.blocks(0, this.tokens.length, 0, this.source.length).map((b) =>
      b.node.type === n.column ? { ...b, node: n.locked.create({ source: this.source.slice(b.from, b.to) }), inner: null } : b,
    );
  }

  // range returns where lines begin and end, without empty ones at the end.
  range([first, last]) {
    const from = this.starts[first] ?? this.source.length;
    const to = last < this.starts.length ? this.starts[last] : this.source.length;
    return { from, to: from + this.source.slice(from, to).trimEnd().length };
  }

  // end returns the index after the token that closes the one at i.
  end(i) {
    let depth = 0;
    for (let k = i; k < this.tokens.length; k++) {
      depth += this.tokens[k].nesting;
      if (depth === 0) return k + 1;
    }
    return this.tokens.length;
  }

  // blocks reads tokens whose lines have nothing of others before them: of the whole source, or of a container in it.
  blocks(i, to, from, until) {
    const out = [];
    let at = from;
    const between = (next) => {
      const text = this.source.slice(at, next);
      if (!text.trim()) return;
      // What makes no token: definitions of links.
      const start = at + text.length - text.trimStart().length;
      out.push({ node: n.locked.create({ source: text.trim() }), from: start, to: start + text.trim().length });
    };
    while (i < to) {
      const end = this.end(i);
      const r = this.range(this.tokens[i].map);
      between(r.from);
      out.push(this.topBlock(i, end, r));
      at = r.to;
      i = end;
    }
    between(until);
    return out;
  }

  topBlock(i, end, r) {
    const source = this.source.slice(r.from, r.to);
    const token = this.tokens[i];
    try {
      if (token.type === "container_open") return this.container(i, end, r);
      if (!token.type.startsWith("code") && token.type !== "fence" && singleTildes(source)) throw new Unknown();
      const node = this.block(i, end);
      return { node, from: r.from, to: r.to, indented: token.type === "code_block" };
    } catch (why) {
      if (!(why instanceof Unknown) && !(why instanceof RangeError)) throw why;
      return { node: n.locked.create({ source }), from: r.from, to: r.to };
    }
  }

  container(i, end, r) {
    const { info, map, meta } = this.tokens[i];
    const from = this.starts[map[0] + 1] ?? this.source.length;
    const to = meta.closed ? this.starts[map[1] - 1] : r.to;
    const blocks = this.blocks(i + 1, end - 1, Math.min(from, to), Math.max(from, to));
    const nodes = blocks.map((b) => b.node);
    const inner = { from: Math.min(from, to), to: Math.max(from, to), blocks };
    const filled = (node) => {
      if (!node) throw new Unknown(); // it holds what it may not
      return { node, from: r.from, to: r.to, inner };
    };
    if (callouts.includes(info)) return filled(n.callout.createAndFill({ kind: info }, nodes));
    if (info === "column") return filled(n.column.createAndFill(null, nodes));
    if (info !== "columns" || nodes.some((c) => c.type !== n.column) || nodes.length < 2 || nodes.length > 3) {
      throw new Unknown();
    }
    return { node: n.columns.create(null, nodes), from: r.from, to: r.to, inner };
  }

  children(i, end) {
    const out = [];
    while (i < end) {
      const next = this.end(i);
      out.push(this.block(i, next));
      i = next;
    }
    return out;
  }

  // block returns the node of the tokens from i to end.
  block(i, end) {
    const token = this.tokens[i];
    switch (token.type) {
      case "paragraph_open":
        return this.paragraph(this.tokens[i + 1]);
      case "heading_open":
        return n.heading.createChecked({ level: Number(token.tag[1]) }, this.inline(this.tokens[i + 1].children));
      case "blockquote_open":
        return n.blockquote.createChecked(null, this.children(i + 1, end - 1));
      case "bullet_list_open":
      case "ordered_list_open":
        return this.list(i, end);
      case "fence":
      case "code_block": {
        const text = show(token.content, this.known).replace(/\n$/, "");
        const info = show(token.info, this.known).trim();
        return n.code_block.create({ info }, text ? schema.text(text) : null);
      }
      case "hr":
        return n.divider.create();
      case "container_open": {
        // Within a list or a quote.
        if (!callouts.includes(token.info)) throw new Unknown();
        return n.callout.createChecked({ kind: token.info }, this.children(i + 1, end - 1));
      }
    }
    throw new Unknown(); // tables and HTML
  }

  list(i, end) {
    const token = this.tokens[i];
    const items = [];
    let tight = true;
    for (let k = i + 1; k < end - 1; ) {
      const next = this.end(k);
      for (let c = k + 1; c < next - 1; c = this.end(c)) {
        if (this.tokens[c].type === "paragraph_open" && !this.tokens[c].hidden) tight = false;
      }
      const blocks = this.children(k + 1, next - 1);
      items.push(n.list_item.createChecked(null, blocks.length ? blocks : n.paragraph.create()));
      k = next;
    }
    if (token.type === "bullet_list_open") return n.bullet_list.createChecked({ tight, marker: token.markup }, items);
    const order = Number(token.attrGet("start") ?? 1);
    return n.ordered_list.createChecked({ tight, marker: token.markup, order }, items);
  }

  // paragraph returns what a paragraph means: text, or a picture or a button that stand alone in it.
  paragraph(token) {
    if (onlyTags(token.content, this.known) || this.hasComment(token.content)) throw new Unknown();
    const children = token.children.filter((c) => c.type !== "text" || c.content);
    const first = children[0];
    if (first?.type === "image") {
      const rest = children.slice(1);
      if (rest.every((c) => c.type === "attributes")) return n.figure.create(this.figure(first, rest));
    }
    if (first?.type === "link_open") {
      const close = children.findIndex((c) => c.type === "link_close");
      const after = children.slice(close + 1);
      if (after.every((c) => c.type === "attributes")) {
        const inner = children.slice(1, close);
        const href = show(first.attrGet("href") ?? "", this.known);
        const title = first.attrGet("title");
        if (inner[0]?.type === "image" && inner.slice(1).every((c) => c.type === "attributes")) {
          if (title) throw new Unknown();
          return n.figure.create({ ...this.figure(inner[0], [...inner.slice(1), ...after]), href });
        }
        if (after.length) {
          if (title || after.some((c) => c.content !== ".button")) throw new Unknown();
          return n.button.createChecked({ href }, this.inline(inner));
        }
      }
    }
    return n.paragraph.createChecked(null, this.inline(token.children));
  }

  hasComment(text) {
    let found = false;
    split(text, this.known, () => {}, (p) => (found ||= p.kind === "comment"));
    return found;
  }

  figure(token, attributes) {
    const attrs = this.picture(token, attributes);
    return { ...attrs, ...pictureAt(attrs.src) };
  }

  picture(token, attributes) {
    let width = 0;
    for (const a of attributes) {
      const found = /^width=["']?(\d+)["']?$/.exec(a.content);
      if (!found) throw new Unknown();
      width = Number(found[1]);
    }
    return {
      src: show(token.attrGet("src") ?? "", this.known),
      alt: show(plain(token.children), this.known),
      title: show(token.attrGet("title") ?? "", this.known),
      width,
    };
  }

  // inline returns the nodes of a line's tokens.
  inline(tokens) {
    const out = [];
    let marks = [];
    const add = (text, also = []) => {
      const all = also.reduce((set, m) => m.addToSet(set), marks);
      split(
        text,
        this.known,
        (t) => out.push(schema.text(t, all)),
        (p) => out.push(n.field.create({ source: p.text }, null, all)),
      );
    };
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i];
      switch (token.type) {
        case "text":
          if (token.content) add(token.content);
          break;
        case "text_special":
          add(token.content);
          break;
        case "softbreak":
          out.push(schema.text(" ", schema.marks.soft.create().addToSet(marks)));
          break;
        case "hardbreak":
          out.push(n.hard_break.create(null, null, marks));
          break;
        case "code_inline":
          out.push(schema.text(show(token.content, this.known), schema.marks.code.create().addToSet(marks)));
          break;
        case "html_inline":
          out.push(n.raw.create({ source: show(token.content, this.known) }, null, marks));
          break;
        case "image": {
          const attributes = [];
          while (tokens[i + 1]?.type === "attributes") attributes.push(tokens[++i]);
          out.push(n.picture.create(this.picture(token, attributes), null, marks));
          break;
        }
        case "strong_open":
        case "em_open":
        case "s_open":
          marks = schema.marks[markOf[token.tag]].create().addToSet(marks);
          break;
        case "link_open":
          marks = schema.marks.link
            .create({
              href: show(token.attrGet("href") ?? "", this.known),
              title: show(token.attrGet("title") ?? "", this.known),
              auto: token.markup === "autolink",
            })
            .addToSet(marks);
          break;
        case "strong_close":
        case "em_close":
        case "s_close":
          marks = schema.marks[markOf[token.tag]].removeFromSet(marks);
          break;
        case "link_close":
          marks = schema.marks.link.removeFromSet(marks);
          break;
        default:
          throw new Unknown(); // a button within a line
      }
    }
    return out;
  }
}

const markOf = { strong: "strong", em: "em", s: "strike" };

function plain(tokens) {
  let out = "";
  for (const t of tokens ?? []) {
    if (t.type === "image") out += plain(t.children);
    else if (t.type === "softbreak" || t.type === "hardbreak") out += " ";
    else out += t.content;
  }
  return out;
}

// singleTildes reports whether single tildes may strike a text out, which the renderer reads so and the parser here not.
function singleTildes(source) {
  const text = source.replace(/(?:https?|ftp):\/\/\S+/g, "");
  return (text.match(/(?<![~\\])~(?!~)/g) ?? []).length > 1;
}
