/* Fills the sections of the page and connects the overview with the curves. */

const counts = [plural(page.problems.length, "problem"), plural(page.agents.length, "agent"), plural(page.runs, "run")];
byId("lead").textContent = `Results folder “${page.folder}” · ${counts.join(" · ")}`;
byId("score-bars").append(...scoreBars());
byId("score-bars").style.setProperty("--longest", Math.max(...page.agents.map(({ name }) => name.length)));
byId("notes").append(...page.notes.map((text) => element("p", { class: "note" }, text)));
byId("overview-legend").append(...overviewLegend());
const panel = byId("curves");
const showCurves = makeCurves(panel);

function choose(problem, agent) {
  select(problem, agent);
  showCurves(problem, agent);
  showSensitivity(problem, agent);
}

/** Removes a section about which the folder has no data, and its link. */
function removeSection(name) {
  byId(name).remove();
  document.querySelector(`nav [href="#${name}"]`).remove();
}

function chooseAndScroll(problem, agent) {
  choose(problem, agent);
  if (panel.getBoundingClientRect().top < window.innerHeight * 0.6) return;
  panel.scrollIntoView(); // on a narrow screen the curves are below the overview
  byId("curves-title").focus({ preventScroll: true });
}

const select = makeOverview(byId("overview-cards"), chooseAndScroll);
const showSensitivity = makeSensitivity(byId("sensitivity-view"), chooseAndScroll);
choose(0, page.problems[0].cells.findIndex((cell) => cell !== null));
if (page.sensitivity.length === 0) removeSection("sensitivity");
if (page.claims.length === 0) removeSection("claims");
else makeClaims(byId("claims-list"));
if (page.inspector.length === 0) removeSection("inspector");
else makeInspector(byId("inspector-view"));
byId("foot").textContent = `Written by monmdp ${page.version}. This page works offline and loads nothing.`;
