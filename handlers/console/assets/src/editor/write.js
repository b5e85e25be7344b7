// The document to Markdown. What is written is read as the same document again.
import { savedSrc } from "./pictures.js";
import { read } from "./read.js";
import { schema } from "./schema.js";
import { split as splitMarks, hide } from "./template.js";

const n = schema.nodes;

// writeBlock returns the Markdown of a block, without a line end after it. taken are signs that a list may not have;
// children writes the blocks of containers.
export function writeBlock(node, taken = [], children = writeBlocks) {
  switch (node.type) {
    case n.paragraph:
      return careful(node, (level) => lines(writeInline(node, level)));
    case n.heading:
      return careful(node, (level) => {
        const text = oneLine(writeInline(node, level)).replace(/(^|\s)(#+)$/, "$1\\$2");
        return ("#".repeat(node.attrs.level) + " " + text).trimEnd();
      });
    case n.blockquote:
      return prefix(writeBlocks(node), "> ", "> ");
    case n.bullet_list:
    case n.ordered_list:
      return writeList(node, taken);
    case n.code_block:
      return writeCode(node);
    case n.divider:
      return "---";
    case n.button:
      return careful(
        node,
        (level) => `[${oneLine(writeInline(node, level, true))}](${address(node.attrs.href)}){.button}`,
      );
    case n.figure: {
      const src = savedSrc(node.attrs);
      if (!src) return "";
      const picture = writePicture({ ...node.attrs, src });
      return node.attrs.href ? `[${picture}](${address(node.attrs.href)})` : picture;
    }
    case n.callout:
      return `::: ${node.attrs.kind}\n${line(children(node))}:::`;
    case n.columns:
      return `::: columns\n${line(children(node))}:::`;
    case n.column:
      return `::: column\n${line(children(node))}:::`;
    case n.locked:
      return node.attrs.source;
  }
  throw new Error(node.type.name);
}

function oneLine(text) {
  return text.replace(/\s*\n\s*/g, " ").trim();
}

// careful returns what write writes for the first level at which it is read as the same text: 0 is the usual one, 1
// has bare addresses in angle brackets and no emphasis of signs, 2 no emphasis, 3 no links. Signs of emphasis next to
// others are taken for text, or the other way round.
function careful(node, write) {
  for (let level = 0; level < 3; level++) {
    const text = write(level);
    try {
      const again = text ? read(text) : [];
      const found = again.length ? (again.length === 1 ? plain(again[0].node) : null) : "";
      if (found === plain(node)) return text;
    } catch {
      if (level === 0) return text; // a placeholder that is being written
    }
  }
  return write(3);
}

function plain(node) {
  const atom = (leaf) => leaf.attrs.source ?? leaf.attrs.src ?? " ";
  const text = node.type === n.figure ? node.attrs.src : node.textBetween(0, node.content.size, " ", atom);
  return text.replace(/\s+/g, " ").trim();
}

function line(text) {
  return text && text + "\n";
}

// writeBlocks returns the Markdown of what is in a node.
export function writeBlocks(parent) {
  let out = "";
  let previous = null;
  let last = "";
  parent.forEach((node, _, i) => {
    const text = writeBlock(node, beside(node, previous, last, parent.maybeChild(i + 1)));
    if (!text) return;
    out += (out && (node.type === n.column ? "\n" : "\n\n")) + text;
    previous = node;
    last = text;
  });
  return out;
}

// beside returns the signs of the lists before and after a list, which must have another one to be a list of its own.
export function beside(node, previous, text, next) {
  const out = [];
  if (previous?.type === node.type) out.push(/^\s*(?:\d+)?([-*+.)])/.exec(text)?.[1]);
  if (next?.type === node.type) out.push(next.attrs.marker);
  return out;
}

function writeList(list, taken) {
  const { tight } = list.attrs;
  let { marker } = list.attrs;
  const ordered = list.type === n.ordered_list;
  if (taken.includes(marker)) marker = (ordered ? [".", ")"] : ["-", "*", "+"]).find((m) => !taken.includes(m)) ?? marker;
  const items = [];
  list.forEach((item, _, i) => {
    const sign = (ordered ? list.attrs.order + i + marker : marker) + " ";
    let body = "";
    let previous = null;
    let last = "";
    item.forEach((block, _, k) => {
      let text = writeBlock(block, beside(block, previous, last, item.maybeChild(k + 1)));
      if (block.type === n.divider) text = marker === "*" ? "---" : "***";
      if (!text && body) return;
      const apart = !tight || block.type === n.paragraph;
      body += (body && (apart ? "\n\n" : "\n")) + text;
      previous = block;
      last = text;
    });
    items.push(prefix(body, sign, " ".repeat(sign.length)).trimEnd());
  });
  return items.join(tight ? "\n" : "\n\n");
}

function writeCode(node) {
  const text = node.textContent;
  const sign = node.attrs.info.includes("`") ? "~" : "`";
  let fence = sign.repeat(3);
  for (const run of text.match(sign === "`" ? /^ {0,3}`{3,}/gm : /^ {0,3}~{3,}/gm) ?? []) {
    if (run.trim().length >= fence.length) fence = sign.repeat(run.trim().length + 1);
  }
  return `${fence}${node.attrs.info}\n${text && text + "\n"}${fence}`;
}

function prefix(text, head, rest) {
  return text
    .split("\n")
    .map((l, i) => (l ? (i ? rest : head) + l : (i ? rest : head).trimEnd()))
    .join("\n");
}

// delimited are the marks that are written by signs before and after their text, the outermost first.
const delimited = [
  ["strong", "**"],
  ["em", "*"],
  ["strike", "~~"],
];

const words = (text) => text.match(/\s+|[^\s\p{P}\p{S}]+|[\p{P}\p{S}]+/gu) ?? [];

// pieces cuts what is in a block into pieces of one kind: {kind, text, marks, link, node}.
function pieces(parent, bracketed) {
  const out = [];
  parent.forEach((node) => {
    const has = (name) => node.marks.some((m) => m.type.name === name);
    const marks = new Set(delimited.map(([name]) => name).filter(has));
    const link = node.marks.find((m) => m.type === schema.marks.link) ?? null;
    const add = (kind, text) => out.push({ kind, text, marks: new Set(marks), link, node });
    if (!node.isText) add(node.type === n.hard_break ? "break" : "atom", "");
    else if (has("soft") && !node.text.trim()) add("soft", "");
    else if (has("code")) add("code", node.text);
    else if (bracketed && !link) {
      for (const [i, t] of node.text.split(/((?:https?|ftp):\/\/[^\s<>]+)/).entries()) {
        if (i % 2) add("address", t);
        else words(t).forEach((w) => add("text", w));
      }
    } else words(node.text).forEach((w) => add("text", w));
  });
  return out;
}

const blank = (p) => !p || p.kind === "soft" || p.kind === "break" || (p.kind === "text" && !p.text.trim());
const punctuation = (p) => p && (p.kind === "code" || (p.kind === "text" && /^[\p{P}\p{S}]/u.test(p.text)));

// settle takes marks off blanks at their ends, and off punctuation there that a letter follows: signs of emphasis have
// no effect in such places.
function settle(all) {
  for (const [name] of delimited) {
    for (let changed = true; changed; ) {
      changed = false;
      all.forEach((p, i) => {
        if (!p.marks.has(name)) return;
        for (const beyond of [all[i - 1], all[i + 1]]) {
          if (beyond?.marks.has(name)) continue;
          if (blank(p) || (p.kind === "text" && punctuation(p) && !blank(beyond) && !punctuation(beyond))) {
            p.marks.delete(name);
            changed = true;
            return;
          }
        }
      });
    }
  }
}

// writeInline returns the Markdown of the text of a block; careful has the levels. inLink: it is the text of a link.
function writeInline(parent, level, inLink = false) {
  const all = pieces(parent, level > 0);
  for (const p of all) {
    if (level > 2) p.link = null;
    if (level > 1 || (level > 0 && !/^[\p{L}\p{N}\s]*$/u.test(p.text))) p.marks.clear();
  }
  settle(all);
  let out = "";
  let from = 0; // where in out the text begins that has no signs of ours in it
  let end = 0; // of the last piece
  const open = []; // {name, sign} or {link}
  const shut = (keep) => {
    while (open.length > keep) {
      const o = open.pop();
      out += o.link ? closeLink(o) : o.sign;
    }
  };
  const closeLink = (o) => (o.auto ? ">" : `](${address(o.link.attrs.href)}${titled(o.link.attrs.title)})`);
  while (all.length && blank(all.at(-1))) all.pop();
  all.forEach((p, i) => {
    // What stays open: the longest beginning of the open marks that this piece has, too.
    let keep = 0;
    for (; keep < open.length; keep++) {
      const o = open[keep];
      if (o.link ? p.link !== o.link && !(p.link && p.link.eq(o.link)) : !p.marks.has(o.name)) break;
    }
    shut(keep);
    if (p.link && !open.some((o) => o.link)) {
      const auto = p.link.attrs.auto && autoText(all, i) === p.link.attrs.href.replace(/^mailto:/, "");
      open.push({ link: p.link, auto });
      if (out.endsWith("!") && !out.endsWith("\\!") && !auto) out = out.slice(0, -1) + "\\!";
      out += auto ? "<" : "[";
    }
    const missing = delimited.filter(([name]) => p.marks.has(name) && !open.some((o) => o.name === name));
    // The one that lasts longest is the outermost.
    const lasts = ([name]) => {
      let k = i;
      while (all[k]?.marks.has(name)) k++;
      return k;
    };
    missing.sort((a, b) => lasts(b) - lasts(a));
    for (const [name, sign] of missing) {
      open.push({ name, sign });
      out += sign;
    }
    if (i > 0 && (all[i - 1].kind !== "text" || out.length !== end)) from = out.length;
    const rest = all.slice(i + 1, i + 4).map((x) => (x.kind === "text" ? x.text : " ")).join("");
    out += writePiece(p, out, from, all[i + 1], rest, inLink || open.some((o) => o.link && !o.auto), open.at(-1)?.auto);
    end = out.length;
  });
  shut(0);
  return out;
}

function autoText(all, i) {
  let text = "";
  for (let k = i; all[k]?.link?.eq(all[i].link); k++) {
    if (all[k].kind !== "text") return null;
    text += all[k].text;
  }
  return text;
}

function writePiece(p, out, from, next, rest, inLink, verbatim) {
  switch (p.kind) {
    case "soft":
      return "\n";
    case "break":
      return "\\\n";
    case "code":
      return writeCodeSpan(p.text);
    case "address":
      return `<${p.text}>`;
    case "atom":
      return p.node.type === n.picture ? writePicture(p.node.attrs) : p.node.attrs.source;
  }
  return verbatim ? p.text : escape(p.text, out, from, next, rest, inLink);
}

function writeCodeSpan(text) {
  let fence = "`";
  const runs = (text.match(/`+/g) ?? []).map((r) => r.length);
  while (runs.includes(fence.length)) fence += "`";
  const pad = /^`|`$|^ .* $/.test(text) && text.trim() ? " " : "";
  return fence + pad + text + pad + fence;
}

const bareTail = /(?:(?:https?|ftp):\/\/)[^\s<]*$/;
const alone = (c) => !c || /\s/.test(c);

// escape puts backslashes before the signs of a text that Markdown would take for its own. The text is white space, a
// word, or signs; out is what stands before it, from is where the text in it begins.
function escape(text, out, from, next, rest, inLink) {
  if (bareTail.test(out.slice(from)) && !/\s/.test(text)) {
    // Within a bare address, except for a bracket that ends the text of a link.
    return text.replace(inLink ? /[[\]<]/g : /</g, "\\$&");
  }
  if (!/[\p{P}\p{S}]/u.test(text)) return text;
  const after = next?.kind === "text" ? next.text[0] : next && next.kind !== "soft" && next.kind !== "break" ? "*" : "";
  let s = "";
  [...text].forEach((c, i, chars) => {
    const before = s ? s.at(-1) : (out.at(-1) ?? "");
    const follows = chars[i + 1] ?? after;
    s += needsEscape(c, before, follows, inLink, s ? "" : out, chars.slice(i + 1).join("") + rest) ? "\\" + c : c;
  });
  return s;
}

function needsEscape(c, before, follows, inLink, out, rest) {
  switch (c) {
    case "\\":
      return follows === "" || /[!-/:-@[-`{-~]/.test(follows);
    case "`":
      return true;
    case "*":
      return !(alone(before) && alone(follows));
    case "_":
      return !(/[\p{L}\p{N}_]/u.test(before) && /[\p{L}\p{N}_]/u.test(follows)) && !(alone(before) && alone(follows));
    case "~":
      return !(alone(before) && alone(follows));
    case "[":
      return true;
    case "]":
      return inLink;
    case "<":
      return /[a-zA-Z/!?]/.test(follows) || follows === "";
    case "&":
      return /[a-zA-Z#]/.test(follows) && /^(?:#\d+|#[xX][\da-fA-F]+|\w+);/.test(rest);
    case "{":
      // After a link or a picture it would begin their attributes.
      return before === ")" && out !== "" && !/[{%]/.test(follows);
  }
  return false;
}

// lines puts backslashes before what begins a block at the start of a line, and takes blanks off the ends of lines.
function lines(text) {
  return text
    .split("\n")
    .map((l, i, all) => {
      l = l.replace(/^[ \t]+/, "");
      if (i === all.length - 1 || !l.endsWith("\\")) l = l.replace(/[ \t]+$/, "");
      return l
        .replace(/^(#{1,6})(?=\s|$)/, "\\$1")
        .replace(/^([-+*])(?=\s|$)/, "\\$1")
        .replace(/^(\d{1,9})([.)])(?=\s|$)/, "$1\\$2")
        .replace(/^>/, "\\>")
        .replace(/^:::/, "\\:::")
        .replace(/^([=])(?==*\s*$)/, "\\$1")
        .replace(/^([-_|:])(?=[-_|: ]*$)/, (c) => (/[-_]/.test(l) ? "\\" + c : c));
    })
    .filter((l, i, all) => l || (i > 0 && i < all.length - 1))
    .join("\n")
    .replace(/\n{2,}/g, "\n");
}

function writePicture({ src, alt, title, width }) {
  const text = literal(alt, (t) => t.replace(/[\\`*_[\]<&~!]/g, "\\$&"));
  return `![${text}](${address(src)}${titled(title)})` + (width ? `{width=${width}}` : "");
}

// literal changes what stands between the placeholders of a text.
function literal(text, change) {
  const known = [];
  let out = "";
  splitMarks(hide(text, known), known, (t) => (out += change(t)), (p) => (out += p.text));
  return out;
}

// address returns the destination of a link.
function address(href) {
  const known = [];
  let bare = href;
  try {
    bare = hide(href, known);
  } catch {
    // braces that nothing closes
  }
  const safe = (t) =>
    t.replace(/\n/g, "%0A").replace(/\\(?=[!-/:-@[-`{-~])/g, "\\\\").replace(/&(?=#?\w+;)/g, "&amp;");
  let out = "";
  if (bare === "" || /[\s()<>]/.test(bare)) {
    splitMarks(bare, known, (t) => (out += safe(t).replace(/[<>]/g, "\\$&")), (p) => (out += p.text));
    return `<${out}>`;
  }
  splitMarks(bare, known, (t) => (out += safe(t)), (p) => (out += p.text));
  return out;
}

function titled(title) {
  return title ? ` "${literal(title, (t) => t.replace(/["\\]/g, "\\$&").replace(/&(?=#?\w+;)/g, "&amp;"))}"` : "";
}
