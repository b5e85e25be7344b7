// Markdown as the renderer of mails reads it: CommonMark, strikethrough, tables, bare addresses, attributes after links
// and pictures, containers.
import MarkdownIt from "markdown-it";

export const callouts = ["note", "tip", "warning"];

// The preset of CommonMark has no tables and no strikethrough.
const markdown = new MarkdownIt("commonmark", { html: true }).enable(["table", "strikethrough"]);
// Addresses stay as they are written.
markdown.normalizeLink = (s) => s;
markdown.normalizeLinkText = (s) => s;
markdown.validateLink = () => true;

// parse returns the tokens of a source, whose maps are of its lines.
export function parse(source) {
  return markdown.parse(source, {});
}

// fenceName returns what follows three or more colons at the start of a line; null: there are none.
export function fenceName(line) {
  const found = /^(:{3,})(.*)$/.exec(line.trimEnd());
  return found && found[2].replace(/^[\s{.}:]+|[\s{.}:]+$/g, "").toLowerCase();
}

function lineOf(state, n) {
  return state.src.slice(state.bMarks[n] + state.tShift[n], state.eMarks[n]);
}

// endOfContainer returns the line of colons that ends a container, or the line after all. Those within other containers
// and within code are not meant.
function endOfContainer(state, from, to) {
  let depth = 0;
  let code = null; // what a fence of code is made of
  for (let n = from; n < to; n++) {
    if (!state.isEmpty(n) && state.sCount[n] < state.blkIndent) return n;
    const line = lineOf(state, n);
    const fence = /^(`{3,}|~{3,})(.*)$/.exec(line);
    if (code) {
      if (fence && fence[1].startsWith(code) && !fence[2].trim()) code = null;
      continue;
    }
    if (fence && !(fence[1][0] === "`" && fence[2].includes("`"))) {
      code = fence[1];
      continue;
    }
    const name = fenceName(line);
    if (name === null || /\s/.test(name)) continue;
    if (name) depth++;
    else if (depth-- === 0) return n;
  }
  return to;
}

markdown.block.ruler.before(
  "fence",
  "container",
  (state, startLine, endLine, silent) => {
    if (state.sCount[startLine] - state.blkIndent >= 4) return false;
    const name = fenceName(lineOf(state, startLine));
    if (!name || /\s/.test(name)) return false;
    if (silent) return true;
    const end = endOfContainer(state, startLine + 1, endLine);
    const closed = end < endLine && fenceName(lineOf(state, end)) === "" && state.sCount[end] >= state.blkIndent;
    const opening = state.push("container_open", "div", 1);
    opening.info = name;
    opening.map = [startLine, closed ? end + 1 : end];
    opening.meta = { closed };
    const { parentType, lineMax } = state;
    state.parentType = "container";
    state.lineMax = end;
    state.md.block.tokenize(state, startLine + 1, end);
    state.parentType = parentType;
    state.lineMax = lineMax;
    state.push("container_close", "div", -1);
    state.line = closed ? end + 1 : end;
    return true;
  },
  { alt: ["paragraph", "reference", "blockquote", "list"] },
);

// Attributes after a link or a picture: {.button} and {width=300}. Others are kept as unknown.
const attributes = /^\{\s*((?:(?:[.#][\w-]+|[a-zA-Z_:][\w:.-]*=(?:"[^"]*"|'[^']*'|[^\s{}"']+))[\s,]*)+)\}/;

markdown.inline.ruler.before("emphasis", "attributes", (state, silent) => {
  if (state.src[state.pos] !== "{") return false;
  const last = state.tokens.at(-1);
  if (state.pending || !last || (last.type !== "link_close" && last.type !== "image")) return false;
  const found = attributes.exec(state.src.slice(state.pos));
  if (!found) return false;
  if (!silent) {
    const token = state.push("attributes", "", 0);
    token.content = found[1].trim();
  }
  state.pos += found[0].length;
  return true;
});

// A bare address is text, whatever signs are in it.
const bare = /^:\/\/[-a-zA-Z0-9@:%._+~#=\uFDE0-\uFDE9]{1,256}(?:[/#?][^\s<]*)?/;
const scheme = /(?:^|[^\p{L}\p{N}])(?:https?|ftp)$/u;

markdown.inline.ruler.before("emphasis", "bare", (state, silent) => {
  if (state.src[state.pos] !== ":" || !scheme.test(state.pending) || state.linkLevel > 0) return false;
  const found = bare.exec(state.src.slice(state.pos));
  if (!found) return false;
  // The full stop of a sentence, a closing bracket and signs of emphasis at the end are not the address's.
  const text = found[0].replace(/[?!.,:*_~'")\]]+$/, "");
  if (!silent) state.pending += text;
  state.pos += text.length;
  return true;
});
