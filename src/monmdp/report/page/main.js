/* Everything on its place, and the first cell chosen. */

function leadText() {
  const runs = page.problems.flatMap(({ cells }) => cells).reduce((sum, cell) => sum + (cell?.seeds ?? 0), 0);
  const counts = [
    [page.problems.length, "problem"],
    [page.agents.length, "agent"],
    [runs, "run"],
  ];
  return counts.map(([count, word]) => plural(count, word)).join(" · ");
}

function singleText(single, all) {
  if (single === all) return "Every cell has";
  return single === 1 ? "1 cell has" : `${single} cells have`;
}

/** What a reader should know is not there. */
function notes() {
  const cells = page.problems.flatMap(({ cells: some }) => some);
  const absent = cells.filter((cell) => cell === null).length;
  const single = cells.filter((cell) => cell?.seeds === 1).length;
  const told = [];
  if (absent)
    told.push(
      `${absent} of ${cells.length} combinations of problem and agent have no runs in this folder; they are hatched.`,
    );
  if (single)
    told.push(`${singleText(single, cells.length - absent)} a single seed, so that no intervals can be given.`);
  if (page.damaged.length) told.push(`${page.damaged.length} damaged files were left out: ${page.damaged.join(" ")}`);
  return told.length ? [make("div", { class: "note" }, ...told.map((text) => make("p", {}, text)))] : [];
}

function start() {
  byId("lead").textContent = `Results folder “${page.folder}” · ${leadText()}`;
  byId("score-bars").append(...scoreBars());
  byId("notes").append(...notes());
  byId("overview-legend").append(overviewLegend());
  const panel = byId("cell");
  const showCell = makeCellView(panel);
  let agent = 0;

  function choose(problem, wanted) {
    const { cells } = page.problems[problem];
    agent = wanted ?? (cells[agent] ? agent : cells.findIndex((cell) => cell !== null));
    select(problem, agent);
    showCell(problem, agent);
  }

  /** On a narrow screen the curves are below the overview: go there. */
  function chooseAndGo(problem, wanted) {
    choose(problem, wanted);
    if (panel.getBoundingClientRect().top > window.innerHeight * 0.6) {
      panel.scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
      byId("cell-title").focus({ preventScroll: true });
    }
  }

  const select = makeOverview(byId("overview-cards"), chooseAndGo);
  choose(0, null);
  makeClaims(byId("claims-list"));
  makeInspector(byId("inspector-view"));
  byId("foot").textContent =
    `Written by monmdp ${page.version} from the folder ${page.folder}. This page loads nothing from the network.`;
}

start();
