// Nothing that was written is lost: what stands in <form data-keep="NAME"> and isn't what the server sent is kept on
// the device, until the server has it. NAME tells user and record apart. Within the form may stand
//
//   <p data-keep-state>                        "Not saved since 10:42, kept on this device"; empty once it is saved. Of a
//                                              form that saves itself: only where that has failed, or has not come
//                                              about for 10 seconds
//   <div data-keep-found hidden>               shown where the page comes with less than what is kept
//     <button type="button" data-keep-restore> puts it into the form
//     <button type="button" data-keep-drop>    forgets it
//
// Saved is what an answer of 2xx took, to htmx's request of the form, or what the page comes with afterwards. A copy that
// was found stays until one of the two buttons is pressed; where the form was written on since it asks, and what stood
// there takes the place of the copy. Fields for passwords and files, hidden ones and those with
// data-keep-not are left out.
import { ask } from "./dialogs.js";
import { on, onContent, word } from "./page.js";

const prefix = "console.keep.";
const timers = new WeakMap();
const since = new WeakMap(); // form: when the first change was made that isn't saved
const troubles = new WeakMap(); // form: why the last save failed
const patience = 10_000; // milliseconds in which a form that saves itself need not say that it hasn't
const found = new WeakMap(); // form: a copy that was found, until the reader has said what becomes of it
const begun = new WeakMap(); // form: what stood in it then

function fields(form) {
  return [...form.elements].filter(
    (e) => e.name && !e.matches("[type=password], [type=file], [type=hidden], [data-keep-not], button, fieldset, output"),
  );
}

// values returns what stands in a form, by names; boxes and choices as lists of what is chosen.
function values(form) {
  const out = {};
  for (const e of fields(form)) {
    if (e.matches("[type=checkbox], [type=radio]")) {
      out[e.name] ??= [];
      if (e.checked) out[e.name].push(e.value);
    } else if (e.matches("select[multiple]")) {
      out[e.name] = [...e.selectedOptions].map((o) => o.value);
    } else {
      out[e.name] = e.value;
    }
  }
  return out;
}

function fill(form, from) {
  for (const e of fields(form)) {
    const v = from[e.name];
    if (v === undefined) continue;
    if (e.matches("[type=checkbox], [type=radio]")) e.checked = v.includes(e.value);
    else if (e.matches("select[multiple]")) for (const o of e.options) o.selected = v.includes(o.value);
    else e.value = v;
    e.dispatchEvent(new Event("input", { bubbles: true }));
    e.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

function read(form) {
  try {
    return JSON.parse(localStorage.getItem(prefix + form.dataset.keep));
  } catch {
    return null;
  }
}

function drop(form) {
  try {
    localStorage.removeItem(prefix + form.dataset.keep);
  } catch {
    // there is no storage: nothing is kept
  }
}

function say(form, text) {
  const e = form.querySelector("[data-keep-state]");
  if (e && e.textContent !== text) e.textContent = text;
}

const looks = new WeakMap(); // form: the timer of the next look

// state shows whether what stands in a form is saved, where that is to be known.
function state(form) {
  clearTimeout(looks.get(form));
  if (form.dataset.autosave === "off") return; // the answer has said why, with a button
  const at = since.get(form);
  const why = troubles.get(form);
  if (!at && !why) return say(form, "");
  const left = "autosave" in form.dataset && !why ? at + patience - Date.now() : 0;
  if (left > 0) return looks.set(form, setTimeout(() => state(form), left));
  if (why && !at) return say(form, why);
  const time = new Date(at).toLocaleTimeString(document.documentElement.lang || undefined, {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  say(form, why ? why + " " + word("keep.at", { time }) : word("keep.since", { time }));
}

// trouble says why what stands in a form could not be saved, until it is.
export function trouble(form, why) {
  troubles.set(form, why);
  state(form);
}

function keep(form) {
  clearTimeout(timers.get(form));
  if (!since.has(form)) since.set(form, Date.now());
  try {
    const copy = JSON.stringify({ at: since.get(form), values: values(form), found: found.get(form) });
    localStorage.setItem(prefix + form.dataset.keep, copy);
    state(form);
  } catch {
    say(form, word("keep.full"));
  }
}

for (const type of ["input", "change"]) {
  on(type, "form[data-keep]", (event, form) => {
    clearTimeout(timers.get(form));
    timers.set(form, setTimeout(() => keep(form), 400));
  });
}

// What was typed within the last moment is kept, too, when the page goes.
addEventListener("pagehide", () => {
  for (const form of document.querySelectorAll("form[data-keep]")) if (timers.has(form)) keep(form);
});

const sent = new WeakMap(); // form: what the request took with it

on("submit", "form[data-keep]", (event, form) => keep(form));

document.addEventListener("htmx:before:request", (event) => {
  const form = event.target instanceof Element && event.target.closest("form[data-keep]");
  if (form) sent.set(form, JSON.stringify(values(form)));
});

document.addEventListener("htmx:after:request", (event) => {
  const form = event.target instanceof Element && event.target.closest("form[data-keep]");
  const answer = event.detail?.ctx?.response;
  // One that was led elsewhere may be the page to sign in.
  if (!form || !answer?.raw.ok || answer.raw.redirected || !sent.has(form)) return;
  if (sent.get(form) !== JSON.stringify(values(form))) return; // written on meanwhile
  saved(form);
});

// written returns what stands in a form, to compare.
export const written = (form) => JSON.stringify(values(form));

// savedUntil notes that the server has what stood in a form at a time; it was written on since.
export function savedUntil(form, at) {
  troubles.delete(form);
  if (since.has(form)) since.set(form, at);
  state(form);
}

// saved forgets what is kept of a form, since the server has it.
export function saved(form) {
  troubles.delete(form);
  clearTimeout(timers.get(form));
  timers.delete(form);
  since.delete(form);
  if (!found.has(form)) drop(form);
  state(form);
}

onContent((root) => {
  for (const form of root.querySelectorAll("form[data-keep]:not([data-keep-read])")) {
    form.dataset.keepRead = "";
    const kept = read(form);
    const copy = kept?.found ?? kept;
    if (!copy?.values) continue;
    const now = values(form);
    const differs = Object.keys(copy.values).some(
      (k) => k in now && JSON.stringify(now[k]) !== JSON.stringify(copy.values[k]),
    );
    if (!differs) {
      drop(form);
      continue;
    }
    found.set(form, copy);
    begun.set(form, written(form));
    const notice = form.querySelector("[data-keep-found]");
    if (notice) notice.hidden = false;
  }
});

on("click", "[data-keep-restore], [data-keep-drop]", async (event, button) => {
  const form = button.closest("form[data-keep]");
  if (!form) return;
  event.preventDefault();
  const copy = found.get(form);
  if (button.dataset.keepRestore !== undefined && copy) {
    const newer = begun.get(form) !== written(form);
    if (newer && !(await ask(word("keep.over"), button.textContent))) return;
    found.delete(form);
    if (newer) found.set(form, { at: Date.now(), values: values(form) });
    since.set(form, copy.at);
    fill(form, copy.values);
    begun.set(form, written(form));
    keep(form);
    if (newer) return;
  } else {
    found.delete(form);
    since.has(form) ? keep(form) : saved(form);
  }
  const notice = form.querySelector("[data-keep-found]");
  if (notice) notice.hidden = true;
  (form.querySelector("[data-keep-state]") ?? form).focus?.();
});

on("submit", "form[data-forget]", () => {
  for (const k of Object.keys(localStorage)) if (k.startsWith(prefix)) localStorage.removeItem(k);
});
