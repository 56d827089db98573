// The tabs: what is shown of them is drawn when it is shown.
import { NEAR, byId } from "./dom.js";
import { stale, state } from "./state.js";
import { isFiltered } from "./filters.js";
import { list } from "./list.js";
import { showDetail } from "./detail.js";
import { drawTimeline } from "./timeline.js";
import { drawStacks } from "./stacks.js";
import { hasFirst } from "./overview.js";

export const VIEWS = ["findings", "timeline", "stacks", "about"];
export function showView(name) {
  state.view = name;
  for (const one of VIEWS) {
    const is = one === name;
    byId(`tab-${one}`).setAttribute("aria-selected", String(is));
    byId(`tab-${one}`).tabIndex = is ? 0 : -1;
    byId(`view-${one}`).hidden = !is;
  }
  byId("filters").hidden = byId("state").hidden = name === "about";
  draw();
}
export function draw() {
  byId("first").hidden = !hasFirst || Boolean(isFiltered());
  if (state.view === "findings") list.draw(stale.has("findings"));
  if (state.view === "timeline" && stale.has("timeline")) drawTimeline();
  if (state.view === "stacks" && stale.has("stacks")) drawStacks();
  if (state.view === "findings" && NEAR.matches) {
    // What is shown beside the list is of the list.
    if (state.visible.indexOf(state.selected) < 0) state.selected = state.visible.length ? state.visible[0] : -1;
    showDetail(state.selected);
    list.mark();
  }
}
