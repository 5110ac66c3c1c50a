// The topology of a model: services as circles, relations as lines, drawn by D3 from topology.json.
// It is drawn again when the page hears that something has changed; what differs flashes.
(() => {
  "use strict";
  const svg = d3.select("#topology");
  if (svg.empty()) return;
  const radius = 26, spacing = 62;
  const view = svg.append("g");
  const lines = view.append("g"), circles = view.append("g");
  const zoom = d3.zoom().scaleExtent([0.1, 4]).on("zoom", (e) => view.attr("transform", e.transform));
  svg.call(zoom).on("dblclick.zoom", null);
  const filter = document.getElementById("filter");
  const places = new Map(); // where services are, by name
  let fitted = false, moved = false, dragged = "", shown = null;

  // layout gives a place to each service that has none: one that a user has chosen, or one that D3's forces find.
  function layout(data) {
    const nodes = data.nodes.map((n) => {
      const known = places.get(n.name);
      const fixed = n.x !== undefined && n.name !== dragged ? { x: n.x, y: n.y } : known;
      return Object.assign({ name: n.name }, fixed && { x: fixed.x, y: fixed.y, fx: fixed.x, fy: fixed.y });
    });
    if (nodes.some((n) => n.fx === undefined)) {
      const links = data.edges.filter((e) => e.from !== e.to).map((e) => ({ source: e.from, target: e.to }));
      const names = new Set(nodes.map((n) => n.name));
      d3.forceSimulation(nodes)
        .force("links", d3.forceLink(links.filter((l) => names.has(l.source) && names.has(l.target)))
          .id((n) => n.name).distance(spacing * 2))
        .force("apart", d3.forceManyBody().strength(-260).distanceMax(spacing * 8))
        .force("size", d3.forceCollide(spacing))
        .force("x", d3.forceX().strength(0.045)).force("y", d3.forceY().strength(0.12))
        .stop().tick(300);
    }
    places.clear();
    for (const n of nodes) places.set(n.name, { x: n.x, y: n.y });
  }

  // fit shows all that there is.
  function fit() {
    const at = [...places.values()];
    if (at.length === 0) return;
    const box = svg.node().getBoundingClientRect(), margin = spacing * 1.3;
    const [left, right] = d3.extent(at, (p) => p.x), [top, bottom] = d3.extent(at, (p) => p.y);
    const scale = Math.min(1.4, box.width / (right - left + 2 * margin), box.height / (bottom - top + 2 * margin));
    svg.call(zoom.transform, d3.zoomIdentity.translate(box.width / 2, box.height / 2).scale(scale)
      .translate(-(left + right) / 2, -(top + bottom) / 2));
  }

  function move() {
    circles.selectAll("g.node").attr("transform", (n) => `translate(${places.get(n.name).x},${places.get(n.name).y})`);
    const end = (name, axis) => places.get(name)?.[axis] ?? 0;
    lines.selectAll("line").attr("x1", (e) => end(e.from, "x")).attr("y1", (e) => end(e.from, "y"))
      .attr("x2", (e) => end(e.to, "x")).attr("y2", (e) => end(e.to, "y"));
  }

  // Services stay where a user puts them: for all users, if this one may change the model.
  const store = (body) => "writes" in document.body.dataset && fetch(document.body.dataset.base + "positions", { method: "POST", body });
  const drag = d3.drag().on("drag", (e, n) => {
    e.sourceEvent.preventDefault?.();
    moved = true;
    places.set(n.name, { x: e.x, y: e.y });
    move();
  }).on("start", (e, n) => { moved = false; dragged = n.name; }).on("end", (e, n) => {
    dragged = "";
    const at = places.get(n.name);
    if (moved) store(new URLSearchParams({ service: n.name, x: Math.round(at.x), y: Math.round(at.y) }));
  }).subject((e, n) => places.get(n.name));

  const cut = (text, length) => text.length > length ? text.slice(0, length - 1) + "…" : text;

  function title(n) {
    const counts = ["failing", "working", "healthy", "unknown"].filter((h) => n.counts?.[h]).map((h) => `${n.counts[h]} ${h}`);
    return [n.name + (n.dying ? " (being removed)" : ""), n.remote ? "of another model" : counts.join(", ") || "no units", n.message]
      .filter(Boolean).join("\n");
  }

  function draw(data) {
    shown = data;
    layout(data);
    document.getElementById("empty").hidden = data.nodes.length > 0;
    lines.selectAll("line").data(data.edges.filter((e) => places.has(e.from) && places.has(e.to)), (e) => e.key)
      .join((enter) => {
        const line = enter.append("line").attr("class", "edge");
        line.append("title");
        return line;
      }).select("title").text((e) => `${e.from}:${e.to} (${e.interface})`);
    const nodes = circles.selectAll("g.node").data(data.nodes, (n) => n.name).join((enter) => {
      const g = enter.append("g");
      const a = g.append("a").attr("href", (n) => n.remote ? null : document.body.dataset.base + "service/" + encodeURIComponent(n.name));
      a.append("title");
      a.append("circle").attr("r", radius);
      a.append("text").attr("class", "count").attr("dy", "0.35em");
      a.append("text").attr("class", "name").attr("y", radius + 16);
      a.append("text").attr("class", "why").attr("y", radius + 30);
      g.call(drag);
      return g;
    });
    nodes.each(function (n) {
      const g = d3.select(this), is = JSON.stringify([n.health, n.counts, n.units, n.dying]);
      if (this.shown !== undefined && this.shown !== is) {
        g.classed("flash", false);
        void this.getBoundingClientRect(); // restarts the animation
        g.classed("flash", true);
      }
      this.shown = is;
      g.attr("class", `node ${n.health}${n.remote ? " remote" : ""}${n.subordinate ? " subordinate" : ""}${n.dying ? " dying" : ""}` +
        (g.classed("flash") ? " flash" : ""));
      g.select("title").text(title(n));
      g.select(".count").text(n.remote ? "↗" : n.units);
      g.select(".name").text(cut(n.name, 18));
      g.select(".why").text(n.health === "failing" || n.health === "working" ? cut(n.message ?? "", 30) : "");
    });
    move();
    if (!fitted) fit();
    fitted = fitted || data.nodes.length > 0;
    sift();
  }

  // sift dims what the filter does not match, with the relations of it.
  function sift() {
    const words = filter.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (n) => words.every((w) => n.name.includes(w) || n.health === w);
    const kept = new Set();
    circles.selectAll("g.node").classed("dim", (n) => {
      if (matches(n)) kept.add(n.name);
      return !matches(n);
    });
    lines.selectAll("line").classed("dim", (e) => !kept.has(e.from) || !kept.has(e.to));
  }

  filter.addEventListener("input", sift);
  document.getElementById("fit").addEventListener("click", fit);
  document.getElementById("arrange").addEventListener("click", () => {
    const fixed = shown.nodes.filter((n) => n.x !== undefined);
    for (const n of fixed) store(new URLSearchParams({ service: n.name }));
    for (const n of shown.nodes) delete n.x;
    places.clear();
    draw(shown);
    fit();
  });
  addEventListener("resize", fit);
  juju.draw = async () => {
    const reply = await fetch(document.body.dataset.base + "topology.json", { redirect: "error" });
    if (!reply.ok) throw new Error(reply.statusText);
    draw(await reply.json());
  };
  juju.refresh(); // a change may have been heard of before this script has run
})();
