// <span data-moment="Schedule for {}" data-date="id" data-time="id" data-form="W D. M" data-days="So. …" data-months="Jan. …">
// names the day and time that stand in two fields, in place of {}. Where one of them is empty it says what it said before.
import { onContent } from "./page.js";

function name({ form, days, months }, date, time) {
  const day = new Date(`${date}T00:00:00Z`);
  if (!time || Number.isNaN(day.getTime())) return "";
  const parts = { W: days.split(" ")[day.getUTCDay()], D: day.getUTCDate(), M: months.split(" ")[day.getUTCMonth()] };
  return `${form.replace(/[WDM]/g, (part) => parts[part])}, ${time}`;
}

onContent((root) => {
  for (const span of root.querySelectorAll("[data-moment]")) {
    const fields = [span.dataset.date, span.dataset.time].map((id) => document.getElementById(id));
    const before = span.textContent;
    const write = () => {
      const moment = name(span.dataset, ...fields.map((f) => f.value));
      span.textContent = moment ? span.dataset.moment.replace("{}", moment) : before;
    };
    for (const f of fields) f.addEventListener("input", write);
    write();
  }
});
