// Dialogs, the palette and questions. The browser keeps the focus within an open dialog and gives it back afterwards.
import { make, on, word } from "./page.js";

function open(dialog) {
  if (!(dialog instanceof HTMLDialogElement) || dialog.open) return false;
  dialog.showModal();
  const first = dialog.querySelector("[autofocus], input:not([type=hidden]), textarea, select");
  if (first) {
    first.focus();
    first.select?.();
  }
  return true;
}

on("click", "[data-opens]", (event, e) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a link goes to a tab of its own
  if (open(document.getElementById(e.dataset.opens))) event.preventDefault();
});

on("click", "[data-closes]", (event, e) => {
  const dialog = e.closest("dialog");
  if (!dialog) return;
  event.preventDefault();
  dialog.close();
});

// A click on what lies behind a dialog closes it. It has the dialog itself as its target.
on("click", "dialog[data-light]", (event, dialog) => {
  if (event.target !== dialog) return;
  const r = dialog.getBoundingClientRect();
  const outside = event.clientX < r.left || event.clientX > r.right || event.clientY < r.top || event.clientY > r.bottom;
  if (outside) dialog.close();
});

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  // The editor's link has the same keys; it has taken the event then.
  if (event.defaultPrevented) return;
  const palette = document.querySelector("dialog[data-palette]");
  if (palette?.open) palette.close();
  else if (!open(palette)) return;
  event.preventDefault();
});

on("keydown", "dialog[data-palette]", (event, palette) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) {
    const found = palette.querySelectorAll("a[href]");
    if (event.key === "Enter" && event.target.matches("input") && found.length) {
      event.preventDefault();
      found[0].click();
    }
    return;
  }
  const stops = [palette.querySelector("input"), ...palette.querySelectorAll("a[href]")].filter(Boolean);
  const at = stops.indexOf(document.activeElement);
  stops[(at + step + stops.length) % stops.length]?.focus();
  event.preventDefault();
});

// Forms that were confirmed, while they are submitted again.
const confirmed = new WeakSet();

document.addEventListener(
  "submit",
  (event) => {
    const form = event.target;
    const asks = event.submitter?.dataset.confirm ? event.submitter : form;
    if (!asks.dataset?.confirm || confirmed.delete(form)) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // before htmx sends it
    const yes = asks.dataset.confirmYes || event.submitter?.textContent || word("yes");
    ask(asks.dataset.confirm, yes, asks.dataset.confirmNo).then((sure) => {
      if (!sure) return;
      confirmed.add(form);
      form.requestSubmit(event.submitter);
      confirmed.delete(form); // where the form didn't validate
    });
  },
  true,
);

// ask shows a question, and resolves to whether it was answered by yes. The button that does nothing has the focus.
export function ask(question, yes, stay = word("cancel")) {
  return new Promise((done) => {
    const text = make("p", { id: "question", textContent: question });
    const no = make("button", { type: "button", className: "button", textContent: stay, autofocus: true });
    const ok = make("button", { type: "button", className: "button primary", textContent: yes.trim() });
    const dialog = make("dialog", { className: "question" }, text, make("p", { className: "actions" }, no, ok));
    dialog.setAttribute("aria-labelledby", "question");
    dialog.setAttribute("role", "alertdialog");
    let answer = false;
    no.onclick = () => dialog.close();
    ok.onclick = () => {
      answer = true;
      dialog.close();
    };
    dialog.onclose = () => {
      dialog.remove();
      done(answer);
    };
    document.body.append(dialog);
    dialog.showModal();
  });
}
