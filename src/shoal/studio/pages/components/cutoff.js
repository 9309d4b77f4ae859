// What bounds do, on made-up rows: those outside move to the edge, and wide bounds pay with noise.
export default {
  template: `
<div class="cutoff">
  <svg viewBox="0 0 320 90" role="img" :aria-label="said"><g>
    <rect v-for="(h, i) in bars" :x="i * 8 + 1" :y="78 - h" width="6" :height="h" :class="{out: i < low || i >= high}" rx="1"/>
    <rect v-if="edgeLow" :x="low * 8 + 1" :y="78 - edgeLow" width="6" :height="edgeLow" class="edge" rx="1"/>
    <rect v-if="edgeHigh" :x="high * 8 - 7" :y="78 - edgeHigh" width="6" :height="edgeHigh" class="edge" rx="1"/>
    <path :d="'M' + low * 8 + ' 0V82M' + high * 8 + ' 0V82'" class="bound"/></g></svg>
  <label>lowest <input type="range" min="0" max="18" v-model.number="low" :aria-valuetext="String(low * 5)"></label>
  <label>highest <input type="range" min="20" max="40" v-model.number="high" :aria-valuetext="String(high * 5)"></label>
  <p class="small" aria-live="polite">{{ said }}</p>
</div>`,
  data: () => {
    // Made-up fares: a long tail to the right.
    const bars = Array.from({ length: 40 }, (_, i) => { const x = (i + 0.5) / 40; return 900 * x * x * Math.exp(-11 * x) + (i > 26 ? 0.1 : 0); });
    const most = Math.max(...bars);
    return { bars: bars.map((b) => (70 * b) / most), low: 0, high: 40 };
  },
  computed: {
    total() { return this.bars.reduce((a, b) => a + b, 0); },
    below() { return this.bars.slice(0, this.low).reduce((a, b) => a + b, 0); },
    above() { return this.bars.slice(this.high).reduce((a, b) => a + b, 0); },
    edgeLow() { return Math.min(76, this.below); },
    edgeHigh() { return Math.min(76, this.above); },
    said() {
      const out = (100 * (this.below + this.above)) / this.total, noise = (100 * (this.high - this.low)) / 40;
      const cut = out < 0.05 ? "No made-up row is cut off" : `${out.toFixed(out < 10 ? 1 : 0)} % of these made-up rows lie outside and move to the edge`;
      return `Bounds ${this.low * 5} to ${this.high * 5}: ${cut}; noise is ${noise.toFixed(0)} % of what bounds of 0 to 200 take.`;
    },
  },
};
