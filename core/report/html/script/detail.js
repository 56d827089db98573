// One finding, beside the list or as a sheet over it.
import { NEAR, byId, fill, make } from "./dom.js";
import { SEVERITIES, brief, bytesText, durationText, number, plural, shown, shownLine, timesText } from "./words.js";
import { column, findings, firstPlace, paths, placeAt, placeText, report, sourceLines, text } from "./data.js";
import { markOf, severityMark, sinceTag } from "./finding.js";
import { state } from "./state.js";
import { clearFilters, filter } from "./filters.js";
import { list } from "./list.js";
import { showView } from "./views.js";

let pushed = false; // a step of the browser's history is ours

export function select(i, { open = false, reveal = true } = {}) {
  state.selected = i;
  const at = state.visible.indexOf(i);
  if (at >= 0 && reveal && state.view === "findings") list.reveal(at);
  list.mark();
  if (NEAR.matches) {
    showDetail(i);
    try { history.replaceState(null, "", `#finding-${i + 1}`); } catch { /* a page without a history */ }
    if (open) byId("detail").focus({ preventScroll: true });
  } else if (open) {
    openSheet(i);
  }
}

function openSheet(i) {
  const sheet = byId("sheet");
  showDetail(i);
  if (sheet.open) return;
  sheet.append(byId("detail"));
  sheet.showModal();
  byId("detail").focus({ preventScroll: true });
  try {
    history.pushState({ finding: i }, "", `#finding-${i + 1}`);
    pushed = true;
  } catch { /* a page without a history */ }
}

export function move(by) {
  if (!state.visible.length) return;
  const at = state.visible.indexOf(state.selected);
  const next = at < 0 ? (by > 0 ? 0 : state.visible.length - 1) : Math.min(state.visible.length - 1, Math.max(0, at + by));
  if (byId("sheet").open) {
    state.selected = state.visible[next];
    showDetail(state.selected);
  } else {
    select(state.visible[next]);
  }
}

const bytes = new TextEncoder();
const characters = new TextDecoder();
// Columns count bytes from 1.
const characterOf = (line, col) => characters.decode(bytes.encode(line).subarray(0, col - 1)).length;

function excerpt(place, around, label) {
  const lines = sourceLines(place.file, place.line - around, place.line + around);
  if (!place.line || !lines.some(([line]) => line === place.line)) return null;
  const code = make("code", {});
  for (const [line, content] of lines) {
    const clean = content.replace(/\r$/, "");
    const here = line === place.line;
    const row = make("span", { class: here ? "line here" : "line" }, make("span", { class: "number" }, String(line)));
    const at = here && place.column ? characterOf(clean, place.column) : -1;
    if (at >= 0 && at < clean.length)
      row.append(shown(clean.slice(0, at)), make("mark", {}, shown(clean.charAt(at))), shown(clean.slice(at + 1)));
    else row.append(shown(clean) || " ");
    code.append(row);
  }
  return make("pre", { class: "source", tabindex: "0", role: "group", "aria-label": label }, code);
}

function longText(value, className) {
  const most = 1200;
  const box = make("p", { class: className }, shown(value.slice(0, most)));
  if (value.length > most)
    box.append(" … ", make("button", { type: "button", class: "link",
      onclick: () => { box.textContent = shown(value); } }, `Show all ${number(value.length)} characters`));
  return box;
}

function strip(steps) {
  const [total, seen, first, last] = steps;
  const share = (value) => `${Math.max(0, Math.min(100, (value / total) * 100))}%`;
  const bar = make("i", {});
  bar.style.setProperty("left", share(first));
  bar.style.setProperty("width", share(Math.max(last - first + 1, total / 200)));
  if (seen < last - first + 1) bar.className = "thin";
  return make("span", { class: "strip", "aria-hidden": "true" }, bar);
}

function ranksTable(f) {
  const most = Math.max(...f.ranks.map((share) => share[5] || share[3]), 1);
  const blocked = f.ranks.some((share) => share[5]);
  return make("table", { class: "shares" },
    make("caption", { class: "unseen" }, "What each rank saw of it"),
    make("thead", {}, make("tr", {}, ["Rank", "Times", "Bytes", "Blocked"].map((head, k) =>
      make("th", { scope: "col", class: k ? "right" : null }, head)))),
    make("tbody", {}, f.ranks.map(([rank, worker, processes, count, size, blockedFor]) => {
      const bar = make("i", { "aria-hidden": "true" });
      bar.style.setProperty("width", `${((blocked ? blockedFor : count) / most) * 100}%`);
      const name = (rank < 0 ? "no rank" : `rank ${rank}`) + (worker ? ", workers" : "") +
        (processes > 1 ? ` (${processes} processes)` : "");
      return make("tr", {}, make("th", { scope: "row" }, name, bar), make("td", {}, number(count)),
        make("td", {}, size ? bytesText(size) : "–"), make("td", {}, blockedFor ? durationText(blockedFor) : "–"));
    })));
}

function stackList(i) {
  const frames = [];
  for (let at = column.path[i]; at >= 0; at = paths[at * 2] - 1) frames.push(placeAt(paths[at * 2 + 1]));
  if (!frames.length) return null;
  const hidden = frames.filter((frame) => !frame.user).length;
  const items = make("ol", { class: "stack" }, frames.map((frame) => {
    const [line] = frame.user ? sourceLines(frame.file, frame.line, frame.line) : [];
    const module = frame.module ? brief(frame.module.slice(frame.module.lastIndexOf("/") + 1), 80) : "";
    return make("li", { class: frame.user ? "user" : "framework" },
      make("span", { class: "function" }, brief(frame.function, 400) || "?"),
      make("code", { class: "at" }, placeText(frame) || module),
      line && make("code", { class: "code" }, shown(line[1].trim())));
  }));
  const box = make("section", {}, make("h3", {}, "Call stack"));
  if (hidden && hidden < frames.length) {
    items.classList.add("own");
    const toggle = make("button", { type: "button", class: "link", "aria-expanded": "false" },
      `Show ${plural(hidden, "frame")} of PyTorch and others`);
    toggle.addEventListener("click", () => {
      const own = items.classList.toggle("own");
      toggle.setAttribute("aria-expanded", String(!own));
      toggle.textContent = own ? `Show ${plural(hidden, "frame")} of PyTorch and others` : "Show the program's own frames only";
    });
    box.append(toggle);
  }
  box.append(items);
  return box;
}

export function showDetail(i) {
  const box = byId("detail");
  if (i < 0) {
    box.replaceChildren(make("p", { class: "none" }, "Choose a finding."));
    return;
  }
  const f = findings[i];
  const place = firstPlace(f);
  const rule = text(f.rule);
  const facts = [];
  const fact = (name, ...value) => { if (value[0]) facts.push(make("div", {}, make("dt", {}, name), make("dd", {}, ...value))); };
  if (f.observed) {
    if (f.saves !== undefined) {
      const step = f.perStep ? `, ${durationText(f.perStep)} a step` : "";
      const share = f.share === undefined ? "" : `, ${(f.share * 100).toFixed(1)} % of the run`;
      fact("Removing it saves", make("strong", {}, durationText(f.saves)),
           make("small", {}, ` ${f.measured ? "measured" : "estimated"}${step}${share}`));
    }
    fact("Happened", timesText(f.count ?? 0));
    if (f.bytes) fact("Moved", bytesText(f.bytes));
    if (f.blocked) fact("Host blocked", durationText(f.blocked) + (f.ranks?.length > 1 ? ", over all processes" : ""));
    if (f.steps) fact("Steps", f.stepsText !== undefined ? text(f.stepsText) : `in ${number(f.steps[1])} of ${number(f.steps[0])}`,
                      f.steps[4] > 1 ? `, at most ${timesText(f.steps[4])} in one` : "", strip(f.steps));
  }
  const from = brief(text(f.from), 60), to = brief(text(f.to), 60);
  if (f.change !== undefined) fact("Since the old report", text(f.change));
  fact("Devices", from && to && from !== to ? `${from} → ${to}` : from || to);
  fact("Operator", f.op !== undefined && make("code", {}, brief(text(f.op), 200)));
  fact("Seen", text(f.where) || (f.rank !== undefined && `on rank ${f.rank}`));

  const at = state.visible.indexOf(i);
  const step = (label, by, key) => make("button", { type: "button", class: "quiet", disabled: at < 0 || at + by < 0 || at + by >= state.visible.length,
    "aria-keyshortcuts": key, onclick: () => move(by) }, label);
  const close = make("button", { type: "button", class: "quiet close", onclick: closeSheet }, "Back");
  const other = f.other;
  fill(box, [
    make("div", { class: "detail-bar" }, close,
      make("span", { class: "position" }, at < 0 ? "" : `${number(at + 1)} of ${number(state.visible.length)}`),
      step("Previous", -1, "k"), step("Next", 1, "j")),
    make("div", { class: "detail-head" }, severityMark(f.severity), make("span", { class: "rule" }, shownLine(rule)),
      make("span", { class: column.mark[i] === 2 ? "tag both" : "tag" }, markOf(i)),
      sinceTag(f), f.known && make("span", { class: "tag" }, "known from the baseline")),
    make("h2", { class: "unseen" }, `${SEVERITIES[f.severity]}: ${brief(text(f.message), 200)}`),
    longText(text(f.message), "what"),
    place && make("p", { class: "at" }, make("code", {}, placeText(place) + (place.column ? `:${place.column}` : "")),
      place.function && ` in ${brief(place.function, 400)}`),
    place && excerpt(place, 4, "Source") ,
    f.remedy !== undefined && make("p", { class: "remedy" }, make("b", {}, "Remedy "), shown(text(f.remedy)),
      f.fix && make("span", {}, " ", make("code", {}, f.caution === undefined ? "devsan check --fix" : "devsan check --fix=all"), " can do it",
        f.caution === undefined ? "." : ["; ", shown(text(f.caution)), "."])),
    facts.length ? make("dl", { class: "facts-list" }, facts) : null,
    other !== undefined && make("p", { class: "other" },
      f.observed ? "devsan check predicted it on this line: " : "A run observed it on this line: ",
      make("button", { type: "button", class: "link", onclick: () => goTo(other) }, brief(text(findings[other].message), 160))),
    f.ranks?.length > 1 && make("section", {}, make("h3", {}, "By rank"), f.ranks.length <= 16 ? ranksTable(f)
      : make("details", {}, make("summary", {}, `All ${number(f.ranks.length)}`), ranksTable(f))),
    f.related && make("section", {}, make("h3", {}, "Explained by"), make("ul", { class: "related" },
      f.related.map(([where, message]) => make("li", {}, make("code", {}, placeText(placeAt(where))), " ",
        brief(text(message), 600), excerpt(placeAt(where), 0, "Source of what explains it"))))),
    f.places?.length > 1 && make("section", {}, make("h3", {}, "Also at"), make("ul", { class: "related" },
      f.places.slice(1, 30).map((where) => make("li", {}, make("code", {}, placeText(placeAt(where))))))),
    stackList(i),
    make("footer", {}, report.rules[rule] && make("p", {}, shown(report.rules[rule])),
      make("p", {}, "More: ", make("code", {}, `devsan explain ${brief(rule, 80)}`), ". If it is meant: ",
        make("code", {}, `NOLINT(${brief(rule, 80)}): reason`), " in a comment on the line."))]);
  byId("detail-side").scrollTop = byId("sheet").scrollTop = 0;
}

// To a finding that the filters may hide.
export function goTo(i) {
  if (state.visible.indexOf(i) < 0) {
    if (column.known[i]) filter.known = byId("show-known").checked = true;
    clearFilters();
  }
  showView("findings");
  select(i, { open: true });
}

export function closeSheet() {
  const sheet = byId("sheet");
  if (sheet.open) sheet.close();
}
export function sheetClosed() {
  byId("detail-side").append(byId("detail"));
  if (pushed) {
    pushed = false;
    history.back();
  }
  const at = state.visible.indexOf(state.selected);
  if (at >= 0 && state.view === "findings") {
    list.reveal(at);
    byId("list").focus({ preventScroll: true });
  }
}

export function wentBack() {
  pushed = false;
  closeSheet();
}
