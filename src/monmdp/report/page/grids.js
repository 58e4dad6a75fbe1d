/* The world of a run at one moment: a grid a monitor state, and one of environment pairs for rewards seen. */

/** Which actions a set of bits holds, as [environment action, monitor action] indices. */
function actionsOf(bits, problem) {
  const width = problem.monitorActions.length;
  const found = [];
  for (let action = 0; action < problem.actions.length * width; action += 1) {
    if ((bits >>> action) & 1) found.push([Math.floor(action / width), action % width]);
  }
  return found;
}

/** An action in words; the monitor's part only where there is a choice. */
function actionText([action, monitorAction], problem) {
  const told = problem.actions[action];
  return problem.monitorActions.length > 1 ? `${told} + ${problem.monitorActions[monitorAction]}` : told;
}

/** Empty cells of a map, each with places for heat, tile, arrows and marks. */
function makeGrid(problem, label, monitorState) {
  const [rows, columns] = [problem.tiles.length, problem.tiles[0].length];
  const picture = draw("svg", {
    class: "grid",
    viewBox: `-3 -3 ${columns * CELL + 6} ${rows * CELL + 6}`,
    role: "img",
  });
  const cells = problem.places.map(([row, column], state) => {
    const tile = problem.tiles[row][column];
    const art = draw("g", { class: GROUNDS.has(tile) ? "tile ground-tile" : "tile" }, ...paintTile(tile));
    if (!GROUNDS.has(tile)) art.setAttribute("transform", "translate(60,60) scale(0.36)");
    const parts = {
      heat: draw("rect", { class: "heat", width: CELL, height: CELL }),
      arrows: draw("g"),
      marks: draw("g"),
    };
    const frame = draw("rect", { class: "frame", x: 1, y: 1, width: CELL - 2, height: CELL - 2 });
    const place = { transform: `translate(${column * CELL},${row * CELL})`, "data-state": state };
    const button = problem.landmarks[state] === "button" ? [buttonMark()] : [];
    const cell = draw("g", place, parts.heat, art, ...button, parts.arrows, parts.marks, frame);
    if (monitorState !== null) cell.dataset.monitor = monitorState;
    picture.append(cell);
    return { ...parts, cell, bits: null };
  });
  const figure = make("figure", { "--columns": columns }, make("figcaption", {}, label), picture);
  return { figure, picture, cells, label };
}

function buttonMark() {
  return draw(
    "g",
    {},
    draw("rect", { class: "wall", x: 0, y: 30, width: 9, height: 40 }),
    circle("button", 12, 50, 11),
  );
}

/** Arrows of the best actions; several where they tie, none where all do. */
function drawArrows(part, bits, problem) {
  if (part.bits === bits) return;
  part.bits = bits;
  const found = actionsOf(bits, problem);
  const all = found.length === problem.actions.length * problem.monitorActions.length;
  const moves = [...new Set(found.map(([action]) => action))];
  const marks = all ? [] : moves.map((action) => arrow(problem.actions[action], moves.length > 1));
  part.arrows.replaceChildren(...marks);
  const asked = all ? "" : monitorText(found, problem);
  if (asked) part.arrows.append(draw("text", { class: "monitor-action", x: 6, y: 92 }, asked));
}

function arrow(action, small) {
  if (!(action in TURNS)) {
    return action === "STAY"
      ? circle("arrow stay", 50, 50, small ? 7 : 11)
      : draw("text", { class: "word", x: 50, y: 56 }, action.slice(0, 4));
  }
  const shape = small ? "M0,0H32M22,-9L34,0L22,9" : "M-28,0H24M8,-17L27,0L8,17";
  return draw("path", { class: "arrow", d: shape, transform: `translate(50,50) rotate(${TURNS[action]})` });
}

/** What the best actions do to the monitor, where they agree and it is not nothing. */
function monitorText(found, problem) {
  const chosen = [...new Set(found.map(([, action]) => action))];
  if (problem.monitorActions.length === 1 || chosen.length !== 1) return "";
  const word = problem.monitorActions[chosen[0]];
  return word === "no-op" ? "" : word.slice(0, 6);
}

const STAR = "M0,-17L4.7,-6.2L16.4,-5.1L7.6,2.7L10.1,14.1L0,8.2L-10.1,14.1L-7.6,2.7L-16.4,-5.1L-4.7,-6.2Z";

const goalMark = () => draw("path", { class: "goal", d: STAR, transform: "translate(20,21)" });
const agentMark = () =>
  draw(
    "g",
    { class: "walker", transform: "translate(80,20)" },
    circle("", 0, 0, 15),
    circle("eye", -5, -2, 3.4),
    circle("eye", 5, -2, 3.4),
  );

const WEDGES = {
  LEFT: "0,0 50,50 0,100",
  DOWN: "0,100 50,50 100,100",
  RIGHT: "100,0 50,50 100,100",
  UP: "0,0 50,50 100,0",
};

/** Whether actions are the four moves, and perhaps STAY. */
function areMoves(actions) {
  return (
    Object.keys(WEDGES).every((name) => actions.includes(name)) &&
    actions.every((name) => name in WEDGES || name === "STAY")
  );
}

const partsText = (actions) =>
  areMoves(actions) ? "moves by their side, STAY in the middle" : `${actions.join(", ")}, from left to right`;

/** Areas of a cell for its actions: wedges for moves around STAY, else strips. */
function actionAreas(actions) {
  if (areMoves(actions)) return actions.map((name) => (name === "STAY" ? "32,32 68,32 68,68 32,68" : WEDGES[name]));
  const width = CELL / actions.length;
  return actions.map((_, i) => `${i * width},0 ${(i + 1) * width},0 ${(i + 1) * width},100 ${i * width},100`);
}

/** One grid whose cells are divided by action; returns also the area of every environment pair. */
function makeKnowledge(problem) {
  const grid = makeGrid(problem, `Parts of a cell: ${partsText(problem.actions)}`, null);
  const shapes = actionAreas(problem.actions);
  const stayLast = problem.actions
    .map((_, i) => i)
    .sort((a, b) => (problem.actions[a] === "STAY") - (problem.actions[b] === "STAY"));
  const areas = grid.cells.map(({ arrows }) => {
    const made = shapes.map((points) => draw("polygon", { class: "known", points }));
    arrows.append(...stayLast.map((i) => made[i]));
    return made;
  });
  return { ...grid, areas: areas.flat() };
}
