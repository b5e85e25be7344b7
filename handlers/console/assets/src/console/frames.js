// <iframe data-whole> is as high as the page in it, so that nothing scrolls inside. The page is of our own origin and runs no
// scripts; one that can't be looked into stays as high as the stylesheet says. One that the stylesheet has wider than what it
// stands in is drawn smaller.
import { onContent } from "./page.js";

function fit(frame) {
  let page;
  try {
    page = frame.contentDocument;
  } catch {
    return;
  }
  if (!page?.body || page.URL === "about:blank" || !frame.clientWidth) return;
  const root = page.documentElement;
  // Without a doctype the root is as high as the frame, whatever it holds.
  const ends = [...page.body.children].map((e) => e.getBoundingClientRect().bottom + frame.contentWindow.scrollY);
  const quirks = page.compatMode === "BackCompat";
  const height = Math.ceil(Math.max(quirks ? 0 : root.getBoundingClientRect().height, ...ends));
  if (height > 0) frame.style.height = `${height}px`;
  shrink(frame, height);
}

function shrink(frame, height) {
  const scale = Math.min(1, frame.parentElement.clientWidth / frame.offsetWidth);
  frame.style.transform = scale < 1 ? `scale(${scale})` : "";
  frame.style.marginBottom = scale < 1 ? `${Math.ceil((scale - 1) * height)}px` : ""; // the room that it leaves
  frame.parentElement.style.overflowX = scale < 1 ? "hidden" : "";
}

const known = new WeakSet();
const sizes = new ResizeObserver((entries) => {
  const frames = entries.flatMap(({ target: t }) => (t.matches("iframe") ? t : [...t.querySelectorAll("iframe[data-whole]")]));
  requestAnimationFrame(() => frames.forEach(fit));
});

onContent((root) => {
  for (const frame of root.querySelectorAll("iframe[data-whole]")) {
    if (known.has(frame)) continue;
    known.add(frame);
    frame.addEventListener("load", () => fit(frame));
    sizes.observe(frame);
    sizes.observe(frame.parentElement);
    fit(frame);
  }
});
