// Whether two sources become the same mail, as the server says.

// sameMail returns what the server says of two sources of a kind, or null where it doesn't answer.
export async function sameMail(address, kind, before, after) {
  try {
    const r = await fetch(address, {
      method: "POST",
      body: JSON.stringify({ kind, before, after }),
      headers: { "Content-Type": "application/json", Accept: "application/json" },
    });
    return r.ok ? (await r.json()).same : null;
  } catch {
    return null; // there is no line
  }
}
