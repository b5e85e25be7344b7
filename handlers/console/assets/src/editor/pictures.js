// Pictures on their way to the server: a form with the field "file" is sent to the address of data-upload, which
// answers {"url": …}, and may answer {"alt": …} too.
import { isImage, shrunk, size } from "../console/shrink.js";
import { word } from "./words.js";

const tries = 3;
let made = 0;

// A picture that stayed on a computer, or that the server did not take, keeps its place in what is saved: the checks
// find it, and nothing is sent without it.
const stayed = "file:";

export function isFailed(pending) {
  return pending.startsWith("failed-");
}

// savedSrc returns the address that a picture is saved with; "": it isn't saved.
export function savedSrc({ src, pending }) {
  return pending ? stayed : src;
}

// pictureAt returns the attributes of a picture that was saved with an address.
export function pictureAt(src) {
  return /^file:/i.test(src) ? { src: "", pending: "drop" } : { src };
}

export class Pictures {
  // upload is the address; most is how many bytes it takes, and tooMany what it says of more; say says what becomes of
  // a picture; hosts are origins whose pictures the page may show.
  constructor({ upload, most, tooMany }, say, hosts) {
    this.upload = upload;
    this.most = Number(most) || Infinity;
    this.tooMany = tooMany;
    this.underWay = new Set(); // promises
    this.say = say;
    this.hosts = [location.origin, ...hosts];
    this.files = new Map(); // pending: file
    this.shown = new Map(); // address or pending: data: address of what was sent
    this.videos = new Map(); // file: address of the video that it is the picture of
    this.reasons = new Map(); // pending: why it could not be sent
    // Once there is a line again, what could not be sent is sent without being asked.
    addEventListener("online", () => {
      for (const failed of [...this.files.keys()].filter(isFailed)) {
        if (this.view && !this.view.isDestroyed) this.again(failed, this.view);
      }
    });
  }

  get canSend() {
    return Boolean(this.upload);
  }

  // own returns the pictures that are there already: none where there is no answer.
  async own() {
    try {
      const r = await fetch(this.library, { headers: { Accept: "application/json" } });
      return r.ok ? await r.json() : [];
    } catch {
      return [];
    }
  }

  // visible returns an address that the page may load, or "".
  visible(src, pending) {
    const local = this.shown.get(src) ?? this.shown.get(pending);
    if (local) return local;
    try {
      return this.hosts.includes(new URL(src, location.href).origin) ? src : "";
    } catch {
      return "";
    }
  }

  // send sends a file with its alt text, and returns what the node of its picture has as pending meanwhile. The picture
  // of a video gets a play mark.
  send(file, view, alt = "", video = "") {
    const pending = `send-${++made}`;
    this.view = view;
    this.files.set(pending, file);
    if (video) this.videos.set(file, video);
    const done = this.start(pending, view, alt).finally(() => {
      this.underWay.delete(done);
      this.tell(view);
    });
    this.underWay.add(done);
    this.tell(view);
    return pending;
  }

  // tell has the form know whether a picture is on its way (autosave.js).
  tell(view) {
    view.dom.closest("form")?.toggleAttribute("data-sending", this.underWay.size > 0);
  }

  // settled is kept once no picture is on its way.
  async settled() {
    while (this.underWay.size) await Promise.allSettled(this.underWay);
  }

  async start(pending, view, alt) {
    const chosen = this.files.get(pending);
    this.say(word("picture.sending"));
    this.shown.set(pending, isShown(chosen) ? await dataAddress(chosen) : "");
    const file = await shrunk(chosen);
    if (file !== chosen) this.shown.set(pending, await dataAddress(file));
    const video = this.videos.get(chosen);
    if (video) this.videos.set(file, video);
    const answer = file.size > this.most ? { reason: this.tooMany } : await this.post(this.upload, () => formOf(file, alt, video));
    if (view.isDestroyed) return;
    if (!answer.url) {
      this.say(answer.reason);
      this.reasons.set(`failed-${pending}`, answer.reason);
      this.files.delete(pending);
      change(view, pending, { pending: `failed-${pending}` });
      this.files.set(`failed-${pending}`, file);
      this.shown.set(`failed-${pending}`, this.shown.get(pending));
      return;
    }
    const sizes = { from: size(chosen.size), to: size(file.size) };
    this.say(file.size < chosen.size ? word("picture.scaled", sizes) : "");
    if (!video) this.shown.set(answer.url, this.shown.get(pending)); // that has no play mark
    this.files.delete(pending);
    change(view, pending, { src: answer.url, pending: "" }, answer.alt);
  }

  // again sends a file once more that could not be sent.
  again(failed, view) {
    const pending = this.send(this.files.get(failed), view);
    this.files.delete(failed);
    change(view, failed, { pending });
  }

  // thumbnail has the server fetch the picture of a video, and returns {url, alt}, or {reason}.
  thumbnail(video) {
    return this.post(`${this.upload}?video=${encodeURIComponent(video)}`, () => null);
  }

  // post sends what body returns, and returns the answer, or the reason why there is none: what the server refuses is
  // not sent again.
  async post(address, body) {
    for (let n = 1; ; n++) {
      let reason = "";
      try {
        const r = await fetch(address, { method: "POST", body: body(), headers: { Accept: "application/json" } });
        if (r.ok) return await r.json();
        if (/^text\/plain/.test(r.headers.get("Content-Type") ?? "")) reason = await r.text();
        if (r.status < 500) return { reason: reason || word("picture.failed") };
      } catch {
        // there was no answer
      }
      if (n === tries) return { reason: reason || word("picture.failed") };
      await new Promise((done) => setTimeout(done, 500 * 2 ** n));
    }
  }
}

function formOf(file, alt, video) {
  const form = new FormData();
  if (alt) form.append("alt", alt);
  if (video) form.append("video", video);
  form.append("file", file, file.name || "picture");
  return form;
}

// change changes the picture that is pending, wherever it stands now.
function change(view, pending, attrs, alt) {
  view.state.doc.descendants((node, pos) => {
    if (node.attrs.pending !== pending) return true;
    const all = { ...node.attrs, ...attrs, alt: node.attrs.alt || alt || "" };
    view.dispatch(view.state.tr.setNodeMarkup(pos, null, all).setMeta("addToHistory", false));
    return false;
  });
}

// dataAddress returns a file as a data: address; empty where it can't be read.
export function dataAddress(file) {
  return new Promise((done) => {
    const r = new FileReader();
    r.onload = () => done(r.result);
    r.onerror = () => done("");
    r.readAsDataURL(file);
  });
}

// fileOf returns the file of a data: address, or null. The policy of the page lets nothing fetch it.
export function fileOf(address) {
  const found = /^data:(image\/(?:png|jpeg|gif|webp))(;base64)?,(.*)$/s.exec(address);
  if (!found) return null;
  try {
    const text = found[2] ? atob(found[3].replace(/\s/g, "")) : decodeURIComponent(found[3]);
    const type = found[1];
    return new File([Uint8Array.from(text, (c) => c.charCodeAt(0))], `picture.${type.slice(6)}`, { type });
  } catch {
    return null;
  }
}

export { isImage as isPicture };

// isShown reports whether browsers show a file as it is.
function isShown(file) {
  return /^image\/(?:png|jpeg|gif|webp)$/.test(file.type);
}
