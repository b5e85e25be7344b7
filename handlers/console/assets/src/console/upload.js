// Forms that take files by dropping, and show how far they have come. Without this script they are sent as any form.
import { on, say, word } from "./page.js";

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
  if (fault) fault.textContent = "";
  try {
    const answer = await sendAgain(form, new FormData(form, event.submitter), bar, fault);
    shown(form, answer);
  } catch (why) {
    if (fault) fault.textContent = why.message;
    say(why.message);
  }
  if (bar) bar.hidden = true;
  delete form.dataset.busy;
});

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

// send resolves to the request when it has ended, with the status 0 where there was no answer. fetch can't tell how far
// a body has gone.
function send(form, data, bar) {
  return new Promise((done) => {
    const r = new XMLHttpRequest();
    r.open(form.method, form.action);
    r.setRequestHeader("HX-Request", "true");
    r.upload.onprogress = (event) => {
      if (!bar || !event.lengthComputable) return;
      bar.max = event.total;
      bar.value = event.loaded;
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
