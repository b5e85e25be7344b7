// Passkeys on the pages that have a form for them: its options are made by the server, and what the authenticator
// answers goes back in a field of the form. Without this script the forms stay hidden.
"use strict";
(() => {
  const form = document.querySelector("form[data-passkey]");
  if (!form || !window.PublicKeyCredential || !navigator.credentials) return;
  const bytes = (text) => {
    const raw = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    return Uint8Array.from(raw, (c) => c.charCodeAt(0));
  };
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const options = JSON.parse(form.dataset.passkey);
  options.challenge = bytes(options.challenge);
  if (options.user) options.user.id = bytes(options.user.id);
  for (const c of [...(options.excludeCredentials || []), ...(options.allowCredentials || [])]) c.id = bytes(c.id);

  const send = (credential) => {
    const answer = { id: credential.id, rawId: text(credential.rawId), type: credential.type, clientExtensionResults: {},
      response: { clientDataJSON: text(credential.response.clientDataJSON) } };
    for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (credential.response[name]) answer.response[name] = text(credential.response[name]);
    }
    form.elements.response.value = JSON.stringify(answer);
    form.submit();
  };
  const failed = form.querySelector("[data-failed]");
  let waiting = null;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (waiting) waiting.abort();
    if (failed) failed.hidden = true;
    try {
      send(options.user ? await navigator.credentials.create({ publicKey: options })
        : await navigator.credentials.get({ publicKey: options }));
    } catch {
      if (failed) failed.hidden = false;
    }
  });
  form.hidden = false;
  for (const other of document.querySelectorAll("[data-without-passkeys]")) other.hidden = true;

  // The list of passkeys at the field of the e-mail address.
  const offer = async () => {
    if (location.pathname === form.getAttribute("action")) return; // it was refused just now
    if (!document.querySelector("[autocomplete~=webauthn]") || !PublicKeyCredential.isConditionalMediationAvailable ||
      !(await PublicKeyCredential.isConditionalMediationAvailable())) return;
    waiting = new AbortController();
    try {
      send(await navigator.credentials.get({ publicKey: options, mediation: "conditional", signal: waiting.signal }));
    } catch { /* another way was taken */ }
  };
  offer();
})();
