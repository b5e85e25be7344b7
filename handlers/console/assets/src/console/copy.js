// Buttons that copy.
import { on, say, word } from "./page.js";

on("click", "[data-copy]", async (event, button) => {
  event.preventDefault();
  const from = document.querySelector(button.dataset.copy);
  if (!from) return;
  const text = "value" in from ? from.value : from.textContent.trim();
  if (!(await copy(text, from))) return;
  const done = button.dataset.copied || word("copied");
  say(done);
  if (button.dataset.was !== undefined) return;
  button.dataset.was = button.textContent;
  button.textContent = done;
  setTimeout(() => {
    button.textContent = button.dataset.was;
    delete button.dataset.was;
  }, 2000);
});

// copy reports whether a text went to the clipboard. Where a page may not write there, it is marked to be copied by hand.
async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (from.select) from.select();
    else getSelection().selectAllChildren(from);
    return false;
  }
}
