// The page's only script, put together of this and what it imports. It reads the data that stands in the page, and nothing
// else. What comes from the program under test goes into text nodes and attributes that hold text, never into markup.
// This part starts it, and listens to mouse and keyboard.
import { applyTheme, dark, toggleTheme } from "./theme.js";
import { NEAR, byId, make, root } from "./dom.js";
import { findings, read, summary } from "./data.js";
import { stale, state } from "./state.js";
import { apply, clearFilters, fillFilters, filter } from "./filters.js";
import { list } from "./list.js";
import { closeSheet, goTo, move, select, sheetClosed, wentBack } from "./detail.js";
import { timeline } from "./timeline.js";
import { drawAbout, drawFirst, drawHead } from "./overview.js";
import { VIEWS, draw, showView } from "./views.js";

function listen() {
  let asked = false;
  addEventListener("scroll", () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; list.draw(false); });
  }, { passive: true });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return list.draw(false); // a phone's address bar
    width = innerWidth;
    for (const name of ["findings", "timeline", "stacks"]) stale.add(name);
    draw();
  });
  new ResizeObserver(() => root.style.setProperty("--bar", `${byId("bar").offsetHeight}px`)).observe(byId("bar"));
  NEAR.addEventListener("change", closeSheet);
  dark.addEventListener("change", () => { applyTheme(); stale.add("timeline"); draw(); });
  addEventListener("popstate", wentBack);
  byId("sheet").addEventListener("close", sheetClosed);
  byId("theme").addEventListener("click", switchTheme);
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  byId("list").addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) select(Number(row.dataset.finding), { open: !NEAR.matches, reveal: false });
  });
  byId("list").addEventListener("focus", () => { if (state.selected < 0) move(1); });
  byId("list").addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(innerHeight / list.row) - 3);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -state.visible.length, End: state.visible.length }[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    move(by);
  });
  byId("views").addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) showView(tab.id.slice("tab-".length));
  });
  byId("views").addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = VIEWS[(VIEWS.indexOf(state.view) + by + VIEWS.length) % VIEWS.length];
    showView(next);
    byId(`tab-${next}`).focus();
  });
  addEventListener("keydown", keyPressed);
}

function switchTheme() {
  toggleTheme();
  stale.add("timeline"); // its colours are painted
  draw();
}

function keyPressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
  if (event.key === "Escape") {
    if (event.target === byId("search")) {
      if (byId("search").value) {
        filter.words = byId("search").value = "";
        apply();
      } else {
        byId("list").focus();
      }
      event.preventDefault();
    } else if (NEAR.matches && byId("detail").contains(event.target)) {
      byId("list").focus({ preventScroll: true });
    }
    return;
  }
  if (event.key === "Enter" && event.target === byId("search")) {
    event.preventDefault();
    showView("findings");
    byId("list").focus();
    return;
  }
  if (inField) return;
  const inSheet = byId("sheet").open;
  const act = {
    "j": () => { if (!inSheet) showView("findings"); move(1); },
    "k": () => { if (!inSheet) showView("findings"); move(-1); },
    "Enter": event.target === byId("list") || event.target === document.body ? () => { if (state.selected >= 0) select(state.selected, { open: true }); } : null,
    "?": () => byId("help").showModal(),
    "t": switchTheme,
    "/": inSheet ? null : () => { byId("search").focus(); byId("search").select(); },
    "x": inSheet ? null : clearFilters,
    "1": inSheet ? null : () => showView("findings"),
    "2": inSheet ? null : () => showView("timeline"),
    "3": inSheet ? null : () => showView("stacks"),
    "4": inSheet ? null : () => showView("about"),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

addEventListener("DOMContentLoaded", () => {
  applyTheme();
  try {
    read();
  } catch {
    byId("top").after(make("p", { class: "alert" }, "This file is cut off or damaged: its findings cannot be read."));
    return;
  }
  byId("main").hidden = false;
  timeline.by = summary.ranks.length > 1 ? "rank" : "device";
  drawHead();
  drawFirst();
  fillFilters();
  drawAbout();
  listen();
  apply();
  const asked = /^#finding-(\d+)$/.exec(location.hash);
  if (asked && findings[asked[1] - 1]) goTo(asked[1] - 1);
  root.dataset.ready = "yes";
});
