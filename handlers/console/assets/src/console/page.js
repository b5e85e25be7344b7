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
  let text = words()[name] ?? english[name] ?? name;
  for (const [k, v] of Object.entries(values)) text = text.replaceAll(`{${k}}`, v);
  return text;
}

const english = {
  cancel: "Cancel",
  copied: "Copied",
  yes: "Yes",
  "upload.failed": "The file could not be sent. Try again.",
  "upload.offline": "There is no connection. The file is sent again in a moment.",
  "upload.done": "Sent",
  "keep.since": "Not saved since {time}, kept on this device",
  "autosave.login": "Not saved: sign in again, in another tab. What you write is kept on this device.",
  "autosave.failed": "Not saved: the server has a problem. It is tried again.",
  "autosave.offline": "Not saved: there is no connection. It is tried again, and kept on this device.",
  "keep.full": "Not saved, and there is no room on this device",
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
