// Which findings are shown, and in which order.
import { byId, make } from "./dom.js";
import { brief, number, plural } from "./words.js";
import { PLACE, column, findings, firstPlace, paths, places, strings, text } from "./data.js";
import { GONE, MARKS, SINCE, devicesOf, isCompared, severityMark } from "./finding.js";
import { stale, state } from "./state.js";
import { tree } from "./stacks.js";
import { draw } from "./views.js";

export const filter = { words: "", severities: new Set([0, 1, 2]), rule: "", mark: "", since: "", rank: "", known: false,
                        steps: null, path: -1, device: "" };

let lower = null;
const hits = new Map(); // word -> which strings hold it, which paths
function hitsOf(word) {
  lower ??= strings.map((s) => s.toLowerCase());
  let hit = hits.get(word);
  if (hit) return hit;
  const inString = Uint8Array.from(lower, (s) => (s.includes(word) ? 1 : 0));
  const inPath = new Uint8Array(paths.length / 2);
  for (let i = 0; i < inPath.length; ++i) {
    const caller = paths[i * 2] - 1, place = paths[i * 2 + 1] * PLACE;
    inPath[i] = (caller >= 0 && inPath[caller]) || inString[places[place]] || inString[places[place + 3]] ? 1 : 0;
  }
  hit = { inString, inPath };
  if (hits.size > 8) hits.clear();
  hits.set(word, hit);
  return hit;
}

function holds(i, { inString, inPath }, line) {
  const f = findings[i];
  if (inString[f.rule] || inString[f.message]) return true;
  for (const key of [f.op, f.from, f.to, f.remedy]) if (key !== undefined && inString[key]) return true;
  for (const place of f.places ?? []) {
    if (inString[places[place * PLACE]] || inString[places[place * PLACE + 3]]) return true;
    if (line && line.line === places[place * PLACE + 1] && lower[places[place * PLACE]].endsWith(line.file)) return true;
  }
  return f.path !== undefined && inPath[f.path - 1] === 1;
}

// A word "train.py:41" means that line.
function lineOf(word) {
  const match = /^(.+):(\d+)$/.exec(word);
  return match && { file: match[1], line: Number(match[2]) };
}

export function apply() {
  const words = filter.words.toLowerCase().split(/\s+/).filter(Boolean)
    .map((word) => ({ hit: hitsOf(word), line: lineOf(word) }));
  const rank = filter.rank === "" ? null : Number(filter.rank);
  const mark = filter.mark === "" ? null : Number(filter.mark);
  const since = filter.since === "" ? null : Number(filter.since);
  const rule = filter.rule === "" ? null : Number(filter.rule);
  const found = [];
  for (let i = 0; i < findings.length; ++i) {
    if (!filter.severities.has(column.severity[i])) continue;
    if (column.known[i] && !filter.known) continue;
    if (rule !== null && column.rule[i] !== rule) continue;
    if (mark !== null && column.mark[i] !== mark) continue;
    if (since !== null && column.since[i] !== since) continue;
    const f = findings[i];
    if (rank !== null && !f.ranks?.some((share) => share[0] === rank)) continue;
    if (filter.device && !devicesOf(f).includes(filter.device)) continue;
    if (filter.steps && !(f.steps && f.steps[2] <= filter.steps[1] && f.steps[3] >= filter.steps[0])) continue;
    if (filter.path >= 0 && !tree.isUnder(column.path[i], filter.path)) continue;
    if (!words.every(({ hit, line }) => holds(i, hit, line))) continue;
    found.push(i);
  }
  state.visible = Int32Array.from(found);
  // They come in the order of their cost.
  if (state.order === "place") {
    const key = (i) => firstPlace(findings[i]) ?? { file: "\uffff", line: 0, column: 0 };
    const keys = new Map(found.map((i) => [i, key(i)]));
    state.visible.sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      return x.file < y.file ? -1 : x.file > y.file ? 1 : x.line - y.line || x.column - y.column || a - b;
    });
  } else if (state.order !== "cost") {
    state.visible.sort((a, b) => column[state.order][b] - column[state.order][a] || a - b);
  }
  showState();
  for (const name of ["findings", "timeline", "stacks"]) stale.add(name);
  draw();
}

// What both views of the whole run draw: what is gone is of another run, unless it is what was asked for.
export const drawn = () => state.visible.filter((i) => column.since[i] !== GONE || filter.since !== "");

export const isFiltered = () => filter.words || filter.severities.size < 3 || filter.rule || filter.mark || filter.since || filter.rank ||
  filter.steps || filter.path >= 0 || filter.device;

export function clearFilters() {
  Object.assign(filter, { words: "", severities: new Set([0, 1, 2]), rule: "", mark: "", since: "", rank: "", steps: null,
                          path: -1, device: "" });
  byId("search").value = byId("by-rule").value = byId("by-mark").value = byId("by-since").value = byId("by-rank").value = "";
  for (const button of byId("severities").children) button.setAttribute("aria-pressed", "true");
  apply();
}

function showState() {
  let known = 0;
  for (const k of column.known) known += k;
  const all = filter.known ? findings.length : findings.length - known;
  byId("count").textContent = (state.visible.length === all ? plural(all, known && !filter.known ? "new finding" : "finding")
    : `${number(state.visible.length)} of ${plural(all, "finding")}`) +
    (known && !filter.known ? `, ${number(known)} known from the baseline` : "");
  const chips = [];
  const chip = (label, remove) => chips.push(make("button", { type: "button", class: "chip", onclick: () => { remove(); apply(); } },
    label, make("span", { "aria-hidden": "true" }, "×"), make("span", { class: "unseen" }, ", take this filter away")));
  if (filter.steps)
    chip(filter.steps[0] === filter.steps[1] ? `step ${filter.steps[0]}` : `steps ${filter.steps[0]}–${filter.steps[1]}`,
         () => { filter.steps = null; });
  if (filter.device) chip(`device ${brief(filter.device, 40)}`, () => { filter.device = ""; });
  if (filter.path >= 0) chip(`called from ${brief(tree.label(filter.path), 60)}`, () => { filter.path = -1; });
  if (isFiltered())
    chips.push(make("button", { type: "button", class: "chip clear", onclick: clearFilters }, "Clear all"));
  byId("chips").replaceChildren(...chips);
}

export function fillFilters() {
  const counts = [0, 0, 0];
  const rules = new Map(), ranks = new Set();
  const marks = [0, 0, 0], sinces = SINCE.map(() => 0);
  for (let i = 0; i < findings.length; ++i) {
    ++counts[column.severity[i]];
    ++marks[column.mark[i]];
    if (column.since[i] >= 0) ++sinces[column.since[i]];
    rules.set(column.rule[i], (rules.get(column.rule[i]) ?? 0) + 1);
    for (const share of findings[i].ranks ?? []) if (share[0] >= 0) ranks.add(share[0]);
  }
  byId("severities").replaceChildren(...[2, 1, 0].map((severity) => {
    const button = make("button", { type: "button", "aria-pressed": "true", disabled: counts[severity] === 0 },
      severityMark(severity), make("span", { class: "number" }, number(counts[severity])));
    button.addEventListener("click", () => {
      const on = !filter.severities.has(severity);
      if (on) filter.severities.add(severity);
      else filter.severities.delete(severity);
      button.setAttribute("aria-pressed", String(on));
      apply();
    });
    return button;
  }));
  const options = (id, all, entries, key) => {
    const element = byId(id);
    element.replaceChildren(make("option", { value: "" }, all), ...entries.map(([value, name]) => make("option", { value }, name)));
    element.addEventListener("change", () => { filter[key] = element.value; apply(); });
  };
  options("by-rule", "All", [...rules].map(([rule, count]) => [rule, `${brief(text(rule), 60)} (${number(count)})`])
    .sort((a, b) => (a[1] < b[1] ? -1 : 1)), "rule");
  options("by-mark", "All", MARKS.map((name, k) => [k, `${name} (${number(marks[k])})`]).filter((_, k) => marks[k]), "mark");
  options("by-since", "All", SINCE.map((name, k) => [k, `${name} (${number(sinces[k])})`]).filter((_, k) => sinces[k]), "since");
  byId("since-label").hidden = !isCompared();
  options("by-rank", "All", [...ranks].sort((a, b) => a - b).map((rank) => [rank, `rank ${rank}`]), "rank");
  byId("rank-label").hidden = ranks.size < 2;
  byId("order").replaceChildren(...[["cost", isCompared() ? "new first" : "cost"], ["count", "how often"], ["blocked", "time blocked"], ["bytes", "bytes"], ["place", "place"]]
    .map(([value, name]) => make("option", { value }, name)));
  byId("order").addEventListener("change", () => { state.order = byId("order").value; apply(); });
  byId("known-label").hidden = !column.known.includes(1);
  byId("show-known").addEventListener("change", () => { filter.known = byId("show-known").checked; apply(); });
  let waiting = 0;
  byId("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { filter.words = byId("search").value; apply(); }, 80);
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("clear-all").addEventListener("click", clearFilters);
  byId("more").addEventListener("click", () => {
    const open = byId("choices").classList.toggle("open");
    byId("more").setAttribute("aria-expanded", String(open));
  });
}
