// Sets the height of an issue's frame to that of its email, which is known only after loading.
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
