// The picker of a colour, next to the input that has it as text: each takes over what the other is given. The picker
// has no name and is not sent, since it can't say that there is no colour.
import { on } from "./page.js";

on("input", "input[data-colour]", (event, picker) => {
  const text = document.getElementById(picker.dataset.colour);
  text.value = picker.value;
  text.dispatchEvent(new Event("change", { bubbles: true }));
});

on("input", ".colour .input", (event, text) => {
  const picker = document.querySelector(`[data-colour="${CSS.escape(text.id)}"]`);
  if (picker && /^#[0-9a-f]{6}$/i.test(text.value)) picker.value = text.value;
});
