// The question of a project from elsewhere.
import { send } from "./app.js";

document.getElementById("consent").addEventListener("click", async () => {
  if (await send("/api/ask", {})) location.assign("/");
});
