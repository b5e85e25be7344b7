// Images are scaled down before they are uploaded: the server keeps none wider than this, and a photo of a phone takes
// minutes on a slow line. The server reads what arrives anew, so nothing here is trusted.
const widest = 2400; // pixels, as the server keeps images
const mostPNG = 4_000_000; // pixels that it keeps of a PNG

// isImage reports whether a file is an image, also one that email programs don't show: the server says why it refuses it.
export function isImage(file) {
  return /^image\//.test(file.type) || /\.(?:heic|heif|avif)$/i.test(file.name);
}

// shrunk returns an image as it is uploaded: scaled down where it is wider than an email needs, and HEIC as JPEG where
// the browser can read it. A transparent image stays transparent. It returns the file itself where that is smaller, and
// where the browser can't read it.
export async function shrunk(file) {
  const foreign = /^image\/hei[cf]/.test(file.type) || /\.hei[cf]$/i.test(file.name);
  if (!foreign && !/^image\/(?:jpeg|png|webp)$/.test(file.type)) return file;
  let image;
  try {
    image = await createImageBitmap(file);
  } catch {
    return file; // the server says what is wrong with it
  }
  const type = foreign ? "image/jpeg" : file.type;
  const most = type === "image/jpeg" ? Infinity : mostPNG;
  const by = Math.min(1, widest / image.width, Math.sqrt(most / (image.width * image.height)));
  const blob = by < 1 || foreign ? await drawn(image, by, type) : null;
  image.close();
  if (!blob || (!foreign && blob.size >= file.size)) return file;
  const name = blob.type === file.type ? file.name : file.name.replace(/\.\w+$/, "") + `.${blob.type.slice(6)}`;
  return new File([blob], name, { type: blob.type, lastModified: file.lastModified });
}

function drawn(image, by, type) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.floor(image.width * by));
  canvas.height = Math.max(1, Math.floor(image.height * by));
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, type, 0.88));
}

// size says how many bytes those are, in the language of the page.
export function size(bytes) {
  const kilo = bytes < 1e6;
  const n = kilo ? Math.max(1, Math.round(bytes / 1e3)) : Math.round(bytes / 1e5) / 10;
  return `${n.toLocaleString(document.documentElement.lang)} ${kilo ? "kB" : "MB"}`;
}
