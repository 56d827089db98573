// Light and dark: the system's, until one is chosen.
import { byId, root } from "./dom.js";

export const dark = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null;
try { chosenTheme = localStorage.getItem("devsan-theme"); } catch { /* a page without storage */ }
export function applyTheme() {
  const isDark = chosenTheme ? chosenTheme === "dark" : dark.matches;
  root.dataset.theme = isDark ? "dark" : "light";
  const button = byId("theme");
  if (button) button.textContent = isDark ? "Light" : "Dark";
}
applyTheme(); // before the first paint

export function toggleTheme() {
  chosenTheme = root.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("devsan-theme", chosenTheme); } catch { /* a page without storage */ }
  applyTheme();
}
