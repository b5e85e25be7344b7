// A line with fields, such as a subject: <input data-fields-line="source"> shows those of the textarea with that id. <textarea data-fields-line data-fields="…"> has lines of its own, and fields that have no fallback. The input is the truth, as the textarea of the text is: without this script the line is edited there.
import { history, redo, undo } from "prosemirror-history";
import { keymap } from "prosemirror-keymap";
import { baseKeymap } from "prosemirror-commands";
import { InputRule, inputRules } from "prosemirror-inputrules";
import { EditorState, NodeSelection, TextSelection } from "prosemirror-state";
import { EditorView } from "prosemirror-view";
import { make } from "../console/page.js";
import { askField } from "./actions.js";
import { schema } from "./schema.js";
import { placeholders, TemplateError } from "./template.js";
import { views } from "./views.js";

const n = schema.nodes;

// nodesOf returns the texts and fields of a line.
function nodesOf(text) {
  const nodes = [];
  const add = (s) => s && nodes.push(schema.text(s));
  let at = 0;
  try {
    for (const p of placeholders(text)) {
      add(text.slice(at, p.from));
      nodes.push(n.field.create({ source: p.text }));
      at = p.to;
    }
  } catch (why) {
    if (!(why instanceof TemplateError)) throw why; // braces that don't close stand as they are
  }
  add(text.slice(at));
  return nodes;
}

function written(doc) {
  let text = "";
  doc.forEach((node) => (text += node.isText ? node.text : (node.attrs.source ?? "")));
  return text;
}

export class Line {
  constructor(input, fields) {
    this.input = input;
    const label = input.labels?.[0];
    const tall = input.localName === "textarea";
    const look = tall ? "textarea editor-line" : "input editor-line";
    const mount = make("div", { className: look });
    input.before(mount);
    const labels = new Map(fields.map((f) => [f.name, f.label ?? f.name]));
    const ask = input.dataset.fields ? () => false : askField(fields);
    this.view = new EditorView(
      { mount },
      {
        state: this.read(),
        nodeViews: { field: views(null, labels).field },
        editable: () => !input.matches(":disabled"),
        attributes: () => ({
          role: "textbox",
          "aria-label": label?.textContent.trim() ?? "",
          class: `${look}${this.input.value ? "" : " unfilled"}`,
          ...(tall ? { "aria-multiline": "true" } : {}),
          "data-placeholder": input.placeholder,
          ...(input.getAttribute("aria-describedby") ? { "aria-describedby": input.getAttribute("aria-describedby") } : {}),
          ...(input.getAttribute("aria-invalid") ? { "aria-invalid": "true" } : {}),
        }),
        dispatchTransaction: (tr) => {
          const { doc } = tr;
          const most = input.maxLength > 0 ? input.maxLength : Infinity;
          const text = written(doc);
          if (tr.docChanged && text.length > most && text.length > input.value.length) return;
          if (tr.docChanged) this.write(text);
          this.view.updateState(this.view.state.apply(tr));
        },
        handleClickOn: (view, _, node, pos) => {
          if (node.type !== n.field) return false;
          view.dispatch(view.state.tr.setSelection(NodeSelection.create(view.state.doc, pos)));
          return ask(view.state, view.dispatch, view);
        },
        handleKeyDown: (view, event) => {
          if (event.key !== "Enter") return false;
          if (tall) {
            view.dispatch(view.state.tr.insertText("\n").scrollIntoView());
            return true;
          }
          const chosen = view.state.selection instanceof NodeSelection;
          if (!chosen || !ask(view.state, view.dispatch, view)) this.submit();
          return true;
        },
        handlePaste: (_, event) => {
          const text = event.clipboardData?.getData("text/plain") ?? "";
          this.insert(tall ? text.replace(/\r\n?/g, "\n") : text.replace(/\s*[\r\n]+\s*/g, " "));
          return true;
        },
        handleDrop: () => true,
        clipboardTextSerializer: (slice) => written(slice.content),
      },
    );
    input.hidden = true;
    input.addEventListener("input", () => {
      if (!this.writing && input.value !== written(this.view.state.doc)) this.view.updateState(this.read());
    });
    label?.addEventListener("click", () => this.view.focus());
    if (document.activeElement === input || input.autofocus) this.view.focus();
  }

  read() {
    return EditorState.create({
      doc: n.lines.create(null, nodesOf(this.input.value)),
      plugins: [
        keymap({ "Mod-z": undo, "Mod-y": redo, "Shift-Mod-z": redo }),
        keymap(baseKeymap),
        history(),
        inputRules({
          rules: [
            new InputRule(/(\{\{[^{}]*\}\})$/, (state, found, from, to) =>
              state.tr.replaceWith(from, to, n.field.create({ source: found[1] })),
            ),
          ],
        }),
      ],
    });
  }

  write(text) {
    this.input.value = text;
    this.writing = true;
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
    this.writing = false;
  }

  // insert puts a text with fields in the place of the selection.
  insert(text) {
    const { tr, selection } = this.view.state;
    const nodes = nodesOf(text);
    tr.replaceWith(selection.from, selection.to, nodes);
    const end = selection.from + nodes.reduce((sum, node) => sum + node.nodeSize, 0);
    this.view.dispatch(tr.setSelection(TextSelection.create(tr.doc, Math.min(end, tr.doc.content.size))).scrollIntoView());
    this.view.focus();
  }

  submit() {
    const { form } = this.input;
    form?.requestSubmit([...form.elements].find((e) => e.type === "submit"));
  }
}
