// <button data-again formtarget="sample"> updates the preview in the frame of that name. It is pressed when a field of its form
// changes. A new frame takes the place of the old one: its first page adds nothing to the history of the browser.
import { on, shown } from "./page.js";

const wait = 300; // milliseconds: a color picker reports each color that the pointer passes
let timer;

on("change", "form", (event, form) => {
  const button = form.querySelector("button[data-again]");
  if (!button) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    const old = document.querySelector(`iframe[name="${CSS.escape(button.formTarget)}"]`);
    const frame = old.cloneNode();
    frame.removeAttribute("src");
    old.replaceWith(frame);
    shown(frame.parentElement);
    button.click();
  }, wait);
});
