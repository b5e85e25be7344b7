// Menus are details with the attribute data-menu, so they open without a script, too.
import { on } from "./page.js";

const stops = "a[href], button:not([disabled]), input:not([disabled])";

function close(menu, focus) {
  menu.open = false;
  if (focus) menu.querySelector("summary")?.focus();
}

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (!menu.contains(event.target)) close(menu, false);
  }
});

// Leaving a menu by Tab closes it.
on("focusout", "details[data-menu][open]", (event, menu) => {
  if (event.relatedTarget && !menu.contains(event.relatedTarget)) close(menu, false);
});

on("keydown", "details[data-menu]", (event, menu) => {
  const summary = menu.querySelector("summary");
  if (event.key === "Escape" && menu.open) {
    event.stopPropagation();
    close(menu, true);
    return;
  }
  const items = [...menu.querySelectorAll(stops)].filter((e) => e !== summary && e.getClientRects().length);
  const at = items.indexOf(document.activeElement);
  let next;
  switch (event.key) {
    case "ArrowDown":
      if (!menu.open && document.activeElement === summary) {
        menu.open = true;
        next = menu.querySelector(stops);
      } else {
        next = items[(at + 1) % items.length];
      }
      break;
    case "ArrowUp":
      next = items[(at <= 0 ? items.length : at) - 1];
      break;
    case "Home":
      next = at >= 0 && items[0];
      break;
    case "End":
      next = at >= 0 && items.at(-1);
      break;
  }
  if (!next || next === event.target) return;
  if (event.target.matches("input:not([type=checkbox], [type=radio])") && /Home|End/.test(event.key)) return;
  event.preventDefault();
  next.focus();
});
