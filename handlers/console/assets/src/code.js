// The editor of HTML: a textarea with its tags in colours, numbered lines and undo.
//
//	<label for="source">HTML</label>
//	<textarea id="source" name="source" data-code data-nonce="…"></textarea>
//
// data-nonce is that of the page's policy for styles, as the library makes a style element. The textarea is the truth, as
// with the editor of newsletters: what is written is put there within a moment, and before the form is sent, with the
// event "input"; whoever sets its value from a script dispatches "input". Tab leaves the text. textarea.editor has
// focus().
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, LRLanguage, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { parser as css } from "@lezer/css";
import { tags } from "@lezer/highlight";
import { configureNesting, parser as html } from "@lezer/html";
import { make, onContent } from "./console/page.js";

const nested = configureNesting([{ tag: "style", parser: css }], [{ name: "style", parser: css.configure({ top: "Styles" }) }]);
const language = LRLanguage.define({ parser: html.configure({ wrap: nested }) });

// Colours are those of editor.css.
const colors = HighlightStyle.define([
  { tag: [tags.tagName, tags.angleBracket, tags.keyword, tags.className], color: "var(--code-tag)" },
  { tag: [tags.attributeName, tags.propertyName], color: "var(--code-name)" },
  { tag: [tags.attributeValue, tags.string, tags.number, tags.unit, tags.color], color: "var(--code-value)" },
  { tag: [tags.comment, tags.documentMeta, tags.processingInstruction], color: "var(--code-comment)" },
]);

const looks = EditorView.theme({
  "&": { fontSize: "14px", color: "var(--editor-ink)", backgroundColor: "transparent" },
  "&.cm-focused": { outline: "none" },
  ".cm-content": { fontFamily: "var(--mono, ui-monospace, monospace)", padding: "16px 0", caretColor: "var(--editor-ink)" },
  ".cm-scroller": { lineHeight: "1.6", minHeight: "360px", maxHeight: "max(480px, 75vh)", overflow: "auto" },
  ".cm-gutters": {
    backgroundColor: "transparent", color: "var(--editor-soft)", border: "0", borderRight: "1px solid var(--editor-line)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--editor-active)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--editor-tint)", color: "inherit" },
});

class Code {
  constructor(textarea) {
    this.textarea = textarea;
    this.dom = make("div", { className: "editor-box editor-code" });
    textarea.before(this.dom);
    const label = textarea.labels?.[0];
    const about = { "aria-label": label?.textContent.trim() || textarea.getAttribute("aria-label") || "HTML" };
    if (textarea.getAttribute("aria-describedby")) about["aria-describedby"] = textarea.getAttribute("aria-describedby");
    this.view = new EditorView({
      parent: this.dom,
      state: EditorState.create({
        doc: textarea.value,
        extensions: [
          EditorView.cspNonce.of(textarea.dataset.nonce ?? ""),
          // An editable element takes the focus without tabindex, but not everyone who looks for a way in counts it.
          EditorView.contentAttributes.of({ ...about, spellcheck: "false", tabindex: "0" }),
          EditorView.lineWrapping,
          EditorView.updateListener.of((u) => u.docChanged && this.changed(u)),
          history(),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          lineNumbers(),
          highlightActiveLine(),
          bracketMatching(),
          language,
          syntaxHighlighting(colors),
          looks,
        ],
      }),
    });
    this.dom.append(textarea);
    textarea.hidden = true;
    label?.addEventListener("click", (event) => {
      event.preventDefault();
      this.focus();
    });
    textarea.addEventListener("input", () => this.take());
    textarea.form?.addEventListener("submit", () => this.flush(), true);
    textarea.form?.addEventListener("formdata", (event) => {
      this.flush();
      if (textarea.name && !textarea.disabled) event.formData.set(textarea.name, textarea.value);
    });
    addEventListener("pagehide", () => this.flush());
  }

  // changed has what was written put into the textarea in a moment.
  changed() {
    if (this.taking) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), 150);
  }

  flush() {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = 0;
    const text = this.view.state.doc.toString();
    if (text === this.textarea.value) return;
    this.textarea.value = text;
    this.textarea.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // take shows what a script has put into the textarea.
  take() {
    const now = this.view.state.doc.toString();
    const { value } = this.textarea;
    if (value === now) return;
    this.taking = true;
    this.view.dispatch({ changes: { from: 0, to: now.length, insert: value } });
    this.taking = false;
  }

  focus() {
    this.view.focus();
  }
}

onContent((root) => {
  for (const textarea of root.querySelectorAll("textarea[data-code]")) textarea.editor ??= new Code(textarea);
});
