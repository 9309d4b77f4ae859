// ECharts, in the colours of the page; it is redrawn when the theme changes.
import { echarts } from "nicegui-echart";
import { colour } from "/assets/map.js";
import { percent } from "/assets/format.js";

function chart(element, options) {
  const made = echarts.init(element, null, { renderer: "canvas" });
  let last = null;
  const draw = () => made.setOption(options(last), { notMerge: true });
  const themes = new MutationObserver(draw);
  themes.observe(document.body, { attributes: true, attributeFilter: ["class"] });
  const sizes = new ResizeObserver(() => made.resize());
  sizes.observe(element);
  return {
    echart: made,
    show(...value) { last = value; draw(); },
    dispose() { themes.disconnect(); sizes.disconnect(); made.dispose(); },
  };
}

const quiet = () => ({
  animation: false,
  textStyle: { fontFamily: "system-ui, sans-serif", color: colour("--soft") },
});
const axis = (name, more = {}) => ({
  name, nameLocation: "middle", nameGap: 26, nameTextStyle: { color: colour("--soft") },
  axisLine: { lineStyle: { color: colour("--line") } }, axisLabel: { color: colour("--soft") },
  splitLine: { lineStyle: { color: colour("--line") } }, ...more,
});

export function errorChart(element, levels, choose) {
  const known = levels.map((l, i) => ({ ...l, i })).filter((l) => l.excess != null);
  const drawn = chart(element, (last) => {
    const at = last?.[0] ?? 0;
    return {
      ...quiet(), grid: { left: 48, right: 14, top: 18, bottom: 40 },
      xAxis: { type: "log", ...axis("epsilon"), min: Math.min(...levels.map((l) => l.epsilon)) * 0.8, max: Math.max(...levels.map((l) => l.epsilon)) * 1.25, splitLine: { show: false } },
      yAxis: { type: "value", ...axis("", { axisLabel: { color: colour("--soft"), formatter: (v) => `${+v.toPrecision(2)} %` } }), min: 0 },
      tooltip: { trigger: "item", formatter: (p) => `${p.data.name}: about ${percent(p.data.excess)} more`, backgroundColor: colour("--card"), borderColor: colour("--line"), textStyle: { color: colour("--ink") } },
      series: [{
        type: "line", smooth: 0.2, symbolSize: (_, p) => (p.data.i === at ? 14 : 7), lineStyle: { color: colour("--blue"), width: 2 },
        data: known.map((l) => ({ value: [l.epsilon, 100 * l.excess], name: l.name, excess: l.excess, i: l.i,
          itemStyle: { color: l.i === at ? colour("--brand") : colour("--blue"), borderColor: colour("--card"), borderWidth: l.i === at ? 3 : 0 } })),
        markLine: { symbol: "none", silent: true, label: { show: false }, lineStyle: { color: colour("--brand"), type: "dashed" }, data: [{ xAxis: levels[at].epsilon }] },
      }],
    };
  });
  drawn.echart.on("click", (event) => event.data && choose(event.data.i));
  drawn.show(0);
  return { mark: (at) => drawn.show(at), dispose: drawn.dispose };
}

export function scatterChart(element, columns) {
  return chart(element, (last) => {
    if (!last) return {};
    const [level, { x, y, points, centres, red, preview }] = last;
    const most = Math.max(...level.weights, 1e-12), largest = Math.max(...level.sizes, 1);
    return {
      ...quiet(), grid: { left: 64, right: 20, top: 20, bottom: 46 },
      xAxis: { type: "value", ...axis(columns[x].name), min: columns[x].lower, max: columns[x].upper },
      yAxis: { type: "value", ...axis(columns[y].name, { nameGap: 44 }), min: columns[y].lower, max: columns[y].upper },
      series: [
        { type: "scatter", silent: true, itemStyle: { color: colour("--points"), opacity: 0.55 }, data: points ? level.points.map((p, i) => ({ value: [p[x], p[y]], symbolSize: Math.max(2, 12 * Math.sqrt(Math.max(level.weights[i], 0) / most)) })) : [] },
        { type: "custom", silent: true, data: centres ? level.centres.map((c, i) => [c[x], c[y], ...(level.errors[i] ? [level.errors[i][x], level.errors[i][y]] : [0, 0])]) : [],
          renderItem: (_, api) => {
            const [cx, cy] = api.coord([api.value(0), api.value(1)]);
            const [rx, ry] = api.size([api.value(2), api.value(3)]);
            return { type: "ellipse", shape: { cx, cy, rx, ry }, style: { fill: colour("--blue"), opacity: 0.16 } };
          } },
        { type: "scatter", itemStyle: { color: colour("--blue"), borderColor: colour("--card"), borderWidth: 1.5 }, data: centres ? level.centres.map((c, i) => ({ value: [c[x], c[y]], symbolSize: 10 + 16 * Math.sqrt(Math.max(level.sizes[i], 0) / largest) })) : [] },
        { type: "scatter", silent: true, symbol: "path://M3 1 8 6 13 1 15 3 10 8 15 13 13 15 8 10 3 15 1 13 6 8 1 3z", symbolSize: 13, itemStyle: { color: colour("--red") }, data: red ? red.map((c) => [c[x], c[y]]) : [] },
        { type: "scatter", silent: true, symbolSize: 15, itemStyle: { color: "transparent", borderColor: colour("--red"), borderWidth: 2.5 }, data: preview ? preview.map((c) => [c[x], c[y]]) : [] },
      ],
    };
  });
}

export function parallelChart(element, columns) {
  return chart(element, (last) => {
    if (!last) return {};
    const [level, { points, centres, red, preview }] = last;
    const most = Math.max(...level.weights, 1e-12);
    const lines = (rows, style) => ({ type: "parallel", silent: true, lineStyle: style, data: rows });
    return {
      ...quiet(),
      parallel: { left: 50, right: 60, top: 46, bottom: 20, axisExpandable: columns.length > 12, parallelAxisDefault: { nameGap: 18, nameTextStyle: { color: colour("--soft") }, axisLine: { lineStyle: { color: colour("--soft") } }, axisLabel: { color: colour("--soft") } } },
      parallelAxis: columns.map((c, dim) => ({ dim, name: c.name, min: c.lower, max: c.upper })),
      series: [
        lines(points ? level.points.map((p, i) => ({ value: p, lineStyle: { opacity: 0.03 + 0.3 * Math.max(level.weights[i], 0) / most } })) : [], { color: colour("--points"), width: 1, opacity: 0.08 }),
        lines(centres ? level.centres : [], { color: colour("--blue"), width: 3, opacity: 0.9 }),
        lines(red ?? [], { color: colour("--red"), width: 2, opacity: 0.9, type: "dashed" }),
        lines(preview ?? [], { color: colour("--red"), width: 2, opacity: 0.9, type: "dotted" }),
      ],
    };
  });
}
