// A map that asks nobody for tiles: land and borders of the world, the holder's own GeoJSON, and layers on top.
import { leaflet as L } from "nicegui-leaflet";

export { L };

// Asked for once per theme: to ask the browser in the middle of a redraw makes it lay out the page again.
let known = new Map(), theme = null;
export function colour(name) {
  if (theme !== document.body.className) { theme = document.body.className; known = new Map(); }
  if (!known.has(name)) known.set(name, getComputedStyle(document.body).getPropertyValue(name).trim());
  return known.get(name);
}

export function loadStyle(url) {
  if (document.querySelector(`link[href="${url}"]`)) return Promise.resolve();
  return new Promise((done) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: url });
    link.onload = link.onerror = done;
    document.head.append(link);
  });
}

export function loadScript(url) {
  if (document.querySelector(`script[src="${url}"]`)) return Promise.resolve();
  return new Promise((done) => {
    const script = Object.assign(document.createElement("script"), { src: url });
    script.onload = script.onerror = done;
    document.head.append(script);
  });
}

// How each kind of feature of a basemap is drawn; a kind that is not known is a thin outline.
const LOOKS = {
  box: () => ({ stroke: false, fillColor: colour("--water"), fillOpacity: 1 }),
  land: () => ({ stroke: true, color: colour("--shore"), weight: 0.8, fillColor: colour("--land"), fillOpacity: 1 }),
  border: () => ({ color: colour("--border"), weight: 0.8, fill: false, dashArray: "3 3" }),
  park: () => ({ stroke: false, fillColor: colour("--park"), fillOpacity: 1 }),
  street: (zoom) => ({ color: colour("--street"), weight: zoom < 12 ? 0.3 : 0.8, opacity: zoom < 12 ? 0.55 : 1, fill: false }),
  avenue: (zoom) => ({ color: colour("--street"), weight: zoom < 12 ? 0.6 : 1.6, fill: false }),
  terminal: () => ({ color: colour("--terminal"), weight: 2.5, fill: false }),
};
const look = (zoom) => (feature) =>
  (LOOKS[feature.properties?.kind] ?? (() => ({ color: colour("--shore"), weight: 1, fillOpacity: 0.08 })))(zoom);

const fetched = new Map();
const geojson = (url) => {
  if (!fetched.has(url)) fetched.set(url, fetch(url).then((answer) => answer.json()));
  return fetched.get(url);
};

// `box`: [[south, west], [north, east]], declared, never taken from rows.
export async function makeMap(element, { box, basemaps, resources, label, attribution }) {
  await loadStyle(`${resources}/leaflet/leaflet.css`);
  const map = L.map(element, {
    zoomSnap: 0.25, zoomDelta: 0.5, preferCanvas: true, attributionControl: false, minZoom: 1, maxZoom: 18,
    zoomAnimation: true, markerZoomAnimation: true,
  });
  element.setAttribute("role", "application");
  element.setAttribute("aria-label", label);
  L.control.attribution({ prefix: false }).addAttribution(attribution).addTo(map);
  L.control.scale({ imperial: false, maxWidth: 120 }).addTo(map);
  map.fitBounds(box, { padding: [12, 12], animate: false });
  element.dataset.box = map.getBounds().toBBoxString();  // what it opened on: tests compare it with what was declared
  map.createPane("base").style.zIndex = 150;
  map.createPane("points").style.zIndex = 350;
  const ground = L.canvas({ pane: "base", padding: 0.3 });
  const layers = [];
  for (const url of basemaps) {
    const layer = L.geoJSON(await geojson(url), {
      renderer: ground, pane: "base", interactive: false, style: look(map.getZoom()), pointToLayer: () => null,
    }).addTo(map);
    layers.push(layer);
  }
  const frame = L.rectangle(box, { fill: false, weight: 1.2, dashArray: "5 5", interactive: false }).addTo(map);
  const restyle = () => {
    layers.forEach((layer) => layer.setStyle(look(map.getZoom())));
    frame.setStyle({ color: colour("--soft") });
    map.fire("restyle");
  };
  restyle();
  let near = map.getZoom() >= 12;
  map.on("zoomend", () => { if (near !== (near = map.getZoom() >= 12)) restyle(); });
  const themes = new MutationObserver(restyle);
  themes.observe(document.body, { attributes: true, attributeFilter: ["class"] });
  const sizes = new ResizeObserver(() => map.invalidateSize({ pan: false }));
  sizes.observe(element);
  map.on("unload", () => { themes.disconnect(); sizes.disconnect(); });
  return map;
}

// Thousands of points in one canvas: drawn in a few milliseconds, so that a slider can be followed.
export const PointsLayer = L.Layer.extend({
  initialize(options) { L.setOptions(this, options); this._points = []; },
  onAdd(map) {
    this._canvas = L.DomUtil.create("canvas", "leaflet-layer leaflet-zoom-hide", map.getPane("points"));
    this._canvas.setAttribute("aria-hidden", "true");
    map.on("moveend zoomend resize viewreset restyle", this.draw, this);
    this.draw();
  },
  onRemove(map) {
    map.off("moveend zoomend resize viewreset restyle", this.draw, this);
    this._canvas.remove();
  },
  // [[lat, lng, weight], ...]
  setPoints(points) { this._points = points; if (this._map) this.draw(); },
  setVisible(on) { if (this._canvas) this._canvas.style.visibility = on ? "" : "hidden"; },
  draw() {
    const map = this._map, size = map.getSize(), ratio = window.devicePixelRatio || 1, canvas = this._canvas;
    canvas.width = size.x * ratio; canvas.height = size.y * ratio;
    canvas.style.width = `${size.x}px`; canvas.style.height = `${size.y}px`;
    L.DomUtil.setPosition(canvas, map.containerPointToLayerPoint([0, 0]));
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    drawPoints(pen, this._points.map(([lat, lng, w]) => { const p = map.latLngToContainerPoint([lat, lng]); return [p.x, p.y, w]; }));
  },
});

// The area of a point is its weight; the heaviest has a radius of 6 pixels, the lightest is still seen.
export function drawPoints(pen, points) {
  const most = Math.max(...points.map((p) => p[2]), 1e-12);
  pen.fillStyle = colour("--points");
  pen.globalAlpha = 0.5;
  for (const [x, y, w] of points) {
    pen.beginPath();
    pen.arc(x, y, Math.max(0.9, 6 * Math.sqrt(Math.max(w, 0) / most)), 0, 2 * Math.PI);
    pen.fill();
  }
}

// Private centres: a disc of total error, and a marker whose area is the size.
export function centresLayer({ className = "" } = {}) {
  const group = L.layerGroup();
  group.show = (centres, { onHover } = {}) => {
    group.clearLayers();
    const most = Math.max(...centres.map((c) => c.size ?? 0), 1);
    centres.forEach((c, i) => {
      if (c.reach) {
        const ring = Array.from({ length: 48 }, (_, j) => {
          const turn = (2 * Math.PI * j) / 48;
          return [c.at[0] + c.reach[0] * Math.sin(turn), c.at[1] + c.reach[1] * Math.cos(turn)];
        });
        L.polygon(ring, { color: colour("--blue"), weight: 1, fillColor: colour("--blue"), fillOpacity: 0.16, interactive: false }).addTo(group);
      }
      const marker = L.circleMarker(c.at, {
        radius: 5 + 9 * Math.sqrt(Math.max(c.size ?? 0, 0) / most), color: colour("--card"), weight: 1.5,
        fillColor: colour("--blue"), fillOpacity: 0.92, className,
      }).addTo(group);
      if (c.label) marker.bindTooltip(c.label, { direction: "top", className: "tip" });
      if (onHover) marker.on("mouseover", () => onHover(i)).on("mouseout", () => onHover(null));
    });
  };
  return group;
}

// Non-private centres: red crosses, and red rings for a level that was tried on the real rows. Nothing in here can be exported.
const RED = { cross: "M3 3 13 13M13 3 3 13", ring: "M8 2a6 6 0 1 0 .01 0Z" };
export function redLayer() {
  const group = L.layerGroup();
  group.show = (centres, tried = []) => {
    group.clearLayers();
    for (const [kind, places] of [["ring", tried], ["cross", centres]]) for (const at of places) {
      L.marker(at, {
        interactive: false, keyboard: false,
        icon: L.divIcon({ className: `red-${kind}`, html: `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${RED[kind]}"/></svg>`, iconSize: [16, 16] }),
      }).addTo(group);
    }
  };
  return group;
}

// Regions with levels of their own, as they were declared.
export const zonesLayer = (zones) => L.geoJSON(zones, {
  interactive: false,
  style: () => ({ color: colour("--warn"), weight: 1.6, dashArray: "6 4", fillColor: colour("--warn"), fillOpacity: 0.08 }),
});

// Only where the studio was started with --online-tiles, and somebody ticks the box: requests tell where the data is.
export const tilesLayer = (url) => L.tileLayer(url, { pane: "base", attribution: "© OpenStreetMap contributors", maxZoom: 18 });
