// Explore: all prepared levels come once; from then on the slider redraws here, without asking the server.
import { makeMap, PointsLayer, centresLayer, redLayer, tilesLayer, zonesLayer } from "/assets/map.js";
import { number, percent, distance } from "/assets/format.js";
import { errorChart, scatterChart, parallelChart } from "/assets/charts.js";

export default {
  template: `
<section class="stage" :class="{ready: scene}">
  <div class="stage-main">
    <div class="card dial">
      <div class="dial-head">
        <label class="dial-label" :for="uid">Privacy level</label>
        <slot name="level-help"></slot>
        <output class="dial-word" :for="uid"><strong>{{ level.name }}</strong> <small>ε = {{ level.epsilon }}</small></output>
      </div>
      <input :id="uid" class="dial-range" type="range" min="0" :max="levels.length - 1" step="1" :value="at" :disabled="!scene"
        :aria-valuetext="level.name + ', epsilon ' + level.epsilon" :style="{'--done': done}" @input="slide">
      <div class="dial-ticks" aria-hidden="true">
        <button v-for="(l, i) in levels" tabindex="-1" type="button" :class="{on: i === at}" @click="set(i)">{{ l.name }}</button>
      </div>
      <div class="dial-ends" aria-hidden="true"><span>strongest privacy</span><span>weakest</span></div>
      <p class="risk" aria-live="polite">{{ level.risk }}</p>
    </div>
    <div class="card view">
      <div class="view-bar">
        <div class="segments" role="radiogroup" aria-label="How to draw it">
          <label v-for="v in kinds" :class="{on: view === v.key}"><input type="radio" :name="uid + 'v'" :value="v.key" v-model="view" @change="redraw">{{ v.name }}</label>
        </div>
        <template v-if="view === 'scatter'">
          <label class="pick">across <select v-model.number="x" @change="redraw"><option v-for="(c, i) in columns" :value="i">{{ c.name }}</option></select></label>
          <label class="pick">up <select v-model.number="y" @change="redraw"><option v-for="(c, i) in columns" :value="i">{{ c.name }}</option></select></label>
        </template>
        <fieldset class="layers"><legend class="unseen">Layers</legend>
          <label><input type="checkbox" v-model="show.points" @change="redraw"><i class="dot points"></i>points</label>
          <label v-if="hasCoreset" class="pick"><span class="unseen">What the points are</span><select v-model="black" @change="redraw"><option value="counts">released counts</option><option value="coreset">coreset</option></select></label>
          <label><input type="checkbox" v-model="show.centres" @change="redraw"><i class="dot centres"></i>private centres</label>
          <label v-if="red"><input type="checkbox" v-model="show.red" @change="redraw"><i class="dot red"></i>non-private centres <b class="not">not for release</b></label>
          <label v-if="preview"><input type="checkbox" v-model="show.preview" @change="redraw"><i class="dot ring"></i>“{{ preview.level }}” on the real rows <b class="not">not for release</b></label>
          <label v-if="tiles"><input type="checkbox" v-model="show.tiles" @change="redraw">online map</label>
        </fieldset>
      </div>
      <div class="canvas">
        <div ref="map" class="map" v-show="view === 'map'"></div>
        <div ref="plot" class="plot" v-show="view !== 'map'" role="img" :aria-label="plotLabel"></div>
        <p v-if="(show.red && red) || (show.preview && preview)" class="ribbon" role="note">Red is of the real rows, on this screen alone: not for release.</p>
      </div>
      <p class="caption">{{ caption }}</p>
    </div>
  </div>
  <aside class="stage-side" aria-label="What this level gives">
    <div class="card facts">
      <div class="fact lead"><span class="fact-name">Expected error <slot name="error-help"></slot></span>
        <strong class="fact-value">{{ excess }}</strong><span class="fact-note">{{ excessNote }}</span></div>
      <p v-if="level.doubt" class="note warn" role="note">{{ doubt }}</p>
      <div class="fact"><span class="fact-name">Coreset size <slot name="coreset-help"></slot></span><strong class="fact-value">{{ pointsCount }}</strong></div>
      <div class="fact"><span class="fact-name">Left in the ledger <slot name="ledger-help"></slot></span><strong class="fact-value">{{ ledgerLeft }}</strong><span class="fact-note">{{ ledgerNote }}</span></div>
      <div class="fact"><span class="fact-name">Cut off by the bounds <slot name="clipped-help"></slot></span>
        <span v-if="!clipped.length" class="fact-note">not counted</span><span v-for="said in clipped" class="fact-note">{{ said }}</span></div>
    </div>
    <div class="card"><h2 class="minor">Error against epsilon</h2><div ref="chart" class="chart" role="img" :aria-label="chartLabel"></div></div>
    <div class="card sizes"><h2 class="minor">Groups at this level <slot name="sizes-help"></slot></h2>
      <div class="scroller" tabindex="0" role="region" aria-label="Table of groups"><table><thead><tr><th scope="col">group</th><th scope="col">rows</th><th scope="col">95 % interval</th><th scope="col">error</th></tr></thead>
      <tbody><tr v-for="(c, i) in centres" :class="{on: hover === i}"><th scope="row">{{ i }}</th><td>{{ c.rows }}</td><td>{{ c.between }}</td><td>{{ c.error }}</td></tr></tbody></table></div>
    </div>
  </aside>
</section>`,
  props: { url: String, resources: String, tiles: String, start: Number },
  data: () => ({
    scene: null, at: 0, black: "counts", view: "map", x: 0, y: 1, hover: null, red: null, preview: null,
    show: { points: true, centres: true, red: true, preview: true, tiles: false },
    uid: `stage${Math.random().toString(36).slice(2, 8)}`,
  }),
  computed: {
    levels() { return this.scene?.levels ?? [{ name: "", epsilon: "", risk: "" }]; },
    level() { return this.levels[Math.min(this.at, this.levels.length - 1)]; },
    columns() { return this.scene?.columns ?? []; },
    done() { return this.levels.length > 1 ? this.at / (this.levels.length - 1) : 0; },
    kinds() {
      const flat = [{ key: "scatter", name: "Scatter" }];
      if (this.columns.length > 2) flat.push({ key: "parallel", name: "All columns" });
      return this.scene?.map ? [{ key: "map", name: "Map" }, ...flat] : flat;
    },
    hasCoreset() { return this.levels.some((l) => l.coreset?.points.length); },
    // What is drawn: the level, with the points that were asked for.
    drawn() { return this.black === "coreset" && this.level.coreset ? { ...this.level, ...this.level.coreset } : this.level; },
    pointsCount() { return this.level.coreset_size ? number(this.level.coreset_size) : "none here"; },
    excess() { return this.level.excess == null ? "unknown" : `about ${percent(this.level.excess)} more`; },
    excessNote() { return this.level.excess == null ? "not predicted at this level" : this.level.worst == null ? "than without privacy, predicted" : `than without privacy, predicted; ${percent(this.level.worst)} in the worst of five tries`; },
    doubt() { const said = this.level.doubt ?? ""; return said && said[0].toUpperCase() + said.slice(1) + "."; },
    clipped() { return this.scene?.clipped ?? []; },
    ledgerLeft() { return this.scene?.ledger ? `ε ${this.scene.ledger.left}` : "no ledger"; },
    ledgerNote() { return this.scene?.ledger ? `of ${this.scene.ledger.total}; this release would leave ${this.level.left_after ?? "too little"}` : ""; },
    centres() {
      return (this.level.centres ?? []).map((at, i) => ({
        at, size: this.level.sizes[i], reach: this.level.errors?.[i] ?? null,
        rows: number(Math.round(this.level.sizes[i])),
        between: this.level.intervals?.[i] ? this.level.intervals[i].map((v) => number(Math.round(v))).join(" to ") : "",
        error: this.level.errors?.[i] ? distance(this.level.errors[i], at, this.scene) : "",
      }));
    },
    caption() { return this.scene?.caption ?? "Preparing…"; },
    plotLabel() {
      const names = this.view === "parallel" ? "all columns" : `${this.columns[this.x]?.name} and ${this.columns[this.y]?.name}`;
      return `${this.centres.length} private centres over ${names}; the table of groups has the numbers`;
    },
    chartLabel() {
      return "Predicted error at each level: " + this.levels.filter((l) => l.excess != null)
        .map((l) => `${l.name}, epsilon ${l.epsilon}, ${percent(l.excess)} more`).join("; ");
    },
  },
  async mounted() { await this.load(); },
  unmounted() { this.map?.remove(); this.errors?.dispose(); this.plot?.dispose(); },
  methods: {
    async load() {
      const answer = await fetch(this.url, { credentials: "same-origin" });
      if (!answer.ok) return;
      const scene = Vue.markRaw(await answer.json());
      this.at = Math.min(this.start ?? scene.start ?? 0, scene.levels.length - 1);
      this.view = scene.map ? "map" : "scatter";
      this.y = Math.min(1, scene.columns.length - 1);
      if (scene.red) this.red = scene.red;
      this.scene = scene;
      await this.$nextTick();
      if (scene.map) await this.layMap();
      this.errors = Vue.markRaw(errorChart(this.$refs.chart, scene.levels, (i) => this.set(i)));
      this.draw();
      this.$el.dataset.drawn = "yes";
    },
    async layMap() {
      const [lon, lat] = this.scene.map, c = this.columns;
      const map = await makeMap(this.$refs.map, {
        box: [[c[lat].lower, c[lon].lower], [c[lat].upper, c[lon].upper]], basemaps: this.scene.basemaps,
        resources: this.resources, attribution: this.scene.attribution ?? "",
        label: "Map of the groups; arrow keys move it, plus and minus zoom. The table of groups has the numbers.",
      });
      this.map = Vue.markRaw(map);
      if (this.scene.zones) zonesLayer(this.scene.zones).addTo(map);
      this.pointsLayer = Vue.markRaw(new PointsLayer().addTo(map));
      this.blue = Vue.markRaw(centresLayer().addTo(map));
      this.crosses = Vue.markRaw(redLayer().addTo(map));
      map.on("restyle", () => { this.drawnOf = {}; this.drawMap(); });
    },
    slide(event) { this.set(Number(event.target.value)); },
    set(i) {
      if (i === this.at) return;
      this.at = i;
      this.redraw();
      clearTimeout(this.telling);
      this.telling = setTimeout(() => this.$emit("level", i), 200);
    },
    redraw() {
      const begun = performance.now();
      this.$nextTick(() => {
        this.draw();
        // Two frames later the picture is on the screen: benchmarks/studio.py reads this.
        requestAnimationFrame(() => requestAnimationFrame(() => performance.measure("shoal-redraw", { start: begun, end: performance.now() })));
      });
    },
    setRed(centres) { this.red = centres; this.show.red = true; if (!centres) this.preview = null; this.draw(); },
    setPreview(level, centres) { this.preview = { level, centres }; this.show.preview = true; this.draw(); },
    draw() {
      if (!this.scene) return;
      if (this.view === "map") this.drawMap(); else this.drawPlot();
      this.anew("mark", this.at, () => this.errors?.mark(this.at));
    },
    // Draws a part of the picture only when what it shows is another: a layer that is switched off and on is not drawn again.
    anew(part, shown, make) {
      this.drawnOf ??= {};
      if (this.drawnOf[part] === shown) return;
      this.drawnOf[part] = shown;
      make();
    },
    drawMap() {
      if (!this.map) return;
      const [lon, lat] = this.scene.map, l = this.drawn;
      this.pointsLayer.setVisible(this.show.points);
      if (this.show.points) this.anew("points", l, () => this.pointsLayer.setPoints(l.points.map((p, i) => [p[lat], p[lon], l.weights[i]])));
      if (this.show.centres) this.anew("centres", this.centres, () => this.blue.show(this.centres.map((c, i) => ({
        at: [c.at[lat], c.at[lon]], size: c.size, reach: c.reach && [c.reach[lat], c.reach[lon]],
        label: `group ${i}: ${c.rows} rows (${c.between})`,
      })), { onHover: (i) => { this.hover = i; } }));
      if (this.show.centres) this.blue.addTo(this.map); else this.blue.remove();
      const onMap = (centres) => centres.map((c) => [c[lat], c[lon]]);
      this.crosses.show(this.red && this.show.red ? onMap(this.red) : [], this.preview && this.show.preview ? onMap(this.preview.centres) : []);
      if (this.tiles) this.online ??= Vue.markRaw(tilesLayer(this.tiles));
      if (this.show.tiles) this.online?.addTo(this.map); else this.online?.remove();
    },
    drawPlot() {
      const make = this.view === "parallel" ? parallelChart : scatterChart;
      if (this.plotKind !== this.view) { this.plot?.dispose(); this.plot = null; this.plotKind = this.view; }
      this.plot ??= Vue.markRaw(make(this.$refs.plot, this.columns));
      this.plot.show(this.drawn, { x: this.x, y: this.y, points: this.show.points, centres: this.show.centres, red: this.show.red ? this.red : null, preview: this.preview && this.show.preview ? this.preview.centres : null });
    },
  },
};
