// Numbers as the pages say them.
export const number = (value) => Math.abs(value) >= 1e6 ? `${(value / 1e6).toFixed(1)} M` : Math.round(value).toLocaleString("en-US");

export const percent = (share) => {
  const p = 100 * share;
  return p < 0.1 ? "0.1 %" : p < 10 ? `${p.toFixed(1)} %` : `${Math.round(p)} %`;
};

const short = (value) => Number(value.toPrecision(2)).toString();

// The total error of a centre: on a map in metres or kilometres, else in the first column's own unit and others.
export function distance(reach, at, scene) {
  if (scene.map) {
    const [lon, lat] = scene.map;
    const metres = Math.max(reach[lat] * 111200, reach[lon] * 111200 * Math.cos((at[lat] * Math.PI) / 180));
    return metres < 1000 ? `${short(metres)} m` : `${short(metres / 1000)} km`;
  }
  return reach.slice(0, 3).map(short).join(", ") + (reach.length > 3 ? ", …" : "");
}
