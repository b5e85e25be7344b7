// Forms that take files by dropping, and show how far they have come. Without this script they are sent as any form.
// Images are scaled down first where the form has data-most, how many bytes a file may have; data-too-many is what is
// said of one that has more. data-goes-on names what tells how much of a file is kept after a break: the form then sends
// the rest of it.
import { on, say, word } from "./page.js";
import { shrunk } from "./shrink.js";

const tries = 4;

function hasFiles(event) {
  return [...(event.dataTransfer?.types ?? [])].includes("Files");
}

on("dragover", "form[data-upload]", (event, form) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  form.classList.add("over");
});
on("dragleave", "form[data-upload]", (event, form) => {
  if (!form.contains(event.relatedTarget)) form.classList.remove("over");
});
on("drop", "form[data-upload]", (event, form) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  form.classList.remove("over");
  const input = form.querySelector("input[type=file]");
  if (!input) return;
  const files = new DataTransfer();
  for (const f of event.dataTransfer.files) {
    if (input.multiple || files.items.length === 0) files.items.add(f);
  }
  input.files = files.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  form.requestSubmit();
});

// A file dropped next to a form would take the place of the page.
for (const type of ["dragover", "drop"]) {
  document.addEventListener(type, (event) => {
    if (!event.defaultPrevented && hasFiles(event)) event.preventDefault();
  });
}

on("submit", "form[data-upload]", async (event, form) => {
  if (event.defaultPrevented) return;
  event.preventDefault();
  if (form.dataset.busy !== undefined) return; // a second click
  form.dataset.busy = "";
  const bar = form.querySelector("progress");
  const fault = form.querySelector("[data-fault]");
  if (bar) {
    bar.hidden = false;
    bar.removeAttribute("value");
  }
  const input = form.querySelector("input[type=file]");
  if (fault) fault.textContent = "";
  input?.removeAttribute("aria-invalid");
  try {
    const again = form.dataset.goesOn ? sendOn : sendAgain;
    const data = new FormData(form, event.submitter);
    if (form.dataset.most) await fit(form, data);
    const answer = await again(form, data, bar, fault);
    if (answer) shown(form, answer);
  } catch (why) {
    if (fault) fault.textContent = why.message;
    input?.setAttribute("aria-invalid", "true");
    input?.focus();
    say(why.message);
  }
  if (bar) bar.hidden = true;
  delete form.dataset.busy;
});

// fit scales the images of a form down. It throws what is said of one that is still too large: the server would end the
// connection before the browser reads its answer.
async function fit(form, data) {
  for (const [name, file] of [...data]) {
    if (!(file instanceof File) || !file.name) continue;
    const smaller = await shrunk(file);
    if (smaller.size > Number(form.dataset.most)) throw new Error(form.dataset.tooMany);
    data.set(name, smaller);
  }
}

// sendAgain sends a form, and again after a pause where there was no answer.
async function sendAgain(form, data, bar, fault) {
  for (let n = 1; ; n++) {
    const answer = await send(form, data, bar);
    if (answer.status >= 200 && answer.status < 400) return answer;
    if (answer.status !== 0 || n === tries) {
      throw new Error(answer.status && faultOf(answer) ? faultOf(answer) : word("upload.failed"));
    }
    if (fault) fault.textContent = word("upload.offline");
    await new Promise((done) => setTimeout(done, 1000 * 2 ** n));
    if (fault) fault.textContent = "";
  }
}

const slot = "upload"; // of the upload that is under way, so that it goes on after a reload
const onTries = 12; // that bring nothing, one after another
const longest = 30; // seconds between them

// keyOf returns the key of the upload of a file: that which it began with, if it is the same file.
function keyOf(file) {
  const is = `${file.name} ${file.size} ${file.lastModified}`;
  try {
    const was = JSON.parse(localStorage.getItem(slot) ?? "{}");
    if (was.file === is) return was.key;
  } catch {
    // Nothing that can be read is kept.
  }
  const key = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
  try {
    localStorage.setItem(slot, JSON.stringify({ file: is, key }));
  } catch {
    // Without room it goes on until the page is left.
  }
  return key;
}

function forget() {
  try {
    localStorage.removeItem(slot);
  } catch {
    // There is no storage.
  }
}

// sendOn sends a form with one file. Where the line breaks it asks what has arrived, and sends the rest.
async function sendOn(form, data, bar, fault) {
  const file = [...data.values()].find((v) => v instanceof File && v.name);
  if (!file) return sendAgain(form, data, bar, fault);
  const field = [...data.keys()].find((name) => data.get(name) === file);
  const key = keyOf(file);
  let most = 0;
  for (let n = 0; n < onTries; n++) {
    if (n > 0) await pause(Math.min(2 ** n, longest), fault);
    const is = await keptOf(form.dataset.goesOn, key);
    if (!is) continue;
    if (is.to) {
      forget();
      location.assign(is.to);
      return null;
    }
    if (is.offset > most) {
      most = is.offset;
      n = 0;
    }
    if (is.offset > 0) {
      say(word("upload.on"));
      data.set(field, new File([file.slice(is.offset)], file.name, { type: file.type }));
    } else {
      data.set(field, file);
    }
    const answer = await send(form, data, bar, {
      from: is.offset,
      head: { "Upload-Key": key, "Upload-Offset": is.offset },
    });
    if (answer.status >= 200 && answer.status < 400) {
      forget();
      return answer;
    }
    if (answer.status === 409) {
      const now = await keptOf(form.dataset.goesOn, key);
      if (!now || now.to || now.offset !== is.offset) continue; // what broke was still on its way
    }
    if (!passes(answer.status)) {
      forget();
      throw new Error(faultOf(answer) || word("upload.failed"));
    }
  }
  throw new Error(word("upload.failed"));
}

// passes reports whether a status is of the line, or of a daemon that is not there at the moment.
function passes(status) {
  return [0, 408, 429, 502, 504].includes(status);
}

// keptOf asks how much of an upload is kept; null: there is no answer now.
async function keptOf(address, key) {
  let answer;
  try {
    answer = await fetch(`${address}?key=${key}`, { headers: { "HX-Request": "true" } });
    if (answer.ok) {
      const is = await answer.json();
      return is.under_way ? null : is; // the daemon has not seen the break yet
    }
  } catch (why) {
    if (answer?.ok && why instanceof SyntaxError) throw new Error(word("upload.failed")); // signed out
    return null;
  }
  if (passes(answer.status)) return null;
  throw new Error(word("upload.failed"));
}

// pause waits, says for how long, and ends as soon as there is a line again.
async function pause(seconds, fault) {
  say(word("upload.dropped", { n: seconds }));
  let online = false;
  const back = () => (online = true);
  addEventListener("online", back);
  for (let s = seconds; s > 0 && !online; s -= 0.25) {
    if (fault) fault.textContent = word("upload.dropped", { n: Math.ceil(s) });
    await new Promise((done) => setTimeout(done, 250));
  }
  removeEventListener("online", back);
  if (fault) fault.textContent = "";
}

// send resolves to the request when it has ended, with the status 0 where there was no answer. fetch can't tell how far
// a body has gone. from is how much of the file is not sent again.
function send(form, data, bar, { from = 0, head = {} } = {}) {
  return new Promise((done) => {
    const r = new XMLHttpRequest();
    r.open(form.method, form.action);
    r.setRequestHeader("HX-Request", "true");
    for (const [name, value] of Object.entries(head)) r.setRequestHeader(name, value);
    r.upload.onprogress = (event) => {
      if (!bar || !event.lengthComputable) return;
      bar.max = from + event.total;
      bar.value = from + event.loaded;
    };
    r.onloadend = () => done(r);
    r.send(data);
  });
}

// faultOf returns the sentence of an error: of a fragment of HTML or of JSON.
function faultOf(answer) {
  if (/json/.test(answer.getResponseHeader("Content-Type") ?? "")) {
    try {
      const body = JSON.parse(answer.responseText);
      return body.message ?? body.error_description ?? body.error ?? "";
    } catch {
      return "";
    }
  }
  const page = new DOMParser().parseFromString(answer.responseText, "text/html");
  return (page.querySelector("[data-fault], #fault, [role=alert]") ?? page.body).textContent.trim().slice(0, 300);
}

function shown(form, answer) {
  say(word("upload.done"));
  form.dispatchEvent(new CustomEvent("console:uploaded", { bubbles: true, detail: { text: answer.responseText } }));
  const target = form.dataset.upload && document.querySelector(form.dataset.upload);
  if (!target) {
    location.assign(answer.responseURL || location.href);
    return;
  }
  const page = new DOMParser().parseFromString(answer.responseText, "text/html");
  target.replaceChildren(...page.body.childNodes);
  window.htmx?.process(target);
  for (const input of form.querySelectorAll("input[type=file]")) input.value = "";
}
