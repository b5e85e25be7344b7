// Gives the frame of an issue the height of its mail, which a page can't know before.
"use strict";
const frame = document.querySelector("iframe.mail");
const fit = () => {
  const mail = frame.contentDocument;
  if (!mail || !mail.body) return;
  frame.style.height = "0";
  frame.style.height = mail.documentElement.scrollHeight + "px";
};
if (frame) {
  frame.addEventListener("load", fit);
  addEventListener("resize", fit);
  fit();
}
