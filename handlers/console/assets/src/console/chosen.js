// The picture that was chosen in a form is shown before it is sent. It is read as a data: address, which the policy of
// pages lets pictures have; blob: is none of that policy.
import { on } from "./page.js";

const most = 30e6; // bytes of a file that is shown

on("change", "input[data-shows]", (event, input) => {
  const picture = document.getElementById(input.dataset.shows);
  const file = input.files[0];
  picture.hidden = true;
  picture.removeAttribute("src");
  if (!file?.type.startsWith("image/") || file.size > most) return;
  picture.onload = () => (picture.hidden = false); // what is no picture stays hidden
  const reader = new FileReader();
  reader.onload = () => {
    if (input.files[0] === file) picture.src = reader.result;
  };
  reader.readAsDataURL(file);
});
