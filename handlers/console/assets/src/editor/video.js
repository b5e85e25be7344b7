// Videos: emails can't play them, so a picture with a play mark leads to the video.
import { make } from "../console/page.js";
import { apart, around, complete, insert } from "./actions.js";
import { dialog } from "./dialog.js";
import { schema } from "./schema.js";
import { word } from "./words.js";

const n = schema.nodes;
const hosted = /^https?:\/\/(?:(?:www|m|music)\.)?(?:youtube\.com\/(?:watch\?|shorts\/|live\/)|youtu\.be\/\w|vimeo\.com\/\d)\S*$/i;

// isVideo reports whether a text is the address of a video whose thumbnail the server can fetch.
export function isVideo(text) {
  return hosted.test(text.trim());
}

// thumbnail lets the thumbnail of the video be fetched, and shows it. Its address is in the field src.
function thumbnail(pictures, form) {
  const button = make("button", { type: "button", className: "button", textContent: word("video.fetch") });
  const said = make("p", { className: "editor-said" });
  said.setAttribute("role", "status");
  const img = make("img", { alt: word("picture.chosen") });
  const box = make("div", { className: "editor-chosen", hidden: true }, img);
  const src = make("input", { type: "hidden", name: "src" });
  const none = () => {
    src.value = "";
    box.hidden = true;
  };
  button.onclick = async () => {
    const { href, alt, file } = form.elements;
    if (!href.reportValidity()) return;
    button.disabled = true;
    said.textContent = word("video.fetching");
    const asked = href.value;
    const answer = await pictures.thumbnail(complete(asked.trim()));
    button.disabled = false;
    if (href.value !== asked) return;
    said.textContent = answer.reason ?? "";
    none();
    if (!answer.url) return;
    src.value = img.src = answer.url;
    box.hidden = false;
    file.value = "";
    if (!alt.value || alt.value === alt.dataset.ofVideo) alt.value = alt.dataset.ofVideo = answer.alt ?? "";
  };
  form.addEventListener("change", ({ target }) => {
    if (target === form.elements.href || target === form.elements.file) none();
  });
  return make("div", {}, make("p", {}, button), said, box, src);
}

// askVideo inserts the picture of a video. href is what its address is to begin with.
export function askVideo(pictures, href = "") {
  return (state, dispatch, view) => {
    if (!pictures.canSend) return false;
    if (!dispatch) return true;
    const fields = [
      { name: "href", label: word("video.address"), value: href, required: true, mode: "url" },
      { element: (form) => thumbnail(pictures, form) },
      { name: "file", label: word("video.file"), type: "file" },
      { name: "alt", label: word("alt") },
      { name: "src" },
    ];
    const incomplete = (form) => (form.elements.src.value || form.elements.file.files.length ? "" : word("video.missing"));
    dialog(word("video"), fields, { ok: word("insert"), incomplete }).then((a) => {
      view.focus();
      if (!a) return;
      const attrs = { href: complete(a.href), alt: a.alt, src: a.src };
      if (a.file) Object.assign(attrs, { src: "", pending: pictures.send(a.file, view, a.alt, attrs.href) });
      const { selection } = view.state;
      const bare = around(view.state, n.paragraph);
      const { tr } = view.state;
      // A paragraph that is nothing but the address becomes the picture.
      if (bare && selection.empty && isVideo(bare.node.textContent)) {
        tr.delete(bare.pos + 1, bare.pos + 1 + bare.node.content.size);
        view.dispatch(tr);
      }
      insert(view.state, apart(view), n.figure.create(attrs));
    });
    return true;
  };
}
