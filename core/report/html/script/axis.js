// Where steps stand on the timeline: by their numbers, or by when one process ran them.
import { summary } from "./data.js";

// Both ways between steps and places from 0 to 1; a step that has run half is half a step.
export const byNumber = (total) => ({ place: (step) => step / total, stepAt: (x) => x * total });

// From one ascending list to another, evenly in between.
function between(value, from, fromEnd, to, toEnd) {
  if (value <= from[0]) return to[0];
  if (value >= fromEnd) return toEnd;
  let low = 0, high = from.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (from[middle] <= value) low = middle;
    else high = middle;
  }
  const next = low + 1 < from.length;
  const a = from[low], b = next ? from[low + 1] : fromEnd, c = to[low], d = next ? to[low + 1] : toEnd;
  return b > a ? c + ((value - a) / (b - a)) * (d - c) : c;
}

// Processes of one run stand side by side; those of several runs, one after the other, all begin at 0.
export function timeFrame() {
  const { times } = summary;
  const begun = Math.min(...times.map((one) => one.begun));
  const since = (one) => (one.begun - begun) * 1000;
  const ends = times.map((one) => since(one) + one.end);
  const together = Math.max(...times.map(since)) <= Math.min(...ends);
  const offset = (one) => (together ? since(one) : 0);
  const span = Math.max(1, ...times.map((one) => offset(one) + one.end));
  return { span, together, axis: (one) => ({
    place: (step) => (offset(one) + between(step, one.step, one.steps, one.begin, one.end)) / span,
    stepAt: (x) => between(x * span - offset(one), one.begin, one.end, one.step, one.steps),
  }) };
}

// A worker without steps of its own happens in those of its rank.
export function timesOf(rank, worker) {
  const best = (fits) => summary.times.filter(fits).reduce((a, b) => (a && a.steps >= b.steps ? a : b), null);
  return best((one) => one.rank === rank && one.worker === worker) ?? best((one) => one.rank === rank && !one.worker);
}

// The steps of one process that were drawn as one, and how long they took; the first began somewhere before.
export function columnsOf(times) {
  return times.step.map((first, k) => {
    const next = k + 1 < times.step.length;
    const end = next ? times.step[k + 1] : times.steps;
    return { first, end, mean: ((next ? times.begin[k + 1] : times.end) - times.begin[k]) / Math.max(1, end - first),
             length: times.length[k], longest: times.longest[k], isFirst: times.longest[k] === times.step[0] };
  });
}
export const meanOf = (times) =>
  times.steps > 1 && times.longest[0] === times.step[0] ? (times.end - times.length[0]) / (times.steps - 1) : times.end / times.steps;
