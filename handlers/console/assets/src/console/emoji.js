// A menu of emoji for a field, such as the subject: <div data-emoji="id"> gets the buttons that data-insert works with.
import { across, emoji } from "../editor/emoji.js";
import { make, onContent } from "./page.js";

onContent((root) => {
  for (const box of root.querySelectorAll("[data-emoji]:empty")) {
    Object.assign(box.style, { display: "grid", gridTemplateColumns: `repeat(${across}, 34px)` });
    for (const sign of emoji) {
      const b = make("button", { type: "button", textContent: sign });
      Object.assign(b.dataset, { insert: sign, into: box.dataset.emoji });
      Object.assign(b.style, { padding: "4px 0", fontSize: "18px", justifyContent: "center" });
      box.append(b);
    }
  }
});
