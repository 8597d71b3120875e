// The graph as a drawing that is explored: cytoscape draws what /graph gives as JSON, graph-layout.js places it.
// The list on the page has the same facts; on narrow screens there is only the list. Of a large graph cytoscape draws
// the entities that most chunks mention; the others are dots below it, which a click turns into nodes.
"use strict";
(() => {
  const messages = JSON.parse(document.currentScript.dataset.messages);
  const say = (key, values = {}) => messages[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const find = (id) => document.getElementById(id);
  const json = async (address) => {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(say("failed", { status: answer.status }));
    return answer.json();
  };
  const LARGE = 1000;  // nodes of cytoscape, which draws twenty thousand in seconds, not in milliseconds
  const TOGETHER = "https://w3id.org/graphrag-rdf/ns#coOccursWith";
  const SHAPES = [
    ["ellipse", "●"], ["diamond", "◆"], ["triangle", "▲"], ["hexagon", "⬢"], ["star", "★"], ["rectangle", "■"],
    ["pentagon", "⬟"],
  ];
  let graph;
  let worker;
  let chosen;
  let pathFrom;
  let large = false;
  const dots = new Map();  // id → the element of a node that is a dot, with its position
  let lines = [];  // elements of edges with a dot
  const off = { types: new Set(), relations: new Set() };
  const slots = new Map();  // type → place in SHAPES

  // --- names that can be typed -----------------------------------------------------------------------------
  function suggest(list, fields, address, name) {
    let waiting;
    const fill = async (text) => {
      const { items } = await json(address + encodeURIComponent(text));
      const option = (item) => Object.assign(document.createElement("option"), { value: name(item) });
      list.replaceChildren(...items.map(option));
    };
    for (const field of fields) {
      field.addEventListener("input", () => {
        clearTimeout(waiting);
        waiting = setTimeout(() => fill(field.value).catch(() => {}), 200);
      });
    }
  }
  suggest(find("names"), [find("entity"), find("from"), find("to")], "/entities?limit=20&match=", (item) => item.name);
  suggest(find("titles"), [find("document")], "/documents?limit=20&match=", (item) => item.path ?? item.title);

  if (!matchMedia("(min-width: 48rem)").matches) return;

  // --- drawing ---------------------------------------------------------------------------------------------
  function fetchLibrary() {
    // cytoscape would put a style element into the page, which the page's policy forbids; finding one by this name
    // it does not. What it would say is in site.css.
    const marker = document.createElement("meta");
    marker.id = "__________cytoscape_stylesheet";
    const script = document.createElement("script");
    script.src = "/static/cytoscape.min.js";
    return new Promise((resolve, reject) => {
      script.onload = resolve;
      script.onerror = () => reject(new Error(say("library")));
      document.head.append(marker, script);
    });
  }

  const kindOf = (types, isValue) => (isValue ? "value" : types.find((type) => slots.has(type)) ?? "");

  // The most frequent types get a shape and a colour.
  function assign(nodes) {
    const counts = new Map();
    for (const { types } of nodes) for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
    const ranked = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    for (const [type] of ranked) {
      if (slots.has(type) || slots.size === SHAPES.length) continue;
      // by its name, so that it is the same in every view
      let slot = [...type].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % SHAPES.length;
      while ([...slots.values()].includes(slot)) slot = (slot + 1) % SHAPES.length;
      slots.set(type, slot);
    }
  }

  function elementsOf(view) {
    assign(view.nodes);
    const nodes = view.nodes.map(({ id, label, types, chunks }) => {
      const isValue = !id.startsWith("<");
      const size = isValue ? 22 : Math.min(64, 16 + 6 * Math.sqrt(chunks));
      const width = isValue ? 14 + 6 * Math.min(24, label.length) : size;
      const font = Math.min(26, 12 + 2 * Math.sqrt(chunks));
      const kind = kindOf(types, isValue);
      return { group: "nodes", data: { id, label, types, chunks, isValue, kind, size, width, font } };
    });
    const edges = view.edges.map(([from, to, place, sentences, ...stated]) => {
      const [source, target] = [view.nodes[from].id, view.nodes[to].id];
      const { iri, label } = view.relations[place];
      const [s, o] = stated.length ? stated : [source, target];
      return { group: "edges", data: { id: `${s} ${iri} ${o}`, source, target, iri, label, sentences, s, o } };
    });
    return [...nodes, ...edges];
  }

  function style() {
    const colours = getComputedStyle(document.documentElement);
    const colour = (name) => colours.getPropertyValue(`--${name}`).trim();
    const types = [...slots].map(([type, slot]) => ({
      selector: `node[kind = ${JSON.stringify(type)}]`,
      style: { shape: SHAPES[slot][0], "background-color": colour(`type${slot}`) },
    }));
    return [
      {
        selector: "node",
        style: {
          label: "data(label)", width: "data(width)", height: "data(size)", "background-color": colour("untyped"),
          color: colour("ink"), "font-size": "data(font)", "min-zoomed-font-size": large ? 9 : 7.5,
          "text-valign": "bottom", "text-margin-y": 3, "text-wrap": "ellipsis", "text-max-width": 220,
          "text-outline-color": colour("paper"), "text-outline-width": large ? 0 : 2,
        },
      },
      ...types,
      {
        selector: "node[kind = 'value']",
        style: {
          shape: "round-rectangle", "background-color": colour("box"),
          "border-width": 1, "border-color": colour("edge"), color: colour("soft"),
          "font-size": 11, "text-valign": "center", "text-margin-y": 0,
        },
      },
      {
        selector: "edge",
        style: large
          ? { width: 1, "line-color": colour("line"), "curve-style": "haystack", "haystack-radius": 0 }
          : {
            label: "data(label)", "font-size": 10, "min-zoomed-font-size": 9, color: colour("soft"), width: 1.5,
            "curve-style": "bezier", "line-color": colour("edge"), "target-arrow-color": colour("edge"),
            "target-arrow-shape": "triangle", "arrow-scale": 0.8, "text-rotation": "autorotate",
            "text-outline-color": colour("paper"), "text-outline-width": 2,
          },
      },
      {
        selector: `edge[iri = "${TOGETHER}"]`,
        style: { label: "", "line-style": "dashed", "line-color": colour("line"), "target-arrow-shape": "none" },
      },
      { selector: ".faint", style: { opacity: 0.25 } },
      { selector: ".off", style: { display: "none" } },
      { selector: "node.chosen", style: { "border-width": 4, "border-color": colour("link") } },
      {
        selector: "edge.chosen",
        style: { width: 3, "line-color": colour("link"), "target-arrow-color": colour("link") },
      },
    ];
  }

  // Moves all nodes apart; new ones begin where they are, near what they were reached from.
  function place(heat, fit) {
    worker?.terminate();
    worker = new Worker("/static/graph-layout.js");
    const nodes = graph.nodes();
    const rest = [...dots.values()];
    const ids = [...nodes.map((node) => node.id()), ...rest.map((dot) => dot.data.id)];
    const places = new Map(ids.map((id, number) => [id, number]));
    const edges = [...graph.edges().map((edge) => edge.data()), ...lines.map((line) => line.data)];
    worker.postMessage({
      heat, ticks: large ? 60 : 250,
      nodes: [
        ...nodes.map((node) => ({ size: node.data("width"), ...(heat < 1 ? node.position() : {}) })),
        ...rest.map((dot) => ({ size: 4, ...(heat < 1 ? dot.position : {}) })),
      ],
      links: edges.map(({ source, target }) => ({ source: places.get(source), target: places.get(target) })),
    });
    find("canvas").setAttribute("aria-busy", "true");
    worker.onmessage = ({ data: { positions, done } }) => {
      graph.batch(() => nodes.forEach((node, number) => {
        if (!node.grabbed()) node.position({ x: positions[2 * number], y: positions[2 * number + 1] });
      }));
      rest.forEach((dot, number) => {
        const at = 2 * (nodes.length + number);
        dot.position = { x: positions[at], y: positions[at + 1] };
      });
      if (fit) graph.fit(undefined, 30);
      if (fit && graph.zoom() > 1.4) graph.zoom(1.4).center();
      drawDots();
      if (done) find("canvas").setAttribute("aria-busy", "false");
    };
  }

  async function start() {
    const [view] = await Promise.all([json(location.href), fetchLibrary()]);
    if (!view.nodes.length) return;
    large = view.nodes.length > LARGE;
    find("explorer").hidden = false;
    const elements = divide(elementsOf(view));
    window.cytoscape.warnings(false);  // of lines between nodes that still overlap
    graph = window.cytoscape({
      container: find("canvas"), elements, style: style(), layout: { name: "preset" },
      minZoom: 0.02, maxZoom: 4, hideEdgesOnViewport: large, boxSelectionEnabled: false,
    });
    find("canvas").graph = graph;
    graph.on("tap", (event) => choose(event.target === graph ? dotAt(event.position) : event.target));
    graph.on("viewport resize", () => drawDots(true));
    graph.on("dbltap", "node", (event) => expand(event.target));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      graph.style(style());
      drawDots();
    });
    filters();
    if (find("no-path")) find("chosen").textContent = find("no-path").textContent;
    place(1, true);
  }

  // --- dots of a large graph -------------------------------------------------------------------------------
  function divide(elements) {
    if (!large) return elements;
    const nodes = elements.filter((item) => item.group === "nodes").sort((a, b) => b.data.chunks - a.data.chunks);
    for (const node of nodes.slice(LARGE)) dots.set(node.data.id, { ...node, position: { x: 0, y: 0 } });
    const edges = elements.filter((item) => item.group === "edges");
    const isLine = ({ data }) => dots.has(data.source) || dots.has(data.target);
    lines = edges.filter(isLine);
    return [...nodes.slice(0, LARGE), ...edges.filter((edge) => !isLine(edge))];
  }

  let linesLater;
  function drawDots(moving = false) {
    if (!large) return;
    const canvas = find("dots");
    const [width, height] = [graph.width(), graph.height()];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const pen = canvas.getContext("2d");
    const colours = getComputedStyle(document.documentElement);
    const { x, y } = graph.pan();
    const zoom = graph.zoom();
    pen.clearRect(0, 0, width, height);
    const at = (id) => dots.get(id)?.position ?? graph.getElementById(id).position();
    clearTimeout(linesLater);
    if (moving) linesLater = setTimeout(drawDots, 150);
    else {
      pen.strokeStyle = colours.getPropertyValue("--line");
      pen.globalAlpha = 0.4;
      pen.beginPath();
      for (const { data } of lines) {
        const [from, to] = [at(data.source), at(data.target)];
        pen.moveTo(from.x * zoom + x, from.y * zoom + y);
        pen.lineTo(to.x * zoom + x, to.y * zoom + y);
      }
      pen.stroke();
      pen.globalAlpha = 1;
    }
    const size = Math.min(10, Math.max(2, 14 * zoom));
    for (const type of ["", "value", ...slots.keys()]) {
      if (off.types.has(type)) continue;
      pen.fillStyle = colours.getPropertyValue(slots.has(type) ? `--type${slots.get(type)}` : "--untyped");
      for (const { data, position } of dots.values()) {
        if (data.kind !== type) continue;
        pen.fillRect(position.x * zoom + x - size / 2, position.y * zoom + y - size / 2, size, size);
      }
    }
  }

  // Turns dots into nodes, with the edges to other nodes.
  function promote(ids) {
    const added = ids.filter((id) => dots.has(id)).map((id) => dots.get(id));
    for (const dot of added) dots.delete(dot.data.id);
    graph.add(added);
    const isLine = ({ data }) => dots.has(data.source) || dots.has(data.target);
    graph.add(lines.filter((line) => !isLine(line)));
    lines = lines.filter(isLine);
    drawDots();
  }

  function dotAt({ x, y }) {
    const reach = 8 / graph.zoom();
    const near = [...dots.values()].find(({ position }) => Math.hypot(position.x - x, position.y - y) < reach);
    if (!near) return null;
    promote([near.data.id]);
    return graph.getElementById(near.data.id);
  }

  // --- selection -------------------------------------------------------------------------------------------
  function made(name, text, more = {}) {
    return Object.assign(document.createElement(name), { textContent: text, ...more });
  }
  const button = (text, onclick) => made("button", text, { className: "plain", type: "button", onclick });
  const iriOf = (node) => node.id().slice(1, -1);

  function choose(item) {
    graph.elements(".chosen, .faint").removeClass("chosen faint");
    chosen = item;
    const place = find("chosen");
    if (!item) return place.replaceChildren(messages.hint);
    const near = item.isNode() ? item.closedNeighborhood() : item.union(item.connectedNodes());
    graph.batch(() => {
      graph.elements().difference(near).addClass("faint");
      item.addClass("chosen");
    });
    if (item.isEdge()) return chooseEdge(item, place);
    if (pathFrom && pathFrom !== item && !item.data("isValue")) {
      location.href = `/graph?${new URLSearchParams({ from: iriOf(pathFrom), to: iriOf(item) })}`;
      return undefined;
    }
    const { label, types, chunks, isValue } = item.data();
    const about = [types.join(", "), chunks ? say("chunks", { number: chunks }) : ""].filter(Boolean).join(" · ");
    place.replaceChildren(made("h2", label), made("p", about, { className: "soft" }));
    if (isValue) return undefined;
    const row = made("p", "", { className: "row" });
    row.append(
      button(say("expand"), () => expand(item)),
      button(say("path"), () => {
        pathFrom = item;
        place.append(made("p", say("choose")));
      }),
      made("a", say("open"), { href: `/entities/${encodeURIComponent(iriOf(item))}` }),
      made("a", say("alone"), { href: `/graph?${new URLSearchParams({ entity: iriOf(item) })}` }),
    );
    place.append(row);
    return undefined;
  }

  // The quotes of a fact are those of its page; of two entities that are named together, the sentences.
  async function chooseEdge(edge, place) {
    const { s, o, iri, label, sentences, source, target } = edge.data();
    const names = [edge.source(), edge.target()].map((node) => node.data("label"));
    const heading = sentences ? names.join(" – ") : `${names[0]} ${label} ${names[1]}`;
    place.replaceChildren(made("h2", heading), made("p", say("reading")));
    let evidence;
    try {
      if (sentences) {
        const ends = new URLSearchParams({ one: source.slice(1, -1), other: target.slice(1, -1) });
        const { items } = await json(`/graph/sentences?${ends}`);
        evidence = [made("p", say("together", { number: sentences })), made("ul", "", { className: "evidence" })];
        evidence[1].append(...items.map(({ text, title, href }) => {
          const item = document.createElement("li");
          item.append(made("blockquote", text), made("a", title, { href }));
          return item;
        }));
      } else {
        const address = `/facts?${new URLSearchParams({ subject: s, predicate: iri, object: o })}`;
        const answer = await fetch(address, { headers: { Accept: "text/html" } });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        evidence = [...page.querySelectorAll("ul.evidence"), made("a", say("fact"), { href: address })];
      }
    } catch (error) {
      evidence = [made("p", error.message)];
    }
    if (chosen === edge) place.replaceChildren(place.firstChild, ...evidence);
  }

  // Adds the neighbours of a node, to the address and the list as well.
  async function expand(node) {
    if (node.data("isValue")) return;
    const state = new URLSearchParams(location.search);
    if (![...state.keys()].length) state.set("best", 150);
    const alone = new URLSearchParams({ entity: iriOf(node) });
    for (const name of ["document", "around"]) if (state.has(name)) alone.set(name, state.get(name));
    try {
      const view = await json(`/graph?${alone}`);
      const before = graph.nodes().length;
      const near = node.position();
      promote(view.nodes.map(({ id }) => id));
      const fresh = elementsOf(view).filter((item) => graph.getElementById(item.data.id).empty());
      fresh.forEach((item, turn) => {
        const [right, down] = [60 * Math.cos(turn), 60 * Math.sin(turn)];
        if (item.group === "nodes") item.position = { x: near.x + right, y: near.y + down };
      });
      graph.add(fresh);
      filters();
      choose(node);
      const more = graph.nodes().length - before;
      find("chosen").append(made("p", more ? say("more", { number: more }) : say("nothing")));
      if (!fresh.length) return;
      if (!state.getAll("entity").includes(iriOf(node))) state.append("entity", iriOf(node));
      history.replaceState(null, "", `/graph?${state}`);
      if (large) return;
      place(0.5, graph.nodes().length < 100);
      await renewList();
    } catch (error) {
      find("chosen").append(made("p", error.message));
    }
  }

  async function renewList() {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const focused = document.activeElement.dataset.node;
    find("twin").replaceWith(page.getElementById("twin"));
    if (focused) find("twin").querySelector(`[data-node=${CSS.escape(focused)}]`)?.focus();
  }

  // --- filters ---------------------------------------------------------------------------------------------
  function filters() {
    const types = new Map();
    const relations = new Map();
    const nodes = [...graph.nodes().map((node) => node.data()), ...[...dots.values()].map((dot) => dot.data)];
    for (const { kind } of nodes) types.set(kind, (types.get(kind) ?? 0) + 1);
    graph.edges().forEach((edge) => {
      const known = relations.get(edge.data("iri"));
      relations.set(edge.data("iri"), { label: edge.data("label"), count: (known?.count ?? 0) + 1 });
    });
    const line = (set, key, label, count, mark) => {
      const item = made("label", "", { className: "filter" });
      const box = made("input", "", { type: "checkbox", checked: !set.has(key) });
      box.addEventListener("change", () => {
        if (box.checked) set.delete(key);
        else set.add(key);
        apply();
      });
      item.append(box, mark ?? "", ` ${label} `, made("small", count.toLocaleString()));
      return item;
    };
    const swatch = (type) => {
      const slot = slots.get(type);
      const shape = slot === undefined ? (type ? "▭" : "●") : SHAPES[slot][1];
      const mark = made("span", shape, { className: "swatch", ariaHidden: "true" });
      mark.style.color = slot === undefined ? "var(--untyped)" : `var(--type${slot})`;
      return mark;
    };
    const name = (type) => (type === "value" ? say("value") : type || say("untyped"));
    const order = [...types].sort((a, b) => slots.has(b[0]) - slots.has(a[0]) || b[1] - a[1]);
    const boxes = order.map(([type, count]) => line(off.types, type, name(type), count, swatch(type)));
    find("types").replaceChildren(find("types").firstElementChild, ...boxes);
    const ranked = [...relations].sort((a, b) => b[1].count - a[1].count).slice(0, 100);
    const lists = ranked.map(([iri, { label, count }]) => line(off.relations, iri, label, count));
    find("relations").replaceChildren(...lists);
    apply();
  }

  function apply() {
    graph.batch(() => {
      graph.nodes().forEach((node) => node.toggleClass("off", off.types.has(node.data("kind"))));
      graph.edges().forEach((edge) => edge.toggleClass("off", off.relations.has(edge.data("iri"))));
    });
    drawDots();
  }

  // --- files -----------------------------------------------------------------------------------------------
  function save(blob, name) {
    const link = made("a", "", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  // What is shown, with the attributes that `graphrag-rdf export --format graphml` has.
  function graphml() {
    const xml = document.implementation.createDocument("http://graphml.graphdrawing.org/xmlns", "graphml");
    const add = (parent, name, attributes, text = "") => {
      const node = xml.createElementNS(xml.documentElement.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      node.textContent = text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
      parent.append(node);
      return node;
    };
    for (const id of ["label", "iri", "type", "weight"]) {
      const type = id === "weight" ? "double" : "string";
      add(xml.documentElement, "key", { id, for: "all", "attr.name": id, "attr.type": type });
    }
    const root = add(xml.documentElement, "graph", { id: "facts", edgedefault: "directed" });
    const data = (node, values) => {
      for (const [key, value] of Object.entries(values)) if (value) add(node, "data", { key }, `${value}`);
    };
    graph.nodes(":visible").forEach((node) => {
      const { id, label, types, chunks, isValue } = node.data();
      const iri = isValue ? "" : iriOf(node);
      data(add(root, "node", { id }), { label, iri, type: types.join("; "), weight: chunks });
    });
    graph.edges(":visible").forEach((edge) => {
      const { id, source, target, label, iri, sentences } = edge.data();
      data(add(root, "edge", { id, source, target }), { label, iri, weight: sentences });
    });
    return new Blob([new XMLSerializer().serializeToString(xml)], { type: "application/xml" });
  }

  find("fit").addEventListener("click", () => graph.fit(undefined, 30));
  find("png").addEventListener("click", () => {
    const bg = getComputedStyle(document.body).backgroundColor;
    save(graph.png({ output: "blob", bg, full: true, maxWidth: 4000, maxHeight: 4000, scale: 2 }), "graph.png");
  });
  find("graphml").addEventListener("click", () => save(graphml(), "graph.graphml"));

  // --- keyboard --------------------------------------------------------------------------------------------
  find("canvas").addEventListener("keydown", (event) => {
    if (!graph || event.altKey || event.ctrlKey || event.metaKey) return;
    const pan = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    const zoom = { "+": 1.25, "-": 0.8 }[event.key];
    const middle = { x: graph.width() / 2, y: graph.height() / 2 };
    if (pan) graph.panBy({ x: pan[0], y: pan[1] });
    else if (zoom) graph.zoom({ level: graph.zoom() * zoom, renderedPosition: middle });
    else if (event.key === "Enter" && chosen?.isNode()) expand(chosen);
    else if (event.key === "Escape") choose(null);
    else return;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {  // a link of the list expands in place
    const iri = event.target.closest("#twin [data-node]")?.dataset.node;
    const node = iri && graph?.getElementById(`<${iri}>`);
    if (!node?.nonempty() || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    choose(node);
    expand(node);
    graph.animate({ center: { eles: node } });
  });

  start().catch((error) => {
    find("explorer").hidden = false;
    find("chosen").textContent = error.message;
  });
})();
