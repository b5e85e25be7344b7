// What is pasted, as the editor understands it. Programs put looks into style attributes, which the policy of the page
// drops as soon as a browser reads them: they are renamed in the text first, and tags are made of them.
import { DOMParser as Reader } from "prosemirror-model";
import { schema } from "./schema.js";
import { writeBlocks } from "./write.js";

// renamed returns HTML without styles and handlers of events: attributes become data-style and so on, style elements go.
function renamed(html) {
  return html
    .replace(/<style\b[\s\S]*?(?:<\/style\s*>|$)/gi, "")
    .replace(/<!--\[if[^\]]*(?:mso|vml)[^\]]*\]>[\s\S]*?<!\[endif\]-->/gi, "")
    .replace(/<[a-z][^\s>/]*(?:"[^"]*"|'[^']*'|[^"'>])*>/gi, (tag) =>
      tag.replace(/("[^"]*"|'[^']*')|([\s/])(style|on\w+)(?=\s*=)/gi, (all, quoted, before, name) =>
        quoted ? quoted + " " : `${before}data-${name}`,
      ),
    );
}

const dropped = "script, style, meta, link, title, base, xml, svg, math, iframe, object, embed, video, audio, canvas, " +
  "button, input, select, textarea, template, noscript, colgroup, caption, img[width='1'][height='1']";
const blocks = "p, div, h1, h2, h3, h4, h5, h6, ul, ol, li, table, blockquote, pre, hr";

// clean returns HTML with tags that the editor knows. picture returns what a picture of an address is pending as, ""
// where it can be loaded, or null where it is left out; it also gets which one it is, and the addresses of all.
export function clean(html, picture) {
  const page = new DOMParser().parseFromString(renamed(html), "text/html");
  const body = page.body;
  if (body.querySelector("[data-pm-slice]")) return body.innerHTML; // of an editor like this
  for (const e of body.querySelectorAll(dropped)) e.remove();
  unwrapAll(body, "o\\:p, font, center");
  for (const e of body.querySelectorAll("[data-style*='mso-hide'], [data-style*='display:none']")) e.remove();
  wordLists(body);
  looks(body);
  links(body);
  pictures(body, picture);
  tables(body);
  paragraphs(body);
  strip(body);
  return body.innerHTML;
}

function unwrap(e) {
  e.replaceWith(...e.childNodes);
}

function unwrapAll(body, selector) {
  for (const e of body.querySelectorAll(selector)) unwrap(e);
}

// styleOf returns a property of an element's style, in lower case.
function styleOf(e, name) {
  const found = new RegExp(`(?:^|;)\\s*${name}\\s*:\\s*([^;]*)`, "i").exec(e.dataset.style ?? "");
  return found ? found[1].trim().toLowerCase() : "";
}

// looks makes tags of bold, italic and struck text, and takes tags away that a style takes back.
function looks(body) {
  for (const e of body.querySelectorAll("b, strong")) {
    if (/^(?:normal|[1-4]00)$/.test(styleOf(e, "font-weight"))) unwrap(e); // all that Google Docs copies stands in one
  }
  for (const e of body.querySelectorAll("i, em")) {
    if (styleOf(e, "font-style") === "normal") unwrap(e);
  }
  for (const e of body.querySelectorAll("[data-style]")) {
    const title = e.closest("h1, h2, h3, h4, h5, h6");
    const weight = styleOf(e, "font-weight");
    const wraps = [];
    if (/^(?:bold|bolder|[6-9]00)$/.test(weight) && !title && !e.closest("b, strong, th")) wraps.push("strong");
    if (/^(?:italic|oblique)/.test(styleOf(e, "font-style")) && !e.closest("i, em")) wraps.push("em");
    const line = styleOf(e, "text-decoration") + styleOf(e, "text-decoration-line");
    if (/line-through/.test(line) && !e.closest("s, del, strike")) wraps.push("s");
    if (e.querySelector(blocks)) continue;
    for (const tag of wraps) {
      const inner = e.ownerDocument.createElement(tag);
      inner.append(...e.childNodes);
      e.append(inner);
    }
  }
  for (const e of body.querySelectorAll("p.MsoTitle")) rename(e, "h1");
}

function rename(e, tag) {
  const other = e.ownerDocument.createElement(tag);
  other.append(...e.childNodes);
  e.replaceWith(other);
  return other;
}

// wordLists makes lists of the paragraphs that Word writes for them: each has its level in a style, and its sign as text.
function wordLists(body) {
  let open = []; // {list, level}
  let last = null;
  for (const p of body.querySelectorAll("p, h1, h2, h3, h4, h5, h6, table, ul, ol")) {
    const level = Number(/mso-list:\s*l\d+\s+level(\d+)/i.exec(p.dataset.style ?? "")?.[1] ?? 0);
    if (!level || p.tagName !== "P") {
      if (!open[0]?.list.contains(p)) open = [];
      continue;
    }
    const sign = [...p.querySelectorAll("[data-style]")].find((e) => /mso-list:\s*ignore/i.test(e.dataset.style));
    const ordered = /^\s*(?:\d+|[a-z]|[ivxlc]+)[.)]/i.test(sign?.textContent ?? "");
    sign?.remove();
    if (open.length && between(last, p)) open = [];
    while (open.length && open.at(-1).level > level) open.pop();
    if (!open.length || open.at(-1).level < level) {
      const list = p.ownerDocument.createElement(ordered ? "ol" : "ul");
      const item = open.at(-1)?.list.lastElementChild;
      if (item) item.append(list);
      else p.before(list);
      open.push({ list, level });
    }
    const item = p.ownerDocument.createElement("li");
    open.at(-1).list.append(item);
    item.append(...p.childNodes);
    last = open[0].list;
    p.remove();
  }
}

// between reports whether text stands between a list and a paragraph after it.
function between(list, p) {
  for (let e = list?.nextSibling; e && e !== p; e = e.nextSibling) {
    if (e.nodeType !== Node.COMMENT_NODE && e.textContent.trim()) return true;
  }
  return false;
}

// links keeps those that lead somewhere, without the services that programs put in between.
function links(body) {
  for (const a of body.querySelectorAll("a")) {
    let href = a.getAttribute("href") ?? "";
    try {
      const url = new URL(href);
      const inner = url.searchParams.get(url.hostname.endsWith(".safelinks.protection.outlook.com") ? "url" : "q");
      const redirects = url.hostname.endsWith(".safelinks.protection.outlook.com") ||
        (url.hostname.endsWith("google.com") && url.pathname === "/url");
      if (redirects && inner) href = inner;
    } catch {
      href = "";
    }
    if (/^(?:https?|mailto|tel):/i.test(href) && a.textContent.trim()) a.setAttribute("href", href);
    else unwrap(a);
  }
}

function pictures(body, picture) {
  const all = [...body.querySelectorAll("img")];
  const addresses = all.map((img) => img.getAttribute("src") ?? "");
  for (const [i, img] of all.entries()) {
    const pending = picture(addresses[i], i, addresses);
    const width = widthOf(img);
    if (width) img.dataset.width = width;
    if (pending === null) {
      img.remove();
    } else if (pending) {
      img.removeAttribute("src");
      img.dataset.pending = pending;
    }
    const link = img.closest("a[href]");
    if (link) {
      img.dataset.href = link.getAttribute("href");
      link.replaceWith(img);
    }
    // A picture is a block of its own.
    const around = img.closest("p");
    if (around && !around.textContent.trim() && around.querySelectorAll("img").length === 1) around.replaceWith(img);
  }
}

// widthOf returns how many pixels wide a picture is meant to be; 0: nothing says so.
function widthOf(img) {
  const found = /^(\d+(?:\.\d+)?)(px|pt|)$/.exec(styleOf(img, "width") || (img.getAttribute("width") ?? "").trim());
  const width = found ? Math.round(Number(found[1]) * (found[2] === "pt" ? 4 / 3 : 1)) : 0;
  return width <= 2000 ? width : 0;
}

// tables become Markdown, as it stands in a locked block; those that only lay out a page become what is in them.
function tables(body) {
  for (const table of [...body.querySelectorAll("table")].reverse()) {
    const rows = [...table.rows].map((r) => [...r.cells]);
    const wide = Math.max(0, ...rows.map((r) => r.length));
    const layout = wide < 2 || rows.length < 2 || table.querySelector("table, img, ul, ol, h1, h2, h3, hr, pre");
    if (layout) {
      const parts = rows.flat().map((c) => rename(c, "div"));
      table.replaceWith(...parts);
      continue;
    }
    const text = rows
      .filter((r) => r.some((c) => c.textContent.trim()))
      .map((r) => `| ${Array.from({ length: wide }, (_, i) => cell(r[i])).join(" | ")} |`);
    text.splice(1, 0, "|" + Array.from({ length: wide }, (_, i) => aligned(rows, i)).join("|") + "|");
    const pre = table.ownerDocument.createElement("pre");
    pre.className = "editor-locked";
    pre.textContent = text.join("\n");
    table.replaceWith(pre);
  }
}

function cell(c) {
  if (!c) return "";
  paragraphs(c);
  const doc = Reader.fromSchema(schema).parse(c);
  return writeBlocks(doc).replace(/\\?\n+/g, " ").replace(/\|/g, "\\|").replace(/^#+ /, "").trim();
}

// aligned returns the rule of a column: to the right where its cells are, or where they are numbers.
function aligned(rows, i) {
  const cells = rows.slice(1).map((r) => r[i]).filter((c) => c?.textContent.trim());
  const right = (c) => c.align === "right" || styleOf(c, "text-align") === "right" || c.hasAttribute("x:num") ||
    /^[-+−]?[\d.,\s]+(?:%|€|\$)?$/.test(c.textContent.trim());
  return cells.length && cells.every(right) ? "--:" : ":--";
}

// paragraphs drops empty ones, parts those with an empty line in them, and takes the blanks of typesetting away.
function paragraphs(body) {
  const texts = body.ownerDocument.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  for (let t = texts.nextNode(); t; t = texts.nextNode()) {
    if (!t.parentElement.closest("pre")) t.data = t.data.replace(/\u00a0/g, " ").replace(/[\u200b\ufeff]/g, "");
  }
  for (const e of body.querySelectorAll("p, div, li")) {
    const brs = [...e.children].filter((c) => c.tagName === "BR");
    for (const br of brs) {
      let next = br.nextSibling;
      while (next && next.nodeType === Node.TEXT_NODE && !next.data.trim()) next = next.nextSibling;
      if (next?.tagName !== "BR" || !/^(?:P|DIV)$/.test(e.tagName)) continue;
      const rest = e.cloneNode(false);
      while (next.nextSibling) rest.append(next.nextSibling);
      next.remove();
      br.remove();
      e.after(rest);
      break;
    }
  }
  for (const e of body.querySelectorAll("p, div, h1, h2, h3, h4, h5, h6, span, b, strong, i, em, s")) {
    if (!e.textContent.trim() && !e.querySelector("img, hr, br") && !e.closest("pre")) {
      if (/\s/.test(e.textContent) && !/^(?:P|DIV|H\d)$/.test(e.tagName)) e.replaceWith(" ");
      else e.remove();
    }
  }
  for (const e of body.querySelectorAll("p, div")) {
    if (!e.textContent.trim() && !e.querySelector("img, hr, pre")) e.remove();
  }
}

const kept = ["href", "src", "alt", "title", "start", "data-pending", "data-href", "data-width"];

function strip(body) {
  for (const e of body.querySelectorAll("*")) {
    for (const { name } of [...e.attributes]) {
      if (kept.includes(name) || (name === "class" && e.className === "editor-locked")) continue;
      e.removeAttribute(name);
    }
  }
  const comments = body.ownerDocument.createTreeWalker(body, NodeFilter.SHOW_COMMENT);
  const found = [];
  while (comments.nextNode()) found.push(comments.currentNode);
  for (const c of found) c.remove();
}
