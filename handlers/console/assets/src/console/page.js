// What the parts of the console's script share.

// onContent calls f for the page, and again for each part that htmx swaps into it. Modules run once the page is read.
const users = [];

export function onContent(f) {
  users.push(f);
  f(document);
  document.addEventListener("htmx:after:swap", () => f(document));
}

// shown tells those who called onContent about a part that a script has put into the page.
export function shown(root) {
  for (const f of users) f(root);
}

// on listens to events within elements that a selector finds, whenever those come into the page.
export function on(type, selector, f, options) {
  document.addEventListener(
    type,
    (event) => {
      const e = event.target instanceof Element && event.target.closest(selector);
      if (e) f(event, e);
    },
    options,
  );
}

// word returns a text in the language of the page. {name} in it is replaced by values.name.
export function word(name, values = {}) {
  const ours = /^de\b/.test(document.documentElement.lang) ? german : english;
  let text = words()[name] ?? ours[name] ?? name;
  for (const [k, v] of Object.entries(values)) text = text.replaceAll(`{${k}}`, v);
  return text;
}

const english = {
  cancel: "Cancel",
  copied: "Copied",
  yes: "Yes",
  "upload.failed": "Upload failed. Try again.",
  "upload.offline": "You're offline. The upload resumes when you're back.",
  "upload.dropped": "Connection lost. Retrying in {n} s.",
  "upload.on": "Upload resumed",
  "upload.done": "Uploaded",
  "keep.since": "Not saved since {time} · kept on this device",
  "keep.at": "Not saved since {time}.",
  "keep.full": "Not saved, and this device has no space left to keep a copy",
  "keep.over": "You have edited this since. Restoring replaces the current text. The same button brings it back.",
  "autosave.not": "Not saved",
  "autosave.login": "Sign in again in another tab. Your text is kept on this device.",
  "autosave.failed": "The server has a problem. Your text is kept on this device and saved again soon.",
  "autosave.offline": "You're offline. Your text is kept on this device and saved when you're back.",
};

const german = {
  cancel: "Abbrechen",
  copied: "Kopiert",
  yes: "Ja",
  "upload.failed": "Der Upload ist fehlgeschlagen. Versuchen Sie es noch einmal.",
  "upload.offline": "Keine Verbindung. Der Upload läuft weiter, sobald Sie wieder online sind.",
  "upload.dropped": "Verbindung verloren. Neuer Versuch in {n} s.",
  "upload.on": "Upload fortgesetzt",
  "upload.done": "Hochgeladen",
  "keep.since": "Nicht gespeichert seit {time} · auf diesem Gerät gesichert",
  "keep.at": "Nicht gespeichert seit {time}.",
  "keep.full": "Nicht gespeichert, und auf diesem Gerät ist kein Platz für eine Kopie",
  "keep.over": "Sie haben seitdem weitergeschrieben. Wiederherstellen ersetzt den jetzigen Text. Dieselbe Schaltfläche holt ihn zurück.",
  "autosave.not": "Nicht gespeichert",
  "autosave.login": "Loggen Sie sich in einem anderen Tab wieder ein. Ihr Text ist auf diesem Gerät gesichert.",
  "autosave.failed": "Der Server hat ein Problem. Ihr Text ist auf diesem Gerät gesichert und wird bald gespeichert.",
  "autosave.offline": "Keine Verbindung. Ihr Text ist auf diesem Gerät gesichert und wird gespeichert, sobald Sie wieder online sind.",
};

let read;

function words() {
  if (!read) {
    const e = document.getElementById("console-words");
    try {
      read = e ? JSON.parse(e.textContent) : {};
    } catch {
      read = {};
    }
  }
  return read;
}

// say has screen readers speak a text. The same text twice is spoken twice.
export function say(text) {
  const e = document.querySelector("[data-live]");
  if (!e) return;
  e.textContent = "";
  setTimeout(() => (e.textContent = text), 50);
}

// make returns a new element with properties, and with children: elements or texts.
export function make(name, properties = {}, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
}
