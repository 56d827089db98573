// The call stacks as a flame graph.
import { byId, choice, fill, make } from "./dom.js";
import { brief, bytesText, durationText, number, plural } from "./words.js";
import { PLACE, column, paths, placeAt, placeText, places, sourceLines } from "./data.js";
import { stale } from "./state.js";
import { apply, drawn, filter } from "./filters.js";
import { showView } from "./views.js";

// The program's own frames, or all: a frame that is left out gives its findings to its caller.
export const tree = {
  own: true,
  weigh: "",
  zoom: -1,
  unfolded: new Set(), // frames in chains of callers that are drawn in full
  of: new Map(), // "own" and "all" -> { parent, place, index of each path }

  get() {
    const name = this.own ? "own" : "all";
    let known = this.of.get(name);
    if (known) return known;
    const parent = [], place = [], index = new Int32Array(paths.length / 2), seen = new Map();
    for (let i = 0; i < index.length; ++i) {
      const caller = paths[i * 2] ? index[paths[i * 2] - 1] : -1;
      const at = paths[i * 2 + 1];
      if (this.own && !places[at * PLACE + 5]) {
        index[i] = caller;
        continue;
      }
      const key = `${caller} ${at}`;
      if (!seen.has(key)) {
        seen.set(key, parent.length);
        parent.push(caller);
        place.push(at);
      }
      index[i] = seen.get(key);
    }
    known = { parent, place, index };
    this.of.set(name, known);
    return known;
  },
  // Whether a path, as findings have it, goes through a node.
  isUnder(path, top) {
    const { parent, index } = this.get();
    for (let at = path < 0 ? -1 : index[path]; at >= 0; at = parent[at]) if (at === top) return true;
    return false;
  },
  label(node) {
    const where = placeAt(this.get().place[node]);
    return `${where.function || "?"}${where.file ? ` at ${placeText(where)}` : ""}`;
  },
};
const WEIGHTS = { saves: ["what removing saves", durationText], count: ["how often", number], bytes: ["bytes", bytesText],
                  blocked: ["time the host was blocked", durationText], one: ["number of findings", number] };
const FLAME_NODES = 4000;

// The file without its folders: a box has room for little more.
const lineText = (where) => brief(placeText({ ...where, file: where.file.slice(where.file.lastIndexOf("/") + 1) }), 80);

function flameOf() {
  const { parent, index } = tree.get();
  const total = new Float64Array(parent.length);
  const without = [];
  let sum = 0;
  for (const i of drawn()) {
    const path = column.path[i];
    const weight = tree.weigh === "one" ? 1 : column[tree.weigh][i];
    if (path < 0 || index[path] < 0) {
      without.push(i);
      continue;
    }
    sum += weight;
    for (let at = index[path]; at >= 0; at = parent[at]) total[at] += weight;
  }
  const children = new Map();
  for (let at = 0; at < parent.length; ++at)
    if (total[at] > 0) {
      const of = children.get(parent[at]);
      if (of) of.push(at);
      else children.set(parent[at], [at]);
    }
  for (const of of children.values()) of.sort((a, b) => total[b] - total[a] || a - b);
  return { total, children, sum, without };
}

export function drawStacks() {
  const box = byId("view-stacks");
  if (!paths.length) {
    box.replaceChildren(make("h2", {}, "No call stacks"),
      make("p", {}, "Findings of ", make("code", {}, "devsan check"), " have a place, but nobody who called it; a run records stacks."));
    return;
  }
  if (!tree.weigh) tree.weigh = column.saves.some((v) => v > 0) ? "saves" : "count";
  const data = flameOf();
  const { parent, place } = tree.get();
  const [unit, value] = WEIGHTS[tree.weigh];
  if (tree.zoom >= 0 && !data.total[tree.zoom]) tree.zoom = -1;
  const again = (change) => (chosen) => { change(chosen); drawStacks(); };
  const flame = make("div", { class: "flame", role: "group", "aria-label": "Call stacks, callers above what they call" });
  const panel = make("div", { class: "flame-note", role: "status" });
  const nodes = new Map();
  const size = 26;
  let depthMost = 0;

  const put = (node, left, width, depth, faint) => {
    const where = node < 0 ? null : placeAt(place[node]);
    const name = where ? where.function || "?" : "everything";
    const label = `${brief(node < 0 ? name : tree.label(node), 200)}: ${value(node < 0 ? data.sum : data.total[node])}`;
    const button = make("button", { type: "button", tabindex: "-1", "data-node": node, "aria-label": label, title: label,
      class: `${faint ? "faint " : ""}${node < 0 ? "whole" : places[place[node] * PLACE + 5] ? "user" : "framework"}` },
      width * innerWidth > 40 ? [brief(name, 120), where?.file && make("span", { class: "at" }, ` ${lineText(where)}`)] : "");
    add(node, button, left, width, depth);
  };
  const add = (node, button, left, width, depth) => {
    button.style.setProperty("left", `${left * 100}%`);
    button.style.setProperty("width", `${width * 100}%`);
    button.style.setProperty("top", `${depth * size}px`);
    flame.append(button);
    nodes.set(node, { button, depth, left, width });
    depthMost = Math.max(depthMost, depth);
  };

  // From a frame down to the one that calls several, or that findings lie in.
  const chainOf = (node) => {
    const chain = [node];
    for (;;) {
      const below = data.children.get(chain.at(-1)) ?? [];
      if (below.length !== 1 || data.total[below[0]] !== data.total[node]) return chain;
      chain.push(below[0]);
    }
  };
  const FOLD = 5;

  // The callers of what is zoomed into stand above it, as wide as it.
  const above = [];
  for (let at = tree.zoom; at >= 0; at = parent[at]) above.unshift(at);
  put(-1, 0, 1, 0, tree.zoom >= 0);
  above.forEach((node, k) => put(node, 0, 1, k + 1, node !== tree.zoom));
  const whole = tree.zoom < 0 ? data.sum : data.total[tree.zoom];
  const narrow = 2 / Math.max(320, innerWidth);
  let queue = [[tree.zoom, 0, above.length]];
  let left = FLAME_NODES, dropped = 0;
  while (queue.length) {
    const next = [];
    for (const [node, start, depth] of queue) {
      let x = start;
      for (const child of data.children.get(node) ?? []) {
        const width = data.total[child] / whole;
        if (width >= narrow && left-- > 0) {
          put(child, x, width, depth + 1, false);
          const chain = tree.unfolded.has(child) ? [] : chainOf(child);
          if (chain.length > FOLD) {
            const fold = make("button", { type: "button", tabindex: "-1", class: "fold", "data-node": chain[1], "data-fold": child },
              width > 0.02 ? `… ${number(chain.length - 2)} frames, one calling the next` : "");
            add(chain[1], fold, x, width, depth + 2);
            put(chain.at(-1), x, width, depth + 3, false);
            next.push([chain.at(-1), x, depth + 3]);
          } else {
            next.push([child, x, depth + 1]);
          }
        } else {
          ++dropped;
        }
        x += width;
      }
    }
    queue = next;
  }
  flame.style.setProperty("height", `${(depthMost + 1) * size}px`);

  function describe(node) {
    if (node < 0) {
      panel.replaceChildren(`${value(data.sum)} in all. Choose a frame to see what it called.`);
      return;
    }
    let below = 0;
    for (const i of drawn()) if (tree.isUnder(column.path[i], node)) ++below;
    const at = placeAt(place[node]);
    const [line] = sourceLines(at.file, at.line, at.line);
    fill(panel, [make("strong", {}, brief(at.function, 300) || "?"), " ",
      make("code", {}, placeText(at)), ` ${value(data.total[node])}, ${plural(below, "finding")} `,
      make("button", { type: "button", onclick: () => { filter.path = node; showView("findings"); apply(); } }, "Show them"),
      line && make("code", { class: "code" }, brief(line[1].trim(), 300))]);
  }
  function focusOn(node) {
    for (const { button } of nodes.values()) button.tabIndex = -1;
    const { button } = nodes.get(node);
    button.tabIndex = 0;
    button.focus({ preventScroll: false });
  }
  flame.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.fold) for (const node of chainOf(Number(button.dataset.fold))) tree.unfolded.add(node);
    else tree.zoom = Number(button.dataset.node);
    drawStacks();
    byId("view-stacks").querySelector(`.flame [data-node="${button.dataset.node}"]`).focus({ preventScroll: true });
  });
  flame.addEventListener("focusin", (event) => describe(Number(event.target.dataset.node)));
  flame.addEventListener("keydown", (event) => {
    const node = Number(event.target.dataset.node);
    const here = nodes.get(node);
    const inRow = (depth) => [...nodes].filter(([, n]) => n.depth === depth).sort(([, a], [, b]) => a.left - b.left).map(([n]) => n);
    let to;
    const covers = ([n, other]) => n !== node && other.left <= here.left + 1e-9 && other.left + other.width >= here.left + here.width - 1e-9;
    if (event.key === "ArrowUp") to = [...nodes].find((one) => one[1].depth === here.depth - 1 && covers(one))?.[0];
    else if (event.key === "ArrowDown")
      to = [...nodes].find(([, n]) => n.depth === here.depth + 1 && n.left >= here.left - 1e-9 && n.left < here.left + here.width)?.[0];
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const row = inRow(here.depth);
      to = row[row.indexOf(node) + (event.key === "ArrowLeft" ? -1 : 1)];
    } else return;
    event.preventDefault();
    if (to !== undefined && nodes.has(to)) focusOn(to);
  });
  nodes.get(tree.zoom).button.tabIndex = 0;

  const own = make("input", { type: "checkbox" });
  own.checked = !tree.own;
  own.addEventListener("change", () => {
    tree.own = !own.checked;
    tree.zoom = -1;
    tree.unfolded.clear(); // its numbers are those of the other tree
    filter.path = -1;
    apply();
  });
  box.replaceChildren(
    make("div", { class: "panel-head" }, make("h2", {}, "Call stacks"),
      choice("Width", Object.fromEntries(Object.entries(WEIGHTS).map(([key, [name]]) => [key, name])), tree.weigh, again((chosen) => { tree.weigh = chosen; })),
      make("label", { class: "check" }, own, " ", make("span", {}, "Frames of PyTorch and others too"))),
    panel, flame,
    make("p", { class: "small" }, `Width: ${unit}. Callers stand above what they call; the widest first.` +
      (dropped ? ` ${plural(dropped, "frame")} too narrow to draw: choose the caller to see more.` : "") +
      (data.without.length ? ` ${plural(data.without.length, "finding")} without such a stack ${data.without.length === 1 ? "is" : "are"} left out.` : "")));
  describe(tree.zoom);
  stale.delete("stacks");
}
