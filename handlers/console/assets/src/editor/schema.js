// The document of the editor: what Markdown of newsletters can say, block by block.
import { Schema } from "prosemirror-model";

// orig is the number of the block of the source that a node was read from; see source.js.
const orig = { orig: { default: null } };

function block(spec) {
  return { group: "block", defining: true, ...spec, attrs: { ...orig, ...spec.attrs } };
}

const atom = { atom: true, selectable: true, draggable: true };

export const schema = new Schema({
  nodes: {
    doc: { content: "block+" },
    paragraph: block({ content: "inline*", defining: false, parseDOM: [{ tag: "p" }], toDOM: () => ["p", 0] }),
    heading: block({
      content: "(text | field | raw | picture)*",
      attrs: { level: { default: 2 } },
      parseDOM: [1, 2, 3, 4, 5, 6].map((level) => ({ tag: `h${level}`, attrs: { level } })),
      toDOM: (n) => [`h${n.attrs.level}`, 0],
    }),
    blockquote: block({ content: "block+", parseDOM: [{ tag: "blockquote" }], toDOM: () => ["blockquote", 0] }),
    bullet_list: block({
      content: "list_item+",
      attrs: { tight: { default: true }, marker: { default: "-" } },
      parseDOM: [{ tag: "ul" }],
      toDOM: () => ["ul", 0],
    }),
    ordered_list: block({
      content: "list_item+",
      attrs: { tight: { default: true }, marker: { default: "." }, order: { default: 1 } },
      parseDOM: [{ tag: "ol", getAttrs: (e) => ({ order: Number(e.getAttribute("start") ?? 1) || 1 }) }],
      toDOM: (n) => ["ol", n.attrs.order === 1 ? {} : { start: n.attrs.order }, 0],
    }),
    list_item: { content: "block+", defining: true, parseDOM: [{ tag: "li" }], toDOM: () => ["li", 0] },
    code_block: block({
      content: "text*",
      marks: "",
      code: true,
      attrs: { info: { default: "" } },
      parseDOM: [{ tag: "pre", preserveWhitespace: "full" }],
      toDOM: () => ["pre", ["code", 0]],
    }),
    divider: block({ ...atom, parseDOM: [{ tag: "hr" }], toDOM: () => ["hr"] }),
    button: block({
      content: "(text | field)*",
      marks: "strong em strike code",
      attrs: { href: { default: "" } },
      parseDOM: [{ tag: "p.editor-button", getAttrs: (e) => ({ href: e.dataset.href ?? "" }) }],
      toDOM: (n) => ["p", { class: "editor-button", "data-href": n.attrs.href }, ["span", 0]],
    }),
    figure: block({
      ...atom,
      attrs: {
        src: { default: "" },
        alt: { default: "" },
        title: { default: "" },
        width: { default: 0 },
        href: { default: "" },
        pending: { default: "" }, // a picture that is on its way to the server, or has to be dropped; see savedSrc
      },
      parseDOM: [
        {
          tag: "img",
          getAttrs: (e) => ({
            src: e.getAttribute("src") ?? "",
            alt: e.getAttribute("alt") ?? "",
            title: e.getAttribute("title") ?? "",
            width: Number(e.dataset.width) || 0,
            href: e.dataset.href ?? "",
            pending: e.dataset.pending ?? "",
          }),
        },
      ],
      toDOM: (n) => [
        "img",
        {
          src: n.attrs.src,
          alt: n.attrs.alt,
          title: n.attrs.title,
          "data-width": n.attrs.width,
          "data-href": n.attrs.href,
          "data-pending": n.attrs.pending,
        },
      ],
    }),
    callout: block({
      content: "block+",
      attrs: { kind: { default: "note" } },
      parseDOM: [{ tag: "div.editor-callout", getAttrs: (e) => ({ kind: e.dataset.kind ?? "note" }) }],
      toDOM: (n) => ["div", { class: "editor-callout", "data-kind": n.attrs.kind }, 0],
    }),
    columns: block({
      content: "column{2,3}",
      isolating: true,
      parseDOM: [{ tag: "div.editor-columns" }],
      toDOM: () => ["div", { class: "editor-columns" }, 0],
    }),
    column: {
      content: "block+",
      attrs: orig,
      isolating: true,
      parseDOM: [{ tag: "div.editor-column" }],
      toDOM: () => ["div", { class: "editor-column" }, 0],
    },
    // What the editor doesn't know: it stays as it was written.
    locked: block({
      ...atom,
      attrs: { source: { default: "" }, json: { default: false } }, // json: it is a block of JSON
      parseDOM: [
        {
          tag: "pre.editor-locked",
          priority: 60,
          getAttrs: (e) => ({ source: e.textContent, json: e.dataset.json === "true" }),
        },
      ],
      toDOM: (n) => ["pre", { class: "editor-locked", "data-json": String(n.attrs.json) }, n.attrs.source],
    }),

    // What a subject or a plain text is edited as; no part of a text of blocks.
    lines: { content: "(text | field)*", whitespace: "pre", marks: "", toDOM: () => ["div", 0] },
    text: { group: "inline" },
    hard_break: {
      group: "inline",
      inline: true,
      selectable: false,
      parseDOM: [{ tag: "br" }],
      toDOM: () => ["br"],
    },
    // A placeholder or a tag of the template language.
    field: {
      group: "inline",
      inline: true,
      ...atom,
      attrs: { source: {} },
      parseDOM: [{ tag: "span.editor-field", getAttrs: (e) => ({ source: e.dataset.source }) }],
      toDOM: (n) => ["span", { class: "editor-field", "data-source": n.attrs.source }, n.attrs.source],
    },
    picture: {
      group: "inline",
      inline: true,
      ...atom,
      attrs: { src: { default: "" }, alt: { default: "" }, title: { default: "" }, width: { default: 0 } },
      toDOM: (n) => ["span", { class: "editor-raw" }, n.attrs.alt || "…"],
    },
    // A piece of a line that the editor doesn't know.
    raw: {
      group: "inline",
      inline: true,
      ...atom,
      attrs: { source: {} },
      parseDOM: [{ tag: "code.editor-raw", priority: 60, getAttrs: (e) => ({ source: e.textContent }) }],
      toDOM: (n) => ["code", { class: "editor-raw" }, n.attrs.source],
    },
  },
  marks: {
    link: {
      attrs: { href: {}, title: { default: "" }, auto: { default: false } },
      inclusive: false,
      parseDOM: [
        { tag: "a[href]", getAttrs: (e) => ({ href: e.getAttribute("href"), title: e.getAttribute("title") ?? "" }) },
      ],
      toDOM: (m) => ["a", { href: m.attrs.href, title: m.attrs.title || null, rel: "nofollow" }, 0],
    },
    strong: { parseDOM: [{ tag: "strong" }, { tag: "b" }], toDOM: () => ["strong", 0] },
    em: { parseDOM: [{ tag: "em" }, { tag: "i" }], toDOM: () => ["em", 0] },
    strike: { parseDOM: [{ tag: "s" }, { tag: "del" }, { tag: "strike" }], toDOM: () => ["del", 0] },
    code: { parseDOM: [{ tag: "code" }], toDOM: () => ["code", 0] },
    // A blank that is the end of a line in the source.
    soft: { inclusive: false, excludes: "", toDOM: () => ["span", { class: "editor-soft" }, 0] },
  },
});
