// htmx for the pages of the console. It runs no text as a script, and puts no styles into pages.
import "./htmx-config.js";
import htmx from "htmx.org/dist/htmx.esm.js";

// htmx makes functions of the texts of hx-on, of filters of triggers and of values that begin with js:. None is used
// here, and the policy of the pages forbids it: they are refused before the browser refuses them.
function Refused() {
  throw new Error("a page of the console runs no text as a script");
}

htmx.registerExtension("console", {
  init(api) {
    api.initSecurity(null, Refused, Refused);
  },
});
