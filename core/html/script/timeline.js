// Copies and waits by step, a lane for each rank or device.
import { byId, choice, fill, make, root } from "./dom.js";
import { brief, bytesText, durationText, number, plural } from "./words.js";
import { findings, summary } from "./data.js";
import { devicesOf, kindsOf } from "./finding.js";
import { stale } from "./state.js";
import { apply, drawn, filter } from "./filters.js";
import { showView } from "./views.js";

const BINS = 240;
export const timeline = { by: "rank", measure: "count" };
const MEASURES = { count: ["how often", number], bytes: ["bytes", bytesText], blocked: ["time the host was blocked", durationText] };

// Reports hold of each finding its first and last step, in how many of them it happened, and sums: they are drawn
// spread evenly from first to last.
function lanesOf() {
  const total = stepsTotal();
  const bins = Math.min(BINS, total);
  const lanes = new Map();
  const lane = (name, choose) => {
    let known = lanes.get(name);
    if (!known)
      lanes.set(name, known = { name, choose, sum: { copy: 0, wait: 0 },
        copy: [new Float64Array(bins + 1), new Float64Array(bins + 1)], wait: [new Float64Array(bins + 1), new Float64Array(bins + 1)] });
    return known;
  };
  let outside = 0;
  for (const i of drawn()) {
    const f = findings[i];
    const kinds = kindsOf(f);
    if (!f.observed || (!kinds.copy && !kinds.wait)) continue;
    if (!f.steps || f.steps[2] >= total) {
      ++outside;
      continue;
    }
    const [, seen, first, end] = f.steps;
    const last = Math.min(end, total - 1);
    const from = Math.floor((first / total) * bins), to = Math.floor((last / total) * bins);
    const sparse = seen < last - first + 1 ? 1 : 0;
    const add = (where, count, size, blocked) => {
      for (const kind of ["copy", "wait"]) {
        if (!kinds[kind]) continue;
        const value = { count, bytes: kind === "copy" ? size : 0, blocked: kind === "wait" ? blocked : 0 }[timeline.measure];
        where.sum[kind] += value;
        // What is added at the first bin is taken away after the last; sums run over it below.
        where[kind][sparse][from] += value / (to - from + 1);
        where[kind][sparse][to + 1] -= value / (to - from + 1);
      }
    };
    if (timeline.by === "rank")
      for (const [rank, worker, , count, size, blocked] of f.ranks ?? [])
        add(lane((rank < 0 ? "no rank" : `rank ${rank}`) + (worker ? ", workers" : ""), { rank: rank < 0 ? "" : String(rank) }),
            count, size, blocked);
    else
      for (const device of devicesOf(f))
        add(lane(device, { device }), f.count ?? 0, f.bytes ?? 0, f.blocked ?? 0);
  }
  let most = 0;
  for (const one of lanes.values())
    for (const kind of ["copy", "wait"]) {
      for (const values of one[kind])
        for (let k = 0, sum = 0; k < bins; ++k) values[k] = sum = Math.max(0, sum + values[k]);
      for (let k = 0; k < bins; ++k) most = Math.max(most, one[kind][0][k] + one[kind][1][k]);
    }
  const natural = new Intl.Collator("en", { numeric: true });
  return { lanes: [...lanes.values()].sort((a, b) => natural.compare(a.name, b.name)), bins, total, most, outside };
}

function stepsTotal() {
  let total = summary.steps;
  for (const f of findings) if (f.steps && f.steps[0] > total) total = f.steps[0];
  return total;
}

function paint(canvas, one, { bins, most }) {
  const width = canvas.clientWidth, height = canvas.clientHeight, ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const style = getComputedStyle(root);
  const middle = height / 2;
  context.fillStyle = style.getPropertyValue("--line");
  context.fillRect(0, middle - 0.5, width, 1);
  if (!most) return;
  for (const [kind, direction] of [["copy", -1], ["wait", 1]]) {
    context.fillStyle = style.getPropertyValue(`--${kind}`);
    for (let k = 0; k < bins; ++k) {
      const x = (k / bins) * width, w = Math.max(1, width / bins - (width / bins > 4 ? 1 : 0));
      let y = 0;
      for (const sparse of [0, 1]) {
        const value = one[kind][sparse][k];
        if (value < most * 1e-9) continue; // what is left of sums that went up and down again
        const h = Math.max(1.5, (value / most) * (middle - 2));
        context.globalAlpha = sparse ? 0.45 : 1;
        context.fillRect(x, direction < 0 ? middle - 1 - y - h : middle + 1 + y, w, h);
        y += h;
      }
    }
  }
}

const LANES = 192;
export function drawTimeline() {
  const box = byId("view-timeline");
  if (!stepsTotal()) {
    box.replaceChildren(make("h2", {}, "No steps to show"), make("p", {},
      "The program names no steps, or this report has no run in it. ", make("code", {}, "devsan::step()"), " in C++ and ",
      make("code", {}, "devsan.step()"), " in Python mark one; an optimizer's step counts as well."));
    return;
  }
  const data = lanesOf();
  const again = (key) => (value) => { timeline[key] = value; drawTimeline(); };
  const [unit, value] = MEASURES[timeline.measure];
  const shownLanes = data.lanes.slice(0, LANES);
  const canvases = [];
  const rows = shownLanes.map((one) => {
    const canvas = make("canvas", { "aria-hidden": "true", title: "Choose steps" });
    canvases.push([canvas, one]);
    canvas.addEventListener("click", (event) => {
      const bin = Math.min(data.bins - 1, Math.floor((event.offsetX / canvas.clientWidth) * data.bins));
      filter.steps = [Math.ceil((bin / data.bins) * data.total), Math.ceil(((bin + 1) / data.bins) * data.total) - 1];
      choose(one);
    });
    return make("li", { class: "lane" },
      make("button", { type: "button", class: "lane-name", onclick: () => choose(one) }, brief(one.name, 60)),
      canvas,
      make("span", { class: "lane-sum" }, make("span", { class: "copy" }, value(one.sum.copy), make("span", { class: "unseen" }, " copies")),
        make("span", { class: "wait" }, value(one.sum.wait), make("span", { class: "unseen" }, " waits"))));
  });
  function choose(one) {
    if (one.choose.device) filter.device = one.choose.device;
    if (one.choose.rank) filter.rank = byId("by-rank").value = one.choose.rank;
    showView("findings");
    apply();
  }
  const start = make("input", { type: "number", min: "0", max: String(data.total - 1), value: filter.steps ? String(filter.steps[0]) : "0" });
  const end = make("input", { type: "number", min: "0", max: String(data.total - 1),
                              value: filter.steps ? String(filter.steps[1]) : String(data.total - 1) });
  const range = make("form", { class: "range" }, make("label", {}, make("span", {}, "Steps from"), start),
    make("label", {}, make("span", {}, "to"), end), make("button", {}, "Show"));
  range.addEventListener("submit", (event) => {
    event.preventDefault();
    const [a, b] = [Number(start.value), Number(end.value)];
    filter.steps = [Math.min(a, b), Math.max(a, b)];
    apply();
  });
  const isMerged = summary.ranks.length > 1;
  fill(box, [
    make("div", { class: "panel-head" }, make("h2", {}, `${plural(data.total, "step")}`),
      choice("Lanes", { rank: "by rank", device: "by device" }, timeline.by, again("by")),
      choice("Height", Object.fromEntries(Object.entries(MEASURES).map(([key, [name]]) => [key, name])), timeline.measure, again("measure")),
      range),
    make("p", { class: "legend" }, [["copy", "copies, upward"], ["wait", "waits of the host, downward"], ["pale", "pale: not in each of these steps"]]
      .map(([key, name]) => make("span", {}, make("i", { class: `key ${key}`, "aria-hidden": "true" }), name))),
    rows.length ? make("ol", { class: "lanes" }, rows) : make("p", { class: "none" }, "No copies or waits among the findings shown."),
    rows.length ? make("div", { class: "axis", "aria-hidden": "true" }, make("span", {}, "0"), make("span", {}, number(Math.floor(data.total / 2))),
      make("span", {}, number(data.total - 1))) : null,
    make("p", { class: "small" },
      `Height: ${unit}${data.most ? `, at most ${value(data.most)} in ${data.total > data.bins ? "a column of steps" : "a step"}` : ""}. ` +
      "The report keeps of each finding its first and last step, how many it happened in, and sums, so that it is drawn evenly from its first to its last step." +
      (data.outside ? ` ${plural(data.outside, "finding")} lie${data.outside === 1 ? "s" : ""} outside of the steps.` : "") +
      (isMerged ? " Of several ranks, first and last are those of any." : "") +
      (timeline.by === "device" && isMerged ? " Devices are those of the rank that a finding is told for; the same of other ranks are in it." : "") +
      (data.lanes.length > LANES ? ` ${number(data.lanes.length - LANES)} more lanes are not drawn.` : ""))]);
  for (const [canvas, one] of canvases) paint(canvas, one, data);
  stale.delete("timeline");
}
