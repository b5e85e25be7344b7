// The ordinary script of the console. Pages work without it; it makes them quicker to use. What it does is asked for by
// attributes, so a page has no script of its own, and parts that htmx swaps in work as those that were there before.
//
//   <a href="/search" data-opens="palette">      opens <dialog id="palette">; so do Ctrl+K and Cmd+K, where that dialog
//                                                has data-palette: arrows then go through its links
//   <button data-closes>                         closes the dialog around it
//   <details data-menu><summary>                 a menu: Escape and clicks elsewhere close it, arrows go through it
//   <form data-confirm="Delete it?">             asks first, in a dialog; data-confirm-yes is the word on the button, and
//                                                data-confirm-no that on the one that does nothing; the same on a button
//                                                asks when that one submits
//   <button data-copy="#id" hidden>              copies the text or value of #id, and says data-copied
//   <button type="button" data-insert="text" data-into="id">  puts the text into the field #id, where the cursor was
//   <div data-emoji="id">                        gets buttons that put an emoji there; see console/emoji.js
//   <div data-poll="2" hx-get="…" hx-trigger="poll">  fetched again every 2 seconds, in tabs that are seen; a part that
//                                                comes without data-poll is polled no more
//   <form data-upload="#list">                   files dropped on the form are sent, with <progress>; the answer
//                                                replaces the content of #list; <p data-fault> says what went wrong
//   <input type="file" data-shows="id">          shows the picture that was chosen in <img id="id" hidden>
//   <select data-asks="id">                      hides the question #id while another choice than the proposed one is made
//   <form data-keep="campaign-7">                what is written is kept on the device until the server has it;
//                                                see console/keep.js
//   <form data-autosave>                         is saved as it is written; see console/autosave.js
//   <input type="color" data-colour="id" hidden data-script>  the browser's picker for the colour that stands in #id;
//                                                see console/colour.js
//   <button data-again formtarget="sample">      is pressed when a field of its form changes; see console/again.js
//   <iframe data-whole>                          is as high as the page in it; see console/frames.js
//   <span data-moment="Schedule for {}">         names the day and time of two fields; see console/moment.js
//   <form data-forget>                           signing out: forgets all that is kept on the device
//
// Elements with the attributes data-script and hidden are shown once this script runs. <p role="status" data-live> says
// what only eyes would see otherwise. Words come from <script type="application/json" id="console-words">, else they
// are English.
import "./console/dialogs.js";
import "./console/menus.js";
import "./console/copy.js";
import "./console/insert.js";
import "./console/emoji.js";
import "./console/poll.js";
import "./console/upload.js";
import "./console/chosen.js";
import "./console/asks.js";
import "./console/keep.js";
import "./console/autosave.js";
import "./console/zone.js";
import "./console/colour.js";
import "./console/frames.js";
import "./console/again.js";
import "./console/moment.js";
import { onContent } from "./console/page.js";

onContent((root) => {
  for (const e of root.querySelectorAll("[data-script][hidden], button[data-copy][hidden]")) e.hidden = false;
});
