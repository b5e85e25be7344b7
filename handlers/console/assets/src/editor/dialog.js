// Dialogs of the editor.
import { make } from "../console/page.js";
import { word } from "./words.js";

let made = 0;

// dialog shows fields and resolves to their values by name, to "remove", or to null where it was cancelled. A field is
// {name, label, value, type, options, required}; options are [value, label] of a choice. {element}
// makes something of its own for the form. change is called with the form and what was chosen before: at the start, and
// whenever another option is chosen. incomplete returns what is missing in the form, or "". A field that only has a name
// is one that an element makes.
export function dialog(title, fields, { remove = false, ok = word("save"), change, incomplete } = {}) {
  return new Promise((done) => {
    const id = `editor-dialog-${++made}`;
    const form = make("form", { method: "dialog" }, make("h2", { id, textContent: title }));
    for (const f of fields) {
      if (f.element) {
        form.append(f.element(form));
        continue;
      }
      if (!f.label) continue;
      const input = f.options
        ? make("select", {}, ...f.options.map(([value, label]) => make("option", { value, textContent: label })))
        : make("input", { type: f.type ?? "text" });
      if (f.options && change) {
        let was = f.value;
        input.onchange = () => {
          change(form, was);
          was = input.value;
        };
      }
      input.id = `${id}-${f.name}`;
      input.name = f.name;
      if (f.type === "file") input.accept = "image/png,image/jpeg,image/gif,image/webp";
      else input.value = f.value ?? "";
      if (f.required) input.required = true;
      if (f.mode) input.inputMode = f.mode;
      input.autocomplete = "off";
      form.append(make("p", {}, make("label", { htmlFor: input.id, textContent: f.label }), input));
    }
    const cancel = make("button", { type: "button", className: "button", textContent: word("cancel") });
    const save = make("button", { type: "submit", className: "button primary", textContent: ok });
    const actions = make("p", { className: "actions" }, cancel, save);
    let answer = null;
    if (remove) {
      const drop = make("button", { type: "button", className: "button", textContent: word("remove") });
      drop.onclick = () => {
        answer = "remove";
        box.close();
      };
      actions.prepend(drop);
    }
    const missing = make("p", { className: "editor-fault" });
    missing.setAttribute("role", "alert");
    form.append(missing, actions);
    for (const f of fields) if (f.options) change?.(form, f.value);
    const box = make("dialog", { className: "editor-dialog" }, form);
    box.setAttribute("aria-labelledby", id);
    cancel.onclick = () => box.close();
    form.onsubmit = (event) => {
      event.stopPropagation(); // it is no form of the page
      missing.textContent = incomplete?.(form) ?? "";
      if (missing.textContent) return event.preventDefault();
      answer = {};
      for (const f of fields.filter((x) => x.name)) {
        const input = form.elements[f.name];
        answer[f.name] = f.type === "file" ? input.files[0] : input.value.trim();
      }
    };
    box.onclose = () => {
      box.remove();
      done(answer);
    };
    document.body.append(box);
    box.showModal();
    form.querySelector("input, select")?.focus();
  });
}
