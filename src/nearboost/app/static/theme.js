"use strict";

// Dark or light as it was chosen last, before anything is drawn.
{
  const root = document.documentElement;
  const kept = localStorage.getItem("theme");
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  new MutationObserver(() => localStorage.setItem("theme", root.dataset.theme)).observe(root, {
    attributeFilter: ["data-theme"],
  });
}
