// What htmx is told before it starts. It reads an element of the page, which is made here so that no page can forget it.
const meta = document.createElement("meta");
meta.name = "htmx-config";
meta.content = JSON.stringify({
  extensions: "console", // and no other
  includeIndicatorCSS: false, // console.css has it
  history: true, // going back fetches the page again
  defaultTimeout: 30000,
  transitions: false,
  morphIgnore: ["data-htmx-powered", "open"], // what a reader has opened stays open while a part is asked for again
});
document.head.append(meta);
