/* Grids of square cells of 100 × 100 units: maps, tiles and the marks of the run inspector. */

const CELL = 100;
const TURNS = { RIGHT: 0, DOWN: 90, LEFT: 180, UP: 270 };

/* Path data of the shapes of tiles between two corners, or through points. */
const OUTLINES = {
  rectangle: ([[left, top], [right, bottom]]) => `M${left},${top}H${right}V${bottom}H${left}Z`,
  ellipse: ([[left, top], [right, bottom]]) => {
    const [width, height] = [right - left, bottom - top];
    const half = `a${width / 2},${height / 2} 0 1 0`;
    return `M${left},${top + height / 2}${half} ${width},0${half} ${-width},0`;
  },
  polygon: (points) => `M${points.join("L")}Z`,
  line: (points) => `M${points.join("L")}`,
};

/** Shapes in the unit square, such as those of a tile: [kind, points, fill, colour of the edge, width of the line]. */
function drawShapes(shapes) {
  return shapes.map(([kind, points, colour, edge, width]) => {
    const d = OUTLINES[kind](points.map((point) => point.map((value) => value * CELL)));
    const [fill, stroke] = kind === "line" ? ["none", colour] : [colour, edge];
    return element("path", { d, fill, stroke, "stroke-width": width * CELL });
  });
}

/** The corners of a star. */
const STAR = Array.from({ length: 10 }, (_, i) => {
  const [angle, radius] = [(i * Math.PI) / 5, i % 2 ? 0.2 : 0.45];
  return [0.5 + radius * Math.sin(angle), 0.5 - radius * Math.cos(angle)];
});

/** Marks of the inspector as shapes, and the corners of a cell in which they are drawn. */
const MARKS = { ...page.marks, goal: [["polygon", STAR, "light-dark(#b0307c, #f291c4)", "var(--surface)", 0.06]] };
const CORNERS = { agent: "translate(55,-5) scale(0.5)", goal: "scale(0.4)" };

const drawTile = (tile) => drawShapes(page.tiles[tile] ?? []);
const drawMark = (name) => element("g", { class: `${name}-mark`, transform: CORNERS[name] }, drawShapes(MARKS[name]));
const square = (attributes) => element("path", { d: "M0,0H100V100H0Z", ...attributes });

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
  if (action === "STAY") return element("circle", { class: "stay", cx: 50, cy: 50, r: small ? 7 : 11 });
  if (!(action in TURNS)) return element("text", { x: 50, y: 56, "text-anchor": "middle" }, action.slice(0, 4));
  const d = small ? "M0,0H32M22,-9L34,0L22,9" : "M-28,0H24M8,-17L27,0L8,17";
  const line = { fill: "none", stroke: "var(--ink)", "stroke-width": 6, "stroke-linecap": "round" };
  return element("path", { class: "arrow", d, transform: `translate(50,50) rotate(${TURNS[action]})`, ...line });
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
