// A map to draw on (a rectangle of bounds, zones), or to look at (a release).
import { L, makeMap, centresLayer, PointsLayer, loadScript, loadStyle, colour } from "/assets/map.js";

const ZONE_COLOURS = ["--brand", "--warn", "--blue", "--red"];

export default {
  template: `<div class="canvas"><div ref="map" class="map" :class="{low: mode === 'rectangle'}"></div></div>`,
  props: { mode: String, box: Array, basemaps: Array, attribution: String, resources: String, label: String, zones: Object, centres: Array, points: Array },
  async mounted() {
    const map = await makeMap(this.$refs.map, { box: this.box, basemaps: this.basemaps, resources: this.resources, label: this.label, attribution: this.attribution });
    this.map = Vue.markRaw(map);
    if (this.points?.length) new PointsLayer().addTo(map).setPoints(this.points);
    if (this.centres?.length) {
      const layer = centresLayer().addTo(map), draw = () => layer.show(this.centres);
      draw(); map.on("restyle", draw);
    }
    this.drawn = Vue.markRaw(L.featureGroup().addTo(map));
    this.showZones(this.zones);
    map.on("restyle", () => this.paint());
    if (this.mode !== "look") await this.letDraw();
    this.$el.dataset.drawn = "yes";
  },
  unmounted() { this.map?.remove(); },
  methods: {
    async letDraw() {
      window.L = L;
      await loadStyle(`${this.resources}/leaflet-draw/leaflet.draw.css`);
      window.type ??= "Feature";  // leaflet-draw reads a global that it forgot to declare
      await loadScript(`${this.resources}/leaflet-draw/leaflet.draw.js`);
      const shape = { shapeOptions: { color: colour("--brand"), weight: 2 } };
      const only = this.mode === "rectangle";
      this.map.addControl(new L.Control.Draw({
        draw: { polyline: false, circle: false, circlemarker: false, marker: false, rectangle: { ...shape, showArea: false }, polygon: only ? false : { ...shape, allowIntersection: false } },
        edit: only ? false : { featureGroup: this.drawn, poly: { allowIntersection: false } },
      }));
      for (const a of this.$el.querySelectorAll(".leaflet-draw a")) a.setAttribute("aria-label", a.title);
      this.map.on("draw:created", (event) => {
        if (only) {
          const b = event.layer.getBounds();
          return this.$emit("box", [b.getWest(), b.getSouth(), b.getEast(), b.getNorth()]);
        }
        this.drawn.addLayer(event.layer); this.paint(); this.tell();
      });
      this.map.on("draw:edited draw:deleted", () => this.tell());
    },
    showZones(zones) {
      this.drawn.clearLayers();
      if (!zones) return;
      L.geoJSON(zones).eachLayer((layer) => this.drawn.addLayer(layer));
      this.paint();
    },
    paint() {
      let i = 0;
      this.drawn.eachLayer((layer) => {
        const c = colour(ZONE_COLOURS[i++ % ZONE_COLOURS.length]);
        layer.setStyle({ color: c, weight: 2, fillColor: c, fillOpacity: 0.14 });
        const name = layer.feature?.properties?.name;
        layer.unbindTooltip();
        if (name) layer.bindTooltip(name, { permanent: true, direction: "center", className: "tip" });
      });
    },
    tell() {
      const features = [];
      this.drawn.eachLayer((layer) => features.push({ type: "Feature", properties: layer.feature?.properties ?? {}, geometry: layer.toGeoJSON(6).geometry }));
      this.$emit("zones", { type: "FeatureCollection", features });
    },
  },
};
