// Copies and waits by step or time, and how long the steps took, a lane for each rank or device.
import { byId, choice, fill, make, root } from "./dom.js";
import { brief, bytesText, durationText, number, plural } from "./words.js";
import { findings, summary } from "./data.js";
import { byNumber, columnsOf, meanOf, timeFrame, timesOf } from "./axis.js";
import { devicesOf, kindsOf } from "./finding.js";
import { stale } from "./state.js";
import { apply, drawn, filter } from "./filters.js";
import { showView } from "./views.js";

const BINS = 240;
export const timeline = { by: "rank", along: "time", measure: "count" };
const MEASURES = { count: ["how often", number], bytes: ["bytes", bytesText], blocked: ["time the host was blocked", durationText] };

const isByTime = () => timeline.along === "time" && summary.times.length > 0;
const laneName = (rank, worker) =>
  (rank >= 0 ? `rank ${rank}` : summary.ranks.length ? "no rank" : "the program") + (worker ? ", workers" : "");

// What lies in the bins of an axis: parts of steps at both ends, and how much in each step between.
class Spread {
  constructor(bins) {
    this.part = new Float64Array(bins);
    this.rate = new Float64Array(bins + 1);
  }
  add({ place, stepAt }, first, end, value) {
    const bins = this.part.length;
    const from = Math.min(bins - 1, Math.floor(place(first) * bins + 1e-9));
    const to = Math.min(bins - 1, Math.max(from, Math.ceil(place(end) * bins - 1e-9) - 1));
    const each = value / (end - first);
    if (from === to) {
      this.part[from] += value;
      return;
    }
    this.part[from] += each * Math.max(0, stepAt((from + 1) / bins) - first);
    this.part[to] += each * Math.max(0, end - stepAt(to / bins));
    this.rate[from + 1] += each;
    this.rate[to] -= each;
  }
  values({ stepAt }) {
    const bins = this.part.length;
    let rate = 0;
    return this.part.map((part, k) => {
      rate += this.rate[k];
      return Math.max(0, part + rate * (stepAt((k + 1) / bins) - stepAt(k / bins)));
    });
  }
}

// Reports hold of each finding its first and last step, in how many of them it happened, and sums: they are drawn
// spread evenly from first to last.
function lanesOf() {
  const total = stepsTotal();
  const frame = isByTime() ? timeFrame() : null;
  const bins = frame ? BINS : Math.min(BINS, total);
  const lanes = new Map();
  const lane = (name, choose, times) => {
    let known = lanes.get(name);
    if (!known)
      lanes.set(name, known = { name, choose, times, axis: frame && times ? frame.axis(times) : byNumber(total), sum: { copy: 0, wait: 0 },
        copy: [new Spread(bins), new Spread(bins)], wait: [new Spread(bins), new Spread(bins)] });
    return known;
  };
  const laneOfRank = (rank, worker) => lane(laneName(rank, worker), { rank: rank < 0 ? "" : String(rank) }, timesOf(rank, worker));
  let outside = 0;
  for (const i of drawn()) {
    const f = findings[i];
    const kinds = kindsOf(f);
    if (!f.observed || (!kinds.copy && !kinds.wait)) continue;
    if (!f.steps || f.steps[2] >= total) {
      ++outside;
      continue;
    }
    const [, seen, first, last] = f.steps;
    const end = Math.min(last, total - 1) + 1;
    const sparse = seen < last - first + 1 ? 1 : 0;
    const add = (where, count, size, blocked) => {
      for (const kind of ["copy", "wait"]) {
        if (!kinds[kind]) continue;
        const value = { count, bytes: kind === "copy" ? size : 0, blocked: kind === "wait" ? blocked : 0 }[timeline.measure];
        where.sum[kind] += value;
        if (where.times || !frame) where[kind][sparse].add(where.axis, first, end, value);
      }
    };
    if (timeline.by === "rank")
      for (const [rank, worker, , count, size, blocked] of f.ranks ?? [])
        add(laneOfRank(rank, Boolean(worker)), count, size, blocked);
    else
      for (const device of devicesOf(f))
        add(lane(device, { device }, timesOf(f.rank ?? f.ranks?.[0]?.[0] ?? -1, false)), f.count ?? 0, f.bytes ?? 0, f.blocked ?? 0);
  }
  if (timeline.by === "rank" || !lanes.size)
    for (const { rank, worker } of summary.times) laneOfRank(rank, worker);
  let most = 0, longest = 0, first = 0;
  for (const one of lanes.values()) {
    for (const kind of ["copy", "wait"]) one[kind] = one[kind].map((spread) => spread.values(one.axis));
    for (const kind of ["copy", "wait"])
      for (let k = 0; k < bins; ++k) most = Math.max(most, one[kind][0][k] + one[kind][1][k]);
    one.columns = one.times ? columnsOf(one.times) : [];
    for (const column of one.columns)
      if (column.isFirst) first = Math.max(first, column.length);
      else longest = Math.max(longest, column.length);
  }
  const natural = new Intl.Collator("en", { numeric: true });
  return { lanes: [...lanes.values()].sort((a, b) => natural.compare(a.name, b.name)), bins, total, most, longest: longest || first, outside,
           span: frame?.span, together: frame?.together };
}

function stepsTotal() {
  let total = summary.steps;
  for (const f of findings) if (f.steps && f.steps[0] > total) total = f.steps[0];
  return total;
}

function contextOf(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight, ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return { context, width, height, style: getComputedStyle(root) };
}

// Of each column the longest step, so that one slow step of many is seen, and the mean before it. The first step has no scale: what
// the program prepares is in it.
function paintSteps(canvas, one, { longest }) {
  const { context, width, height, style } = contextOf(canvas);
  for (const [value, colour] of [["length", "--step-longest"], ["mean", "--step"]]) {
    context.fillStyle = style.getPropertyValue(colour);
    for (const column of one.columns) {
      const x = one.axis.place(column.first) * width, end = one.axis.place(column.end) * width;
      const h = Math.min(height, Math.max(1, (column[value] / longest) * height));
      context.fillRect(x, height - h, Math.max(1, end - x - (end - x > 4 ? 1 : 0)), h);
    }
  }
}

function paint(canvas, one, { bins, most }) {
  const { context, width, height, style } = contextOf(canvas);
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

// The slowest steps of all processes, but their first ones, to choose.
function slowSteps() {
  const slow = summary.times.flatMap((times) => columnsOf(times)
    .filter((column) => !column.isFirst && column.length > SLOW * meanOf(times)).map((column) => ({ ...column, rank: times.rank })));
  const slowest = slow.sort((a, b) => b.length - a.length).slice(0, SLOWEST);
  if (!slowest.length) return null;
  const several = new Set(summary.times.map((times) => times.rank)).size > 1;
  return make("p", { class: "slow-steps" }, make("span", {}, "Slow"), slowest.map(({ longest, length, rank }) =>
    make("button", { type: "button", onclick: () => {
      filter.steps = [longest, longest];
      if (rank >= 0 && several) filter.rank = byId("by-rank").value = String(rank);
      showView("findings");
      apply();
    } }, `step ${number(longest)}${several ? ` of ${laneName(rank, false)}` : ""}`, make("strong", {}, durationText(length)))));
}

const SLOW = 1.5; // of the mean
const SLOWEST = 3;
const LANES = 192;
const POINT = "Point at a column for its steps; choose it for their findings.";
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
  const pointed = make("p", { class: "pointed" }, POINT);
  const rows = shownLanes.map((one) => {
    const canvasOf = (className, painter) => {
      const canvas = make("canvas", { class: className, "aria-hidden": "true" });
      canvases.push(() => painter(canvas, one, data));
      const stepsAt = (event) => {
        const bin = Math.max(0, Math.min(data.bins - 1, Math.floor((event.offsetX / canvas.clientWidth) * data.bins)));
        const from = Math.floor(one.axis.stepAt(bin / data.bins) + 1e-9);
        const to = Math.max(from, Math.ceil(one.axis.stepAt((bin + 1) / data.bins) - 1e-9) - 1);
        return { bin, from: Math.min(from, data.total - 1), to: Math.min(to, data.total - 1) };
      };
      canvas.addEventListener("click", (event) => {
        const { from, to } = stepsAt(event);
        filter.steps = [from, to];
        choose(one);
      });
      canvas.addEventListener("pointermove", (event) => {
        const { bin, from, to } = stepsAt(event);
        pointed.textContent = `${one.name}: ${describe(one, bin, from, to)}`;
      });
      canvas.addEventListener("pointerleave", () => { pointed.textContent = POINT; });
      return canvas;
    };
    return make("li", { class: "lane" },
      make("div", { class: "lane-head" }, make("button", { type: "button", class: "lane-name", onclick: () => choose(one) }, brief(one.name, 60)),
        one.times && make("span", { class: "lane-mean" }, `${durationText(meanOf(one.times))} a step`)),
      make("div", { class: "lane-drawn" }, one.times && canvasOf("lengths", paintSteps), canvasOf("amounts", paint)),
      make("span", { class: "lane-sum" }, make("span", { class: "copy" }, value(one.sum.copy), make("span", { class: "unseen" }, " copies")),
        make("span", { class: "wait" }, value(one.sum.wait), make("span", { class: "unseen" }, " waits"))));
  });
  function describe(one, bin, from, to) {
    const which = from === to ? `step ${number(from)}` : `steps ${number(from)}–${number(to)}`;
    const columns = one.columns.filter((column) => column.first <= to && column.end > from);
    const slowest = columns.reduce((a, b) => (a && a.length >= b.length ? a : b), null);
    const taken = slowest && (from === to && slowest.end - slowest.first === 1 ? durationText(slowest.length)
      : `up to ${durationText(slowest.length)} (step ${number(slowest.longest)})`);
    const amounts = ["copy", "wait"].map((kind) => [kind, one[kind][0][bin] + one[kind][1][bin]]).filter(([, amount]) => amount >= data.most * 1e-9 && amount)
      .map(([kind, amount]) => `${{ copy: "copies", wait: "waits" }[kind]} ${value(amount)}`);
    return [which, taken, ...amounts].filter(Boolean).join(" · ");
  }
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
      summary.times.length ? choice("Across", { time: "time", steps: "steps" }, timeline.along, again("along")) : null,
      choice("Lanes", { rank: "by rank", device: "by device" }, timeline.by, again("by")),
      choice("Height", Object.fromEntries(Object.entries(MEASURES).map(([key, [name]]) => [key, name])), timeline.measure, again("measure")),
      range),
    slowSteps(),
    make("p", { class: "legend" }, [...(summary.times.length ? [["step", "length of a step"], ["longest", "the longest where several share a column"]] : []),
      ["copy", "copies, upward"], ["wait", "waits of the host, downward"], ["pale", "pale: not in each of these steps"]]
      .map(([key, name]) => make("span", {}, make("i", { class: `key ${key}`, "aria-hidden": "true" }), name))),
    rows.length ? make("ol", { class: "lanes" }, rows) : make("p", { class: "none" }, "No copies or waits among the findings shown."),
    rows.length ? make("div", { class: "axis", "aria-hidden": "true" },
      (data.span ? ["0 s", durationText(data.span / 2), durationText(data.span)] : ["0", number(Math.floor(data.total / 2)), number(data.total - 1)])
        .map((mark) => make("span", {}, mark))) : null,
    rows.length ? pointed : null,
    make("p", { class: "small" },
      `Height: ${unit}${data.most ? `, at most ${value(data.most)} in ${data.span || data.total > data.bins ? "a column" : "a step"}` : ""}. ` +
      (summary.times.length ? "A step lasts from the end of the one before to its own, the first, which has no scale, from the first copy or wait" +
        `${summary.simulated ? "; on simulated devices as long as it took to simulate them" : ""}. ` : "") +
      (data.together === false ? "Runs that were one after the other all begin at 0. " : "") +
      "The report keeps of each finding its first and last step, how many it happened in, and sums, so that it is drawn evenly from its first to its last step." +
      (data.outside ? ` ${plural(data.outside, "finding")} lie${data.outside === 1 ? "s" : ""} outside of the steps.` : "") +
      (isMerged ? " Of several ranks, first and last are those of any." : "") +
      (timeline.by === "device" && isMerged ? " Devices are those of the rank that a finding is told for; the same of other ranks are in it." : "") +
      (data.lanes.length > LANES ? ` ${number(data.lanes.length - LANES)} more lanes are not drawn.` : ""))]);
  for (const painter of canvases) painter();
  stale.delete("timeline");
}
