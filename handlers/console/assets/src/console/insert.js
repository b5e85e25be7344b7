// Buttons of a menu that put a text where someone writes. What stands there within quotes is marked, to be written over.
import { on } from "./page.js";

on("click", "button[data-insert]", (event, button) => {
  const input = document.getElementById(button.dataset.into);
  const text = button.dataset.insert;
  if (input.line) { // the editor shows fields as what they are
    button.closest("details").open = false;
    input.line.insert(text);
    return;
  }
  const at = input.selectionStart;
  input.setRangeText(text, at, input.selectionEnd, "end");
  input.dispatchEvent(new Event("input", { bubbles: true }));
  button.closest("details").open = false;
  input.focus();
  const quoted = text.indexOf('"') + 1;
  if (quoted) input.setSelectionRange(at + quoted, at + text.lastIndexOf('"'));
});
