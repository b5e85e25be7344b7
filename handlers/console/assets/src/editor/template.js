// Placeholders and tags of the template language. They are replaced by marks before Markdown is read, as the renderer
// does it, so that nothing in them is taken for markup.

// A mark is made of noncharacters, which no text holds: the first, the number in octal digits, the last.
const open = "\uFDE0";
const close = "\uFDE1";
const digit = 0xfde2;
const marks = /\uFDE0([\uFDE2-\uFDE9]+)\uFDE1/g;
const reserved = /[\uFDD0-\uFDEF]/g;

export class TemplateError extends Error {}

// placeholders returns the placeholders of a source: {from, to, kind, text}. kind is output, tag, raw or comment.
export function placeholders(source) {
  const out = [];
  for (let at = 0; ; ) {
    const from = nextOpen(source, at);
    if (from < 0) return out;
    let to = closing(source, from);
    let kind = source[from + 1] === "%" ? "tag" : "output";
    const name = source.slice(from + 2, to - 2).replace(/^[\s-]+|[\s-]+$/g, "");
    if (kind === "tag" && (name === "raw" || name === "comment")) {
      kind = name;
      to = endOf(source, to, "end" + name);
    }
    out.push({ from, to, kind, text: source.slice(from, to) });
    at = to;
  }
}

function nextOpen(source, at) {
  for (let n = at; ; n++) {
    n = source.indexOf("{", n);
    if (n < 0 || n + 1 >= source.length) return -1;
    if (source[n + 1] === "{" || source[n + 1] === "%") return n;
  }
}

// closing returns the end of the braces that open at a place. Quoted texts may hold closing ones.
function closing(source, from) {
  const end = source[from + 1] === "%" ? "%}" : "}}";
  let quote = "";
  for (let n = from + 2; n < source.length; n++) {
    const c = source[n];
    if (quote) {
      if (c === quote) quote = "";
    } else if (c === '"' || c === "'") {
      quote = c;
    } else if (source.startsWith(end, n)) {
      return n + 2;
    }
  }
  throw new TemplateError(source.slice(from, from + 30));
}

function endOf(source, at, name) {
  const found = new RegExp(`\\{%[\\s-]*${name}[\\s-]*%\\}`, "g");
  found.lastIndex = at;
  if (!found.exec(source)) throw new TemplateError(name);
  return found.lastIndex;
}

// hide returns a source with marks for its placeholders. known are the placeholders of marks, and grows.
export function hide(source, known) {
  let out = "";
  let at = 0;
  for (const p of placeholders(source)) {
    out += source.slice(at, p.from).replace(reserved, "") + mark(known.length);
    known.push(p);
    at = p.to;
  }
  return out + source.slice(at).replace(reserved, "");
}

function mark(n) {
  return open + [...n.toString(8)].map((d) => String.fromCharCode(digit + Number(d))).join("") + close;
}

// split calls text for what stands between marks, and placeholder for each mark.
export function split(s, known, text, placeholder) {
  let at = 0;
  for (const m of s.matchAll(marks)) {
    if (m.index > at) text(s.slice(at, m.index));
    placeholder(known[parseInt([...m[1]].map((d) => d.charCodeAt(0) - digit).join(""), 8)]);
    at = m.index + m[0].length;
  }
  if (at < s.length) text(s.slice(at));
}

// show puts placeholders back.
export function show(s, known) {
  let out = "";
  split(s, known, (t) => (out += t), (p) => (out += p.text));
  return out;
}

// onlyTags reports whether a text is made of tags and white space alone.
export function onlyTags(s, known) {
  let found = false;
  let only = true;
  split(s, known, (t) => (only &&= !t.trim()), (p) => {
    found = true;
    only &&= p.kind !== "output" && p.kind !== "raw";
  });
  return found && only;
}

// describe returns what a chip says of a placeholder: {name, fallback, tag}.
export function describe(source) {
  const inner = source.slice(2, -2).replace(/^[\s-]+|[\s-]+$/g, "");
  if (source[1] === "%") return { name: source.length > 60 ? inner.slice(0, 40) + "…" : inner, fallback: "", tag: true };
  const [path, ...filters] = inner.split("|").map((s) => s.trim());
  const fallback = /^default:\s*(?:"([^"]*)"|'([^']*)')$/.exec(filters[0] ?? "");
  if (filters.length > (fallback ? 1 : 0)) return { name: inner, fallback: "", tag: false };
  return { name: path.replace(/^preferences\./, ""), fallback: fallback?.[1] ?? fallback?.[2] ?? "", tag: false };
}

// field returns the placeholder of a field, with what is shown to those of whom it isn't known.
export function field(name, fallback) {
  const quote = fallback.includes('"') ? "'" : '"';
  return fallback ? `{{ ${name} | default: ${quote}${fallback.replaceAll(quote, "")}${quote} }}` : `{{ ${name} }}`;
}

// isPoll is true for the name of a poll of the campaign, which has no fallback. A subject can't contain it.
export const isPoll = (name) => name.startsWith("poll.");
