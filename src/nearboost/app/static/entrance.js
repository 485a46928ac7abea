"use strict";

// The token stands behind the #, which no browser sends; it is taken out of the address before anything else.
const token = location.hash.slice(1);
const said = document.getElementById("said");
history.replaceState(null, "", location.pathname);

async function enter() {
  const sent = token
    ? await fetch("/open", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ token }),
      })
    : null;
  const inside = await fetch("/api/classes");
  if (inside.ok) {
    location.replace("/");
  } else if (sent) {
    said.textContent = (await sent.json()).error;
  } else {
    said.textContent = "Open the address that the program printed when it started; it works once.";
  }
}

enter().catch(() => {
  said.textContent = "The app does not answer; start it again.";
});
