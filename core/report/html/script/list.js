// The list of findings: only what is on the screen is in the page.
import { byId, make } from "./dom.js";
import { brief, shownLine } from "./words.js";
import { column, findings, firstPlace, placeText, text } from "./data.js";
import { costText, severityMark, sinceTag } from "./finding.js";
import { stale, state } from "./state.js";

export const list = {
  rows: new Map(), // by position
  MOST: 12e6, // pixels: browsers draw nothing beyond some 17 million

  measure() {
    this.row = parseFloat(getComputedStyle(byId("list")).getPropertyValue("--row"));
    this.full = state.visible.length * this.row;
    this.height = Math.min(this.full, this.MOST);
    byId("list").style.setProperty("height", `${this.height}px`);
  },
  // Pixels of the whole list above the screen, and where on the page that is.
  top() {
    const box = byId("list").getBoundingClientRect();
    const above = Math.max(0, -box.top);
    if (this.full <= this.height) return { offset: above, above };
    const room = Math.max(1, this.height - innerHeight);
    return { offset: Math.min(1, above / room) * (this.full - innerHeight), above };
  },
  draw(afresh) {
    if (state.view !== "findings") return;
    const box = byId("list");
    if (afresh) {
      box.replaceChildren();
      this.rows.clear();
      this.measure();
      box.hidden = state.visible.length === 0;
      byId("none").hidden = state.visible.length !== 0;
      stale.delete("findings");
    }
    const { offset, above } = this.top();
    const first = Math.max(0, Math.floor(offset / this.row) - 6);
    const last = Math.min(state.visible.length, Math.ceil((offset + innerHeight) / this.row) + 6);
    for (const [at, row] of this.rows)
      if (at < first || at >= last) {
        row.remove();
        this.rows.delete(at);
      }
    for (let at = first; at < last; ++at) {
      let row = this.rows.get(at);
      if (!row) {
        row = makeRow(state.visible[at], at);
        this.rows.set(at, row);
        box.append(row);
      }
      row.style.setProperty("transform", `translateY(${above + at * this.row - offset}px)`);
    }
    this.mark();
  },
  mark() {
    let active = "";
    for (const row of this.rows.values()) {
      const is = Number(row.dataset.finding) === state.selected;
      row.setAttribute("aria-selected", String(is));
      if (is) active = row.id;
    }
    if (active) byId("list").setAttribute("aria-activedescendant", active);
    else byId("list").removeAttribute("aria-activedescendant");
  },
  reveal(at) {
    const head = byId("bar").getBoundingClientRect().bottom;
    const box = byId("list").getBoundingClientRect();
    const { offset, above } = this.top();
    const y = box.top + above + at * this.row - offset;
    const hidden = y < head ? y - head : y + this.row > innerHeight ? y + this.row - innerHeight : 0;
    // Where the list is squeezed, a pixel of scrolling is several of the list.
    if (hidden) scrollBy(0, hidden * (this.full > this.height ? this.height / this.full : 1));
    this.draw(false);
  },
};

function makeRow(i, at) {
  const f = findings[i];
  const place = firstPlace(f);
  const where = text(f.where);
  return make("div", { class: "row", role: "option", id: `row-${i}`, "data-finding": i, "aria-setsize": state.visible.length,
                       "aria-posinset": at + 1, "aria-selected": "false" },
    make("div", { class: "row-head" }, severityMark(f.severity),
      make("span", { class: "rule" }, shownLine(text(f.rule))),
      make("span", { class: "cost" }, costText(f, false))),
    make("div", { class: "message" }, brief(text(f.message), 300)),
    make("div", { class: "row-foot" },
      make("span", { class: "place" }, make("code", {}, place ? brief(placeText(place), 200) : "no place in the sources"),
        place?.function && ` in ${brief(place.function, 120)}`, where && ` · ${where}`),
      sinceTag(f),
      column.mark[i] === 2 && make("span", { class: "tag both" }, "predicted and observed"),
      column.mark[i] === 0 && make("span", { class: "tag" }, "predicted"),
      f.known && make("span", { class: "tag" }, "known")));
}
