/* Maps as pictures: one small function a kind of tile, in a square of 100 units. */

const CELL = 100;
const TURNS = { RIGHT: 0, DOWN: 90, LEFT: 180, UP: 270 };
const CHEVRON = "M-14,-22L14,0L-14,22";

const circle = (look, cx, cy, r) => draw("circle", { class: look, cx, cy, r });

function coin(radius) {
  return () => [circle("coin", 50, 50, radius), circle("coin-face", 50, 50, radius * 0.64)];
}

function cloud(look, size) {
  const puffs = [
    [30, 58, 19],
    [70, 58, 19],
    [50, 42, 23],
    [50, 62, 20],
  ];
  return () => {
    const at = (value) => 50 + (value - 50) * size;
    const eyes = [41, 59].map((x) => circle(`${look}-eye`, at(x), at(47), 5 * size));
    return [...puffs.map(([x, y, r]) => circle(look, at(x), at(y), r * size)), ...eyes];
  };
}

function waves(look) {
  const crest = (y) => draw("path", { class: `${look}-line`, d: `M10,${y}q10,-10 20,0t20,0t20,0t20,0` });
  return () => [draw("rect", { class: look, width: CELL, height: CELL }), ...[28, 52, 76].map(crest)];
}

function oneWay(action) {
  return () => [
    draw("rect", { class: "one-way", width: CELL, height: CELL }),
    ...[-16, 16].map((shift) =>
      draw("path", {
        class: "one-way-line",
        d: CHEVRON,
        transform: `translate(50,50) rotate(${TURNS[action]}) translate(${shift},0)`,
      }),
    ),
  ];
}

const filled = (look) => () => [draw("rect", { class: look, width: CELL, height: CELL })];
const hole = (look) => () => [draw("ellipse", { class: look, cx: 50, cy: 54, rx: 42, ry: 38 })];

const TILES = {
  C: coin(33),
  c: coin(18),
  T: cloud("toxic", 1.1),
  t: cloud("mild", 0.85),
  "~": waves("sand"),
  "=": waves("water"),
  "<": oneWay("LEFT"),
  ">": oneWay("RIGHT"),
  "^": oneWay("UP"),
  v: oneWay("DOWN"),
  "#": filled("wall"),
  P: hole("pit"),
  O: hole("hole"),
  G: () => [draw("path", { class: "flag", d: "M36,16V88M38,16L80,31L38,46Z" })],
  S: () => [draw("rect", { class: "start", x: 20, y: 20, width: 60, height: 60 })],
};

/** Tiles that colour the whole cell; they lie under everything else. */
const GROUNDS = new Set(["~", "=", "<", ">", "^", "v", "#"]);

/** What a tile looks like; nothing for plain ground and tiles unknown here. */
const paintTile = (tile) => (Object.hasOwn(TILES, tile) ? TILES[tile]() : []);

/** A whole map, as small as its box wants it. */
function paintMap(rows, label) {
  const [height, width] = [rows.length, rows[0].length];
  const picture = draw("svg", { class: "map", viewBox: `-2 -2 ${width * CELL + 4} ${height * CELL + 4}`, role: "img" });
  furnish(picture, { "aria-label": label, "--shape": width / height }, []);
  rows.forEach((row, r) =>
    [...row].forEach((tile, c) => {
      const ground = draw("rect", { class: "ground", width: CELL, height: CELL });
      picture.append(draw("g", { transform: `translate(${c * CELL},${r * CELL})` }, ground, ...paintTile(tile)));
    }),
  );
  return picture;
}
