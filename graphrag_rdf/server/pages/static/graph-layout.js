// Positions for a drawing, in a thread of their own: a simulation of forces, sent while it settles.
"use strict";
importScripts("d3-dispatch.min.js", "d3-timer.min.js", "d3-quadtree.min.js", "d3-force.min.js");

onmessage = ({ data: { nodes, links, ticks, heat } }) => {
  const large = nodes.length > 1000;
  const many = nodes.length > 60;
  const strength = large ? -60 : many ? -300 : -600;
  const simulation = d3.forceSimulation(nodes).stop().alpha(heat).alphaDecay(1 - 0.002 ** (1 / ticks))
    .force("charge", d3.forceManyBody().strength(strength).theta(large ? 1.3 : 0.9).distanceMax(1500))
    .force("link", d3.forceLink(links).distance(large ? 60 : many ? 75 : 110).iterations(large ? 1 : 2))
    .force("x", d3.forceX().strength(large ? 0.08 : 0.06))
    .force("y", d3.forceY().strength(large ? 0.08 : 0.09));
  if (!large) simulation.force("collide", d3.forceCollide((node) => node.size / 2 + 16));
  let sent = performance.now();
  for (let tick = 1; tick <= ticks; tick++) {
    simulation.tick();
    const now = performance.now();
    if (tick < ticks && now - sent < (large ? 1000 : 40)) continue;
    sent = now;
    postMessage({ done: tick === ticks, positions: Float32Array.from(nodes.flatMap(({ x, y }) => [x, y])) });
  }
};
