// The editor of newsletters: a textarea with Markdown, and the same as it will look, for those who don't write Markdown.
//
//	<label for="source">Text</label>
//	<textarea id="source" name="source" data-editor
//	  data-upload="/console/media/upload"        pictures are sent there, by POST with the field "file"; the answer is
//	                                             JSON: {"url": …}, and "alt" if it is known
//	  data-most="10485760"                       bytes that a picture may have there
//	  data-too-many="The image is too large …"   what is said of one that has more
//	  data-library="/console/pictures"           pictures that are there already: JSON, [{"url", "name", "alt"}]
//	  data-pictures="https://media.example.org"  origins, parted by blanks, whose pictures the policy of the page lets it
//	                                             show; its own needs no mention
//	  data-fields='[{"name": "preferences.first_name", "label": "First name", "fallback": "friend"}]'
//	  data-looks='{"light": {"accent": "#2457d6", "on": "#ffffff", "tint": "#eeeeff", "text": "#1c1c22"},
//	    "dark": {…}, "radius": 8}'
//	                                             colours of buttons and boxes in the mail
//	  data-kind="blocks"                         the source is JSON of blocks (see editor/blocks.js), not Markdown
//	  data-compare="/console/compare"            is asked, by POST, whether two sources ({"kind", "before", "after"})
//	                                             become the same mail; the answer is JSON: {"same": true}
//	  data-hint="source-hint"                    what explains the plain source: hidden while that isn't shown
//	></textarea>
//
// The textarea is the truth: it is what the form sends, and what stands there without a script. What is written in the
// editor is put there within a moment, and before the form is sent; the textarea then gets the event "input", so a
// preview is fetched by hx-trigger="input changed delay:500ms". Whoever sets its value from a script dispatches "input",
// and the editor shows it. Blocks that nobody changed keep their octets (see editor/source.js). A source of which the
// editor would make another mail is edited as source (see prove).
//
// A line such as the subject shows the same fields: <input data-fields-line="source"> (see editor/line.js).
//
// The page loads editor.css. <script type="application/json" id="editor-words"> may hold words (editor/words.js has their
// names); English and German are here. textarea.editor has markdown(), which returns the text as it stands, show("source")
// and show("visual"), focus(), and settled, a promise that is kept once the server was asked.
import { baseKeymap, chainCommands, exitCode } from "prosemirror-commands";
import { dropCursor } from "prosemirror-dropcursor";
import { gapCursor } from "prosemirror-gapcursor";
import { closeHistory, history, redo, undo } from "prosemirror-history";
import { InputRule, inputRules, textblockTypeInputRule, wrappingInputRule } from "prosemirror-inputrules";
import { keymap } from "prosemirror-keymap";
import { liftListItem, sinkListItem, splitListItem } from "prosemirror-schema-list";
import { EditorState, NodeSelection, Plugin, TextSelection } from "prosemirror-state";
import { EditorView } from "prosemirror-view";
import { make, onContent } from "./console/page.js";
import * as act from "./editor/actions.js";
import { BlocksError, BlockSource } from "./editor/blocks.js";
import { dropEmptyColumn, dropText, stayInColumn } from "./editor/columns.js";
import { sameMail } from "./editor/compare.js";
import { clean } from "./editor/paste.js";
import { pictureOf, rtfPictures } from "./editor/rtf.js";
import { Line } from "./editor/line.js";
import { fileOf, isPicture, Pictures } from "./editor/pictures.js";
import { schema } from "./editor/schema.js";
import { Source } from "./editor/source.js";
import { isPoll, TemplateError } from "./editor/template.js";
import { Toolbar } from "./editor/toolbar.js";
import { views } from "./editor/views.js";
import { askVideo, isVideo } from "./editor/video.js";
import { word } from "./editor/words.js";

const n = schema.nodes;
const m = schema.marks;
const remembered = "console.editor.shows";

class Editor {
  constructor(textarea) {
    this.textarea = textarea;
    this.kind = textarea.dataset.kind ?? "markdown";
    this.fields = fieldsOf(textarea);
    this.status = make("p", { className: "editor-status" });
    this.status.setAttribute("role", "status");
    this.said = make("span");
    this.offer = make("span");
    this.status.append(this.said, this.offer);
    const hosts = (textarea.dataset.pictures ?? "").split(/\s+/).filter(Boolean);
    this.pictures = new Pictures(textarea.dataset, (text) => this.say(text), hosts);
    this.pictures.library = textarea.dataset.library;
    this.surface = make("div", { className: "editor-surface" });
    this.toolbar = new Toolbar(this);
    this.dom = make("div", { className: "editor-box" }, this.toolbar.dom, this.surface);
    this.wear(textarea.dataset.looks);
    textarea.before(this.dom);
    this.dom.append(textarea, this.status);
    this.label = textarea.labels?.[0];
    this.label?.addEventListener("click", (event) => {
      if (textarea.hidden) {
        event.preventDefault();
        this.view.focus();
      }
    });
    textarea.addEventListener("input", () => {
      if (!this.writing && !textarea.hidden) return;
      if (!this.writing && textarea.value !== this.written) this.show("visual", false);
    });
    const flush = () => this.flush();
    textarea.form?.addEventListener("submit", (event) => this.submits(event), true);
    textarea.form?.addEventListener("formdata", (event) => {
      this.flush();
      if (textarea.name && !textarea.disabled) event.formData.set(textarea.name, textarea.value);
    });
    addEventListener("pagehide", flush);
    let shows = "visual";
    try {
      shows = localStorage.getItem(remembered) ?? shows;
    } catch {
      // there is no storage: nothing is remembered
    }
    this.show(shows, false);
  }

  // wear has buttons and boxes look as in the mail: looks is JSON, {"light": {"accent", "on", "tint", "text"}, "dark": …,
  // "radius"}.
  wear(looks) {
    if (!looks) return;
    const { light, dark, radius } = JSON.parse(looks);
    for (const [end, colors] of [["", light], ["-dark", dark]]) {
      for (const name of ["accent", "on", "tint", "text"]) this.dom.style.setProperty(`--mail-${name}${end}`, colors[name]);
    }
    this.dom.style.setProperty("--mail-radius", `${radius}px`);
  }

  // submits has a form wait for the pictures that are on their way: leaving the page would end them.
  submits(event) {
    if (!this.pictures.underWay.size) return this.flush();
    event.preventDefault();
    event.stopImmediatePropagation();
    const { target: form, submitter } = event;
    this.say(word("picture.sending"));
    this.pictures.settled().then(() => form.requestSubmit(submitter));
  }

  // load shows what stands in the textarea, and reports whether it can.
  load() {
    clearTimeout(this.timer);
    this.timer = 0;
    try {
      const Kind = this.kind === "blocks" ? BlockSource : Source;
      this.source = new Kind(this.textarea.value);
    } catch (why) {
      if (!(why instanceof TemplateError || why instanceof BlocksError)) throw why;
      this.say(word(why instanceof BlocksError ? "blocks.bad" : "source.bad", { text: why.message }));
      return false;
    }
    this.written = this.textarea.value;
    const state = EditorState.create({ doc: this.source.doc, plugins: plugins(this) });
    if (this.view) this.view.updateState(state);
    else this.view = this.makeView(state);
    this.toolbar.update(state);
    return true;
  }

  makeView(state) {
    const labels = new Map(this.fields.map((f) => [f.name, f.label ?? f.name]));
    const view = new EditorView(this.surface, {
      state,
      nodeViews: views(this.pictures, labels),
      attributes: {
        role: "textbox",
        "aria-multiline": "true",
        "aria-label": this.label?.textContent.trim() || this.textarea.getAttribute("aria-label") || word("text"),
        class: "editor-text",
        ...(this.textarea.lang ? { lang: this.textarea.lang } : {}),
      },
      dispatchTransaction: (tr) => {
        view.updateState(view.state.apply(tr));
        if (tr.docChanged) {
          clearTimeout(this.timer);
          this.timer = setTimeout(() => this.flush(), 150);
        }
        if (tr.docChanged && !tr.getMeta("paste") && tr.getMeta("addToHistory") !== false) {
          this.offer.replaceChildren();
        }
        this.toolbar.update(view.state);
      },
      handleDOMEvents: {
        dblclick: (v) =>
          v.state.selection.node?.type === n.field && act.askField(this.fields)(v.state, v.dispatch, v),
        paste: (v, event) => {
          const data = event.clipboardData;
          const local = /\bfile:/i.test(data?.getData("text/html") ?? "");
          this.ofRTF = local ? rtfPictures(data.getData("text/rtf")) : [];
          return false;
        },
      },
      handlePaste: (v, event) => this.pastes(event),
      handleDrop: (v, event, slice, moved) => !moved && this.drops(event),
      transformPastedHTML: (html) => clean(html, (src, n, all) => this.pendingOf(src, n, all)),
    });
    return view;
  }

  markdown(anew) {
    return this.textarea.hidden ? this.source.write(this.view.state.doc, anew) : this.textarea.value;
  }

  // flush writes what has changed into the textarea.
  flush() {
    if (!this.timer || !this.textarea.hidden) return;
    clearTimeout(this.timer);
    this.timer = 0;
    const text = this.markdown();
    if (text === this.textarea.value) return;
    this.textarea.value = this.written = text;
    this.writing = true;
    this.textarea.dispatchEvent(new Event("input", { bubbles: true }));
    this.writing = false;
  }

  show(what, focus = true) {
    this.turn = {};
    this.settled = Promise.resolve();
    if (what !== "visual") {
      if (this.view) this.flush();
      return this.reveal(false, focus);
    }
    this.say("");
    if (!this.load()) return this.reveal(false, focus);
    const { text, doc } = this.source;
    const again = this.source.write(doc, true);
    const asks = this.textarea.dataset.compare && again !== text;
    this.reveal(!asks, focus);
    if (asks) this.settled = this.prove(text, again, focus);
  }

  // prove has the server compare the mail of a text with that of what would be written of all its blocks, and shows the
  // text as it will look where they are the same. Where there is no answer it does, too: blocks that nobody changes keep
  // their octets.
  async prove(text, again, focus) {
    const { turn } = this;
    const same = await sameMail(this.textarea.dataset.compare, this.kind, text, again);
    if (turn !== this.turn || this.textarea.value !== text) return;
    if (same === false) this.say(word(this.kind === "blocks" ? "blocks.refused" : "visual.refused"));
    else this.reveal(true, focus);
  }

  // reveal shows the text as it will look, or its source.
  reveal(visual, focus) {
    this.textarea.hidden = visual;
    const hint = document.getElementById(this.textarea.dataset.hint);
    if (hint) hint.hidden = visual;
    this.surface.hidden = !visual;
    this.toolbar.update(visual ? this.view.state : null);
    if (focus) this.focus();
  }

  toggle() {
    const what = this.textarea.hidden ? "source" : "visual";
    this.show(what);
    try {
      localStorage.setItem(remembered, what);
    } catch {
      // there is no storage
    }
  }

  focus() {
    if (this.textarea.hidden) this.view.focus();
    else this.textarea.focus();
  }

  say(text) {
    this.said.textContent = text;
  }

  // pendingOf returns what a pasted picture is pending as: the nth of all.
  pendingOf(src, n, all) {
    if (/^data:/i.test(src)) {
      const file = this.pictures.canSend && fileOf(src);
      return file ? this.pictures.send(file, this.view) : null;
    }
    if (/^https?:/i.test(src)) return "";
    const file = this.pictures.canSend && pictureOf(this.ofRTF ?? [], n, all);
    return file ? this.pictures.send(file, this.view) : "drop";
  }

  pastes(event) {
    const data = event.clipboardData;
    if (!data) return false;
    const html = data.getData("text/html");
    const plain = data.getData("text/plain");
    const files = [...data.files].filter(isPicture);
    // Word and Excel put a picture of the text next to the text.
    if (files.length && (!html || /^\s*(?:<meta[^>]*>\s*)*<img\b[^>]*>\s*$/i.test(html.replace(/<\/?(?:html|body)>/gi, "")))) {
      return this.send(files);
    }
    if (isVideo(plain) && this.pictures.canSend) setTimeout(() => this.offerVideo(plain.trim()));
    else if (html && plain && !/data-pm-slice/.test(html)) setTimeout(() => this.offerPlain(plain));
    return false;
  }

  // offerVideo lets the address of a video that was just pasted become its picture.
  offerVideo(address) {
    const button = make("button", { type: "button", className: "button", textContent: word("video.insert") });
    button.onclick = () => {
      askVideo(this.pictures, address)(this.view.state, this.view.dispatch, this.view);
      this.offer.replaceChildren();
    };
    this.offer.replaceChildren(word("video.offer") + " ", button);
  }

  // offerPlain lets what was just pasted be taken without its formatting.
  offerPlain(plain) {
    const button = make("button", { type: "button", className: "button", textContent: word("paste.plain") });
    button.onclick = () => {
      undo(this.view.state, this.view.dispatch);
      this.view.focus();
      this.view.pasteText(plain);
      this.offer.replaceChildren();
    };
    this.offer.replaceChildren(word("paste.formatted") + " ", button);
  }

  drops(event) {
    const files = [...(event.dataTransfer?.files ?? [])].filter(isPicture);
    if (!files.length) return false;
    event.preventDefault();
    const found = this.view.posAtCoords({ left: event.clientX, top: event.clientY });
    return this.send(files, found ? (found.inside >= 0 ? found.inside : found.pos) : undefined);
  }

  send(files, pos) {
    if (this.pictures.canSend) act.insertPictures(this.view, files.map((f) => this.pictures.send(f, this.view)), pos);
    else this.say(word("picture.none"));
    return true;
  }
}

function fieldsOf(textarea) {
  try {
    const all = JSON.parse(textarea.dataset.fields ?? "[]");
    if (Array.isArray(all) && all.length) return all;
  } catch {
    // ours stand
  }
  return ["preferences.first_name", "email"].map((name) => ({ name, label: word(`field.${name}`) }));
}

function plugins(editor) {
  return [
    rules(),
    keymap(keys(editor)),
    keymap(baseKeymap),
    history(),
    dropCursor({ color: false, class: "editor-dropcursor", width: 2 }),
    gapCursor(),
    lastParagraph(),
    besideFields(),
    slash(editor),
  ];
}

// besideFields has what is typed stand after a field that is chosen: it would take its place. End and Home leave it.
function besideFields() {
  const chosen = ({ selection }) => selection instanceof NodeSelection && selection.node.type === n.field && selection;
  return new Plugin({
    props: {
      handleTextInput(view, from, to, text) {
        const field = chosen(view.state);
        if (!field) return false;
        view.dispatch(view.state.tr.setSelection(TextSelection.create(view.state.doc, field.to)).insertText(text).scrollIntoView());
        return true;
      },
      handleKeyDown(view, event) {
        const field = chosen(view.state);
        if (!field || (event.key !== "End" && event.key !== "Home")) return false;
        const at = event.key === "End" ? field.$from.end() : field.$from.start();
        view.dispatch(view.state.tr.setSelection(TextSelection.create(view.state.doc, at)).scrollIntoView());
        return true;
      },
    },
  });
}

// slash opens the menu of blocks where "/" begins an empty paragraph. Escape leaves the sign there.
function slash(editor) {
  return new Plugin({
    props: {
      handleTextInput(view, from, to, text) {
        const { parent } = view.state.selection.$from;
        if (text !== "/" || parent.type !== n.paragraph || parent.content.size) return false;
        const at = view.coordsAtPos(from);
        const back = () => {
          view.focus();
          view.dispatch(view.state.tr.insertText("/"));
        };
        editor.toolbar.blocks({ getBoundingClientRect: () => at, back });
        return true;
      },
    },
  });
}

// lastParagraph keeps room to write after the last block. An empty paragraph isn't written.
function lastParagraph() {
  return new Plugin({
    appendTransaction(transactions, _, state) {
      const last = state.doc.lastChild;
      if (!transactions.some((t) => t.docChanged) || last.type === n.paragraph || last.type === n.heading) return null;
      return state.tr.insert(state.doc.content.size, n.paragraph.create());
    },
  });
}

// marking has what is typed between signs bear a mark, as in Markdown: the last sign is not there yet.
function marking(pattern, mark) {
  return new InputRule(pattern, (state, found, from, to) => {
    const [, before, sign, text] = found;
    if (!state.doc.resolve(from).parent.type.allowsMarkType(mark)) return null;
    const start = from + before.length;
    const end = start + sign.length + text.length;
    const tr = state.tr.delete(end, to).delete(start, start + sign.length);
    return closeHistory(tr.addMark(start, start + text.length, mark.create()).removeStoredMark(mark));
  });
}

function rules() {
  return inputRules({
    rules: [
      wrappingInputRule(/^\s*>\s$/, n.blockquote),
      wrappingInputRule(/^\s*([-+*])\s$/, n.bullet_list),
      wrappingInputRule(
        /^(\d{1,9})\.\s$/,
        n.ordered_list,
        (found) => ({ order: Number(found[1]) }),
        (found, node) => node.childCount + node.attrs.order === Number(found[1]),
      ),
      textblockTypeInputRule(/^(#{1,3})\s$/, n.heading, (found) => ({ level: found[1].length })),
      textblockTypeInputRule(/^```$/, n.code_block),
      marking(/(^|[\s(“„"])(\*\*)([^*\s](?:[^*]*[^*\s])?)\*\*$/, m.strong),
      marking(/(^|[\s(“„"])([*_])([^*_\s](?:[^*_]*[^*_\s])?)\2$/, m.em),
      new InputRule(/(\{\{[^{}]*\}\}|\{%[^{}%]*%\})$/, (state, found, from, to) =>
        closeHistory(
          state.tr.replaceWith(from, to, n.field.create({ source: found[1] }, null, state.selection.$from.marks())),
        ),
      ),
      new InputRule(/^---$/, (state, _, from, to) => {
        const $from = state.doc.resolve(from);
        if ($from.parent.type !== n.paragraph || $from.depth !== 1) return null;
        return state.tr.replaceWith($from.before(), to + 1, [n.divider.create(), n.paragraph.create()]);
      }),
    ],
  });
}

// deleting returns the bindings of Backspace and Delete. They delete an empty column, and never delete beyond the end
// of a column with content.
function deleting() {
  const all = {};
  for (const mod of ["", "Mod-", "Alt-", "Shift-"]) {
    for (const [key, step] of [["Backspace", -1], ["Delete", 1]]) {
      const usual = [baseKeymap[key], dropText(step, /[MA]/.test(mod)), stayInColumn(step)];
      all[mod + key] = chainCommands(dropEmptyColumn, ...usual);
    }
  }
  return all;
}

function keys(editor) {
  let leaves = false; // Escape was pressed: Tab leaves the text
  const inList = (command) => (state, dispatch) =>
    !leaves && Boolean(act.around(state, n.list_item)) && command(state, dispatch);
  const inColumn = (step) => (state, dispatch) => (leaves ? (leaves = false) : act.nextColumn(step)(state, dispatch));
  const hardBreak = chainCommands(exitCode, (state, dispatch) => {
    if (!state.selection.$from.parent.type.contentMatch.matchType(n.hard_break)) return false;
    dispatch?.(state.tr.replaceSelectionWith(n.hard_break.create()).scrollIntoView());
    return true;
  });
  return {
    "Mod-b": act.bold,
    "Mod-i": act.italic,
    "Mod-k": act.askLink,
    "Mod-Shift-x": act.strike,
    "Mod-z": undo,
    "Mod-y": redo,
    "Shift-Mod-z": redo,
    "Mod-Alt-0": act.style(0),
    "Mod-Alt-1": act.style(1),
    "Mod-Alt-2": act.style(2),
    "Mod-Alt-3": act.style(3),
    Enter: splitListItem(n.list_item),
    "Shift-Enter": hardBreak,
    ...deleting(),
    Tab: chainCommands(inList(sinkListItem(n.list_item)), inColumn(1)),
    "Shift-Tab": chainCommands(inList(liftListItem(n.list_item)), inColumn(-1)),
    Escape: () => {
      leaves = true;
      return false;
    },
    "Alt-F10": () => {
      editor.toolbar.focus();
      return true;
    },
  };
}

onContent((root) => {
  for (const textarea of root.querySelectorAll("textarea[data-editor]")) textarea.editor ??= new Editor(textarea);
  for (const input of root.querySelectorAll("[data-fields-line]")) {
    const text = input.dataset.fields ? input : document.getElementById(input.dataset.fieldsLine);
    if (text) input.line ??= new Line(input, fieldsOf(text).filter((f) => !isPoll(f.name)));
  }
});
