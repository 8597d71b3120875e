// Drawings that move: what an SVG drawing shows, handed to cytoscape, which is fetched only when somebody
// asks for it. The SVG stays what is printed, read aloud and walked by keyboard.
"use strict";
(() => {
  const messages = JSON.parse(document.currentScript.dataset.messages);
  const say = (key, values = {}) => messages[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const LIBRARY = "/static/cytoscape.min.js";
  let library;

  function fetchLibrary() {
    library ??= new Promise((resolve, reject) => {
      // cytoscape would put a style element into the page, which the page's policy forbids; finding one
      // by this name it does not. What it would say is in site.css.
      const marker = document.createElement("meta");
      marker.id = "__________cytoscape_stylesheet";
      const script = document.createElement("script");
      script.src = LIBRARY;
      script.onload = resolve;
      script.onerror = () => reject(new Error(say("library")));
      document.head.append(marker, script);
    });
    return library;
  }

  // What a drawing shows, as cytoscape takes it.
  function read(svg) {
    const nodes = [...svg.querySelectorAll(".node")].map((group) => {
      const box = group.querySelector("rect");
      return {
        group: "nodes",
        data: {
          id: group.dataset.key,
          label: group.dataset.label,
          href: group.querySelector("a")?.getAttribute("href") ?? "",
        },
        classes: group.classList.contains("start") ? "start" : "",
        position: {
          x: Number(box.getAttribute("x")) + Number(box.getAttribute("width")) / 2,
          y: Number(box.getAttribute("y")) + Number(box.getAttribute("height")) / 2,
        },
      };
    });
    const edges = [...svg.querySelectorAll(".edge")].map((group) => {
      const { source, target, label } = group.dataset;
      return {
        group: "edges",
        data: { id: JSON.stringify([source, label, target]), source, target, label },
        classes: ["strong", "gone"].filter((name) => group.classList.contains(name)).join(" "),
      };
    });
    return [...nodes, ...edges];
  }

  function style() {
    const colours = getComputedStyle(document.documentElement);
    const colour = (name) => colours.getPropertyValue(`--${name}`).trim();
    return [
      {
        selector: "node",
        style: {
          label: "data(label)", shape: "round-rectangle", width: 170, height: 34,
          "font-size": 13, "text-valign": "center", "text-wrap": "ellipsis", "text-max-width": 155,
          color: colour("ink"), "background-color": colour("box"),
          "border-width": 1, "border-color": colour("edge"),
        },
      },
      { selector: "node.start", style: { "background-color": colour("start") } },
      { selector: "node:selected", style: { "border-width": 3, "border-color": colour("link") } },
      {
        selector: "edge",
        style: {
          label: "data(label)", "font-size": 11.5, color: colour("soft"), width: 1, "curve-style": "bezier",
          "line-color": colour("edge"), "target-arrow-color": colour("edge"),
          "target-arrow-shape": "triangle", "text-rotation": "autorotate",
          "text-background-color": colour("paper"), "text-background-opacity": 0.85,
        },
      },
      {
        selector: "edge.strong",
        style: { width: 2, "line-color": colour("link"), "target-arrow-color": colour("link") },
      },
      {
        selector: "edge.gone",  // it holds no more: told by more than its colour
        style: {
          "line-style": "dashed", label: (edge) => `✗ ${edge.data("label")}`,
          "line-color": colour("warn"), "target-arrow-color": colour("warn"),
        },
      },
      { selector: ".faint", style: { opacity: 0.25 } },
    ];
  }

  // Adds what the page of a node draws and is not there yet, around the node.
  async function grow(graph, node) {
    const response = await fetch(node.data("href"), { headers: { Accept: "text/html" } });
    if (!response.ok) throw new Error(say("page", { status: response.status }));
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const svg = page.querySelector("svg.drawing");
    const found = svg ? read(svg) : [];
    const fresh = found.filter((item) => graph.getElementById(item.data.id).empty());
    const added = fresh.filter((item) => item.group === "nodes");
    const place = node.position();
    added.forEach((item, number) => {
      const turn = (2 * Math.PI * number) / added.length;
      item.position = { x: place.x + 260 * Math.cos(turn), y: place.y + 160 * Math.sin(turn) };
      item.classes = "";
    });
    const known = (id) => graph.getElementById(id).nonempty() || added.some((item) => item.data.id === id);
    graph.add([
      ...added,
      ...fresh.filter((item) => item.group === "edges" && known(item.data.source) && known(item.data.target)),
    ]);
    spread(graph, 170);
    return added.length;
  }

  function spread(graph, length) {
    graph.layout({
      name: "cose", animate: false, randomize: false, fit: true, padding: 20,
      nodeRepulsion: () => 120000, idealEdgeLength: () => length, nodeDimensionsIncludeLabels: true,
    }).run();
  }

  function button(text, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "plain";
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
  }

  function enhance(frame) {
    const drawings = [...frame.querySelectorAll("svg.drawing")];
    const place = document.createElement("div");
    place.className = "graph";
    place.hidden = true;
    const said = document.createElement("span");
    said.setAttribute("role", "status");
    const bar = document.createElement("p");
    bar.className = "row tools";
    let graph;
    let chosen;

    const open = document.createElement("a");
    open.hidden = true;
    const neighbours = button(say("neighbours"), async () => {
      neighbours.disabled = true;
      try {
        const added = await grow(graph, chosen);
        said.textContent = added ? say("more", { number: added }) : say("nothing");
      } catch (error) {
        said.textContent = error.message;
      } finally {
        neighbours.disabled = false;
      }
    });
    neighbours.hidden = true;

    function choose(node) {
      chosen = node;
      open.hidden = neighbours.hidden = !node?.data("href");
      said.textContent = "";
      if (!open.hidden) {
        open.href = node.data("href");
        open.textContent = say("open", { name: node.data("label") });
      }
      graph.elements().toggleClass("faint", false);
      if (node) graph.elements().difference(node.closedNeighborhood()).addClass("faint");
    }

    const turn = button(say("move"), async () => {
      turn.disabled = true;
      try {
        await fetchLibrary();
        const svg = drawings.find((one) => one.getClientRects().length);  // for broad or for narrow screens
        place.hidden = !place.hidden;
        for (const one of drawings) one.classList.toggle("printed", !place.hidden);
        if (!graph) {
          graph = window.cytoscape({
            container: place, elements: read(svg), style: style(), layout: { name: "preset", padding: 20 },
            maxZoom: 3, minZoom: 0.1,
          });
          graph.on("tap", (event) => choose(event.target === graph || event.target.isEdge() ? null : event.target));
          matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.style(style()));
          if (graph.zoom() > 1) graph.zoom(1).center();
          if (svg.matches(".narrow")) {  // its column is no place for lines with labels
            spread(graph, 110);
            if (graph.zoom() < 0.7) graph.zoom(0.7).center(graph.nodes(".start"));
          }
          place.graph = graph;
        }
        turn.textContent = say(place.hidden ? "move" : "drawn");
        if (place.hidden) choose(null);
      } catch (error) {
        said.textContent = error.message;
      } finally {
        turn.disabled = false;
      }
    });
    bar.append(turn, open, neighbours, said);
    frame.before(bar);
    frame.append(place);
  }

  document.querySelectorAll(".wide:has(> svg.drawing)").forEach(enhance);
})();
