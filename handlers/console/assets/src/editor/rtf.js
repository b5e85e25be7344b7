// Pictures that Word puts on the clipboard in RTF alone, while the HTML names files of the computer.

const most = 20; // megabytes of a picture, and of pictures in a paste

// rtfPictures returns the pictures of an RTF text in their order: files, and null for those of a kind that no browser
// shows. What stands there once more for old programs is left out.
export function rtfPictures(rtf) {
  const found = [];
  if (rtf.length > most * 10e6) return found;
  const sign = /\\[\\{}]|[{}]/g;
  for (let at = 0; (at = rtf.indexOf("{\\pict", at)) >= 0 && found.length < most * 5; at = sign.lastIndex) {
    let depth = 0;
    sign.lastIndex = at;
    for (let m; (m = sign.exec(rtf)); ) if (!(depth += { "{": 1, "}": -1 }[m[0]] ?? 0)) break;
    if (depth) return []; // it is cut off
    if (!/\\(?:nonshppict|listpicture)\s*$/.test(rtf.slice(Math.max(0, at - 20), at))) {
      found.push(picture(rtf.slice(at, sign.lastIndex - 1)));
    }
  }
  return found;
}

// picture returns the file of a group \pict without its end, or null.
function picture(group) {
  const type = /\\(png|jpeg)blip\b/.exec(group)?.[1];
  const hex = group.slice(group.lastIndexOf("}") + 1).replace(/\\[a-z]+-?\d*|[{\s]/g, "");
  if (!type || !hex || hex.length > most * 2e6 || hex.length % 2 || /[^\da-f]/i.test(hex)) return null;
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return new File([bytes], `picture.${type}`, { type: `image/${type}` });
}

// pictureOf returns the picture for the nth address of a paste; nothing where it isn't sure which one that is.
export function pictureOf(found, n, addresses) {
  const local = (src) => !/^(?:https?|data):/i.test(src);
  for (const files of [found, found.filter(Boolean)]) {
    if (files.length === addresses.length) return files[n];
    if (files.length === addresses.filter(local).length) return files[addresses.slice(0, n).filter(local).length];
  }
}
