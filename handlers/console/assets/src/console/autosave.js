// What is written is saved by itself: <form data-autosave> is sent a moment after the last change, and every few seconds
// while someone writes without a pause, and once more when the page is left before that. A link on the page waits for the
// save, so the next page shows the latest text. The answer is HTML: each of its elements takes the place of the one with
// its id; of one with role="status" only what is in it does. That with the id "saved" has data-revision, which the form
// sends the next time, or data-fault. <iframe data-preview> is loaded again after each save.
//
// While someone goes through the segments and tags of a <select name="segment"> with keys, nothing is saved until the
// focus leaves it.
//
// Where no answer came, the server may have saved what was sent all the same, so that the next revision is its own. The
// field "lost" says what that was, as JSON: a list of {name: value}. The server takes it for no other person's change.
import { saved, savedUntil, trouble, written } from "./keep.js";
import { on, word } from "./page.js";

const pause = 900; // milliseconds after the last change
const longest = 5000; // milliseconds after the first one
const unsaved = "form[data-autosave]:not([data-autosave=off])";
const states = new WeakMap(); // form: {timer, first, busy, body, saving, again, button, failures}

function state(form) {
  if (!states.has(form)) states.set(form, { failures: 0 });
  return states.get(form);
}

// The list of segments and tags that keys go through. Saving a tag creates a segment, so only the last choice is saved.
let keyed = null;
addEventListener("keydown", (event) => {
  if (event.target.matches?.('select[name="segment"]')) keyed = event.target;
});
for (const type of ["pointerdown", "focusout"]) addEventListener(type, () => (keyed = null));

function later(form, ms) {
  const s = state(form);
  clearTimeout(s.timer);
  s.timer = setTimeout(() => (form.contains(keyed) ? later(form, pause) : save(form)), ms);
}

for (const type of ["input", "change"]) {
  on(type, "form[data-autosave]", (event, form) => {
    if (event.target.matches("[data-keep-not]") || form.dataset.autosave === "off") return;
    const s = state(form);
    s.first ??= Date.now();
    later(form, Math.min(pause, Math.max(0, s.first + longest - Date.now())));
  });
}

// A form that is sent by a button takes all with it. It waits for a save under way, whose answer has the revision that the
// form has to send. After 5 seconds it is sent all the same, and says what that save may have stored.
on("submit", "form[data-autosave]", async (event, form) => {
  const s = state(form);
  if (s.busy && form.dataset.autosave !== "off") {
    event.preventDefault();
    const waits = s.button !== undefined;
    s.button = event.submitter;
    if (waits) return;
    await Promise.race([s.saving, new Promise((done) => setTimeout(done, longest))]);
    if (s.busy) lost(form, s.body);
    form.dataset.autosave = "off";
    form.requestSubmit(s.button);
    return;
  }
  clearTimeout(s.timer);
  form.dataset.autosave = "off";
});

function save(form) {
  const s = state(form);
  if (s.busy) s.again = true;
  else s.saving = send(form, s);
  return s.saving;
}

async function send(form, s) {
  s.busy = true;
  s.first = undefined;
  const before = written(form);
  const began = Date.now();
  const body = (s.body = new FormData(form));
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      body: new URLSearchParams(body),
      headers: { "X-Autosave": "1" },
      redirect: "manual",
    });
    if (answer.type === "opaqueredirect") throw new Error(word("autosave.login"));
    if (answer.status >= 500) throw new Error(word("autosave.failed"));
    s.failures = 0;
    const fault = take(form, await answer.text());
    if (answer.ok) lost(form, null);
    if (answer.ok && !fault) before === written(form) ? saved(form) : savedUntil(form, began);
    if (fault === "conflict") form.dataset.autosave = "off"; // the button shows both
  } catch (why) {
    s.failures++;
    if (why instanceof TypeError) lost(form, body);
    const e = document.getElementById("saved");
    if (e) {
      e.textContent = word("autosave.not");
      e.className = "small bad-text";
    }
    trouble(form, why instanceof TypeError ? word("autosave.offline") : why.message); // a TypeError is fetch's
    later(form, Math.min(30, 2 ** s.failures) * 1000);
  }
  s.busy = false;
  if (s.again) {
    s.again = false;
    later(form, pause);
  }
}

// open reports whether there are changes that the server may not have.
function open(form) {
  const s = state(form);
  return s.first !== undefined || s.busy || s.failures > 0;
}

// settle saves what is open, in one more try.
async function settle(form) {
  const s = state(form);
  if (s.busy) await s.saving;
  clearTimeout(s.timer);
  if (open(form)) await save(form);
}

// A link opens its page once everything is saved, or after 5 seconds. The pagehide handler below then sends the rest.
on("click", "a[href]", async (event, link) => {
  const elsewhere = link.target || link.origin !== location.origin || link.matches("[hx-get], [data-opens], [download]");
  const keys = event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
  if (event.defaultPrevented || keys || elsewhere || link.isContentEditable) return;
  if (link.getAttribute("href").startsWith("#")) return;
  const forms = [...document.querySelectorAll(unsaved)];
  for (const form of forms) new FormData(form); // the editor puts what was typed last into its field
  if (!forms.some(open)) return;
  event.preventDefault();
  await Promise.race([Promise.all(forms.map(settle)), new Promise((done) => setTimeout(done, longest))]);
  location.assign(link.href);
});

// What was written within the last moment is sent when the page goes. Browsers take 64 KiB then; what they don't take is
// kept on the device. No answer is read, so that the next save says that this one may have arrived.
addEventListener("pagehide", () => {
  for (const form of document.querySelectorAll(unsaved)) {
    const s = state(form);
    if (s.first === undefined && !s.busy && !s.failures) continue;
    clearTimeout(s.timer);
    if (s.busy) lost(form, s.body);
    const body = new FormData(form);
    fetch(form.action, {
      method: "POST",
      body: new URLSearchParams(body),
      headers: { "X-Autosave": "1" },
      redirect: "manual",
      keepalive: true,
    }).catch(() => {});
    lost(form, body);
  }
});

// A page that the browser has kept for the way back goes on.
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.querySelectorAll(unsaved)) {
    if (state(form).first !== undefined) later(form, 0);
  }
});

// lost notes what was sent without an answer; null: nothing is open any more. The first and the last few are enough: one
// of them is what has arrived, if any.
function lost(form, body) {
  const field = form.elements.lost;
  if (!field) return;
  if (!body) {
    field.value = "";
    return;
  }
  const all = field.value ? JSON.parse(field.value) : [];
  body.delete("lost");
  const now = Object.fromEntries(body);
  if (all.length && JSON.stringify(all.at(-1)) === JSON.stringify(now)) return;
  if (all.length > 3) all.splice(1, 1);
  field.value = JSON.stringify([...all, now]);
}

// Once there is a line again, nothing waits for the next try.
addEventListener("online", () => {
  for (const form of document.querySelectorAll("form[data-autosave]")) if (state(form).failures) later(form, 0);
});

// take puts the parts of an answer in their places, and returns what was wrong.
function take(form, html) {
  const t = document.createElement("template");
  t.innerHTML = html;
  const mark = t.content.querySelector("#saved");
  for (const e of [...t.content.children]) {
    const old = e.id && document.getElementById(e.id);
    if (old?.matches("details") && e.matches("details")) // as the reader has left it, unless there is a new error
      e.open = old.open || Number(e.dataset.errors) > Number(old.dataset.errors);
    if (e.id === "checks" && "sending" in form.dataset) continue; // a picture that is on its way is no error
    if (old?.getAttribute("role") === "status") old.replaceChildren(...e.childNodes);
    else if (old) old.replaceWith(e);
  }
  if (!mark) return "unknown";
  if (mark.dataset.revision) {
    form.elements.revision.value = mark.dataset.revision;
    for (const frame of document.querySelectorAll("iframe[data-preview]")) again(frame, mark.dataset.revision);
    return "";
  }
  return "conflict" in mark.dataset ? "conflict" : "fault";
}

// again loads a frame anew without an entry in the history.
function again(frame, revision) {
  const to = new URL(frame.src);
  to.searchParams.set("revision", revision);
  if (frame.offsetParent === null) {
    frame.src = to;
    return;
  }
  frame.contentWindow.location.replace(to);
}
