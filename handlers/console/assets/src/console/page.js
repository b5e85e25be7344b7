// What the parts of the console's script share.

// onContent calls f for the page, and again for each part that htmx swaps into it. Modules run once the page is read.
export function onContent(f) {
  f(document);
  document.addEventListener("htmx:after:swap", () => f(document));
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
  "upload.failed": "The file could not be sent. Try again.",
  "upload.offline": "There is no connection. The file is sent again in a moment.",
  "upload.dropped": "The connection dropped. Going on in {n} s.",
  "upload.on": "The upload goes on where it stopped.",
  "upload.done": "Sent",
  "keep.since": "Not saved since {time}, kept on this device",
  "keep.at": "Not saved since {time}.",
  "keep.full": "Not saved, and there is no room on this device",
  "keep.over":
    "You have written on since. What you wrote before takes the place of what stands here now, which you can take back by the same button.",
  "autosave.not": "Not saved",
  "autosave.login": "Sign in again, in another tab. What you write is kept on this device.",
  "autosave.failed": "The server has a problem. It is tried again, and kept on this device.",
  "autosave.offline": "There is no connection. It is tried again, and kept on this device.",
};

const german = {
  cancel: "Abbrechen",
  copied: "Kopiert",
  yes: "Ja",
  "upload.failed": "Die Datei ließ sich nicht senden. Versuchen Sie es noch einmal.",
  "upload.offline": "Es gibt keine Verbindung. Die Datei wird gleich noch einmal gesendet.",
  "upload.dropped": "Die Verbindung ist abgebrochen. Es geht in {n} s weiter.",
  "upload.on": "Das Hochladen geht dort weiter, wo es stand.",
  "upload.done": "Gesendet",
  "keep.since": "Nicht gespeichert seit {time}, auf diesem Gerät aufgehoben",
  "keep.at": "Nicht gespeichert seit {time}.",
  "keep.full": "Nicht gespeichert, und auf diesem Gerät ist kein Platz",
  "keep.over":
    "Sie haben seitdem weitergeschrieben. Was Sie vorher geschrieben haben, tritt an die Stelle dessen, was jetzt hier steht; mit demselben Knopf holen Sie dieses zurück.",
  "autosave.not": "Nicht gespeichert",
  "autosave.login": "Melden Sie sich in einem anderen Tab neu an. Was Sie schreiben, bleibt auf diesem Gerät.",
  "autosave.failed": "Der Server hat eine Störung. Es wird wieder versucht und bleibt auf diesem Gerät.",
  "autosave.offline": "Es gibt keine Verbindung. Es wird wieder versucht und bleibt auf diesem Gerät.",
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
