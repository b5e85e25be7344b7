// A question about the proposed choice of a field is hidden while something else is chosen.
import { on } from "./page.js";

on("change", "select[data-asks]", (event, select) => {
  document.getElementById(select.dataset.asks).hidden = !select.selectedOptions[0].defaultSelected;
});
