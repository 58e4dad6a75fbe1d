/* Grids of square cells of 100 × 100 units: maps, tiles and the marks of the run inspector. */

const CELL = 100;
const TURNS = { RIGHT: 0, DOWN: 90, LEFT: 180, UP: 270 };

/* Path data of common shapes */
const SQUARE = "M0,0H100V100H0Z";
const WAVES = [28, 52, 76].map((y) => `M10,${y}q10,-10 20,0t20,0t20,0t20,0`).join("");
const HOLE = "M8,54a42,38 0 1 0 84,0a42,38 0 1 0 -84,0";
const disc = (x, y, r) => `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0`;
const pair = (x, y, r) => disc(50 - x, y, r) + disc(50 + x, y, r);
const cloud = (size) => pair(20 * size, 58, 19 * size) + disc(50, 43, 23 * size) + disc(50, 61, 20 * size);
const eyes = (size) => pair(9 * size, 47, 5 * size);

/** Tiles as layers [colour, path, line width]; without a width the path is filled. Any other tile is plain ground. */
// prettier-ignore
const TILES = {
  C: [["#ba7e00", disc(50, 50, 34)], ["#f4b41a", disc(50, 50, 31)], ["#facd5a", disc(50, 50, 21)]],
  c: [["#ba7e00", disc(50, 50, 19)], ["#f4b41a", disc(50, 50, 17)], ["#facd5a", disc(50, 50, 11)]],
  T: [["#6c8e2b", cloud(1.1)], ["#2f4210", eyes(1.1)]],
  t: [["#b4c879", cloud(0.85)], ["#6f8637", eyes(0.85)]],
  "~": [["#e9cd96", SQUARE], ["#be9654", WAVES, 5]],
  "=": [["#b0d6f0", SQUARE], ["#5494c4", WAVES, 5]],
  "<": [["#dfe6f0", SQUARE], ["#788caa", "M48,28L20,50L48,72M80,28L52,50L80,72", 9]],
  ">": [["#dfe6f0", SQUARE], ["#788caa", "M20,28L48,50L20,72M52,28L80,50L52,72", 9]],
  "^": [["#dfe6f0", SQUARE], ["#788caa", "M28,48L50,20L72,48M28,80L50,52L72,80", 9]],
  v: [["#dfe6f0", SQUARE], ["#788caa", "M28,20L50,48L72,20M28,52L50,80L72,52", 9]],
  "#": [["#5c616c", SQUARE]],
  P: [["#232128", HOLE]],
  O: [["#285c8c", HOLE]],
  G: [["var(--ink)", "M36,16V88", 5], ["#2e8b57", "M38,16L80,31L38,46Z"]],
  S: [["#c9c3b4", "M20,20H80V80H20Z"]],
};
const STAR = "M20,4L24.7,14.8L36.4,15.9L27.6,23.7L30.1,35.1L20,29.2L9.9,35.1L12.4,23.7L3.6,15.9L15.3,14.8Z";

/** Marks of the inspector, as layers. */
// prettier-ignore
const MARKS = {
  agent: [["var(--surface)", disc(80, 20, 17)], ["light-dark(#2468c4, #78b4ff)", disc(80, 20, 14)],
          ["var(--surface)", disc(75, 18, 3) + disc(85, 18, 3)]],
  goal: [["var(--surface)", STAR, 5], ["light-dark(#b0307c, #f291c4)", STAR]],
  button: [["#5c616c", "M0,30H9V70H0Z"], ["#d63e38", disc(12, 50, 11)]],
};

function drawLayers(layers) {
  const line = { fill: "none", "stroke-linecap": "round", "stroke-linejoin": "round" };
  return layers.map(([colour, d, width]) =>
    element("path", width ? { d, stroke: colour, "stroke-width": width, ...line } : { d, fill: colour }),
  );
}

const drawTile = (tile) => drawLayers(TILES[tile] ?? []);
const drawMark = (name) => element("g", { class: `${name}-mark` }, drawLayers(MARKS[name]));
const square = (attributes) => element("path", { d: SQUARE, ...attributes });

/** A grid as a picture; content(tile, index) returns the attributes and the children of the cell at places[index]. */
function drawGrid(tiles, places, attributes, content) {
  const [rows, columns] = [tiles.length, tiles[0].length];
  const cells = places.map(([r, c], index) => {
    const [data, children] = content(tiles[r][c], index);
    return element("g", { transform: `translate(${c * CELL},${r * CELL})`, ...data }, children);
  });
  const viewBox = `-3 -3 ${columns * CELL + 6} ${rows * CELL + 6}`;
  return element("svg", { viewBox, role: "img", ...attributes }, cells);
}

/** The map of an environment. */
function drawMap(tiles, label) {
  const places = tiles.flatMap((line, r) => [...line].map((_, c) => [r, c]));
  const attributes = { "aria-label": label, width: Math.min(150, (38 * tiles[0].length) / tiles.length) };
  return drawGrid(tiles, places, attributes, (tile) => [{}, [square({ class: "ground" }), ...drawTile(tile)]]);
}

/** An arrow in the direction of an action, a dot for STAY, the first letters of any other action. */
function drawArrow(action, small) {
  if (action === "STAY") return element("path", { class: "stay", d: disc(50, 50, small ? 7 : 11), fill: "var(--ink)" });
  if (!(action in TURNS)) return element("text", { x: 50, y: 56, "text-anchor": "middle" }, action.slice(0, 4));
  const d = small ? "M0,0H32M22,-9L34,0L22,9" : "M-28,0H24M8,-17L27,0L8,17";
  const attributes = { class: "arrow", transform: `translate(50,50) rotate(${TURNS[action]})` };
  return element("g", attributes, drawLayers([["var(--ink)", d, 6]]));
}

const SIDES = {
  LEFT: "0,0 32,32 32,68 0,100",
  DOWN: "0,100 32,68 68,68 100,100",
  RIGHT: "100,0 68,32 68,68 100,100",
  UP: "0,0 32,32 68,32 100,0",
  STAY: "32,32 68,32 68,68 32,68",
};

/** Whether the actions are the four moves and perhaps STAY. */
const areMoves = (actions) =>
  Object.keys(TURNS).every((move) => actions.includes(move)) && actions.every((action) => action in SIDES);

/** A polygon per action that together fill a cell: moves around STAY, else vertical strips. */
function actionPolygons(actions) {
  if (areMoves(actions)) return actions.map((action) => SIDES[action]);
  const width = CELL / actions.length;
  return actions.map((_, i) => `${i * width},0 ${(i + 1) * width},0 ${(i + 1) * width},100 ${i * width},100`);
}
