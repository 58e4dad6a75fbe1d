/* The paper's claims with their verdicts; every claim opens into the single answers behind it. */

const VERDICTS = {
  confirmed: { look: "good", sign: "✓" },
  "not confirmed": { look: "bad", sign: "✗" },
  "not enough data": { look: "open", sign: "?" },
};

function verdictBadge(verdict) {
  const { look, sign } = VERDICTS[verdict] ?? VERDICTS["not enough data"];
  return make("span", { class: `badge ${look}` }, make("i", { "aria-hidden": true }, sign), verdict);
}

function makeClaims(host) {
  if (page.claims.length === 0) {
    host.append(make("p", { class: "note" }, "No claims were checked."));
    return;
  }
  const counted = Object.keys(VERDICTS).map((verdict) => {
    const count = page.claims.filter((claim) => claim.verdict === verdict).length;
    return make("li", {}, make("b", {}, String(count)), " ", verdictBadge(verdict));
  });
  const heads = ["Claim", "Expected", "Measured", "Verdict"].map((text) => make("th", { scope: "col" }, text));
  const rows = page.claims.flatMap(claimRows);
  const table = make(
    "table",
    { class: "claims" },
    make("thead", {}, make("tr", {}, ...heads)),
    make("tbody", {}, ...rows),
  );
  host.append(make("ul", { class: "tally" }, ...counted), table);
}

function claimRows({ claim, expected, measured, verdict, details }) {
  const cell = (label, ...content) => make("td", { "data-label": label }, ...content);
  const more = details.length > 1 ? detailsOf(details) : null;
  return [
    make(
      "tr",
      { class: "claim" },
      make("th", { scope: "row" }, claim),
      cell("Expected", expected),
      cell("Measured", measured, more),
      cell("Verdict", verdictBadge(verdict)),
    ),
  ];
}

/** The answers behind a claim, exceptions first; filled when opened, since there can be hundreds. */
function detailsOf(details) {
  const box = make("details", {}, make("summary", {}, `All ${details.length} answers`));
  box.addEventListener("toggle", () => box.append(detailTable(details)), { once: true });
  return box;
}

function detailTable(details) {
  const order = ["not confirmed", "not enough data", "confirmed"];
  const sorted = [...details].sort((one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict));
  const rows = sorted.map(({ about, measured, bound, verdict }) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, about),
      make("td", {}, measured),
      make("td", {}, bound),
      make("td", {}, verdictBadge(verdict)),
    ),
  );
  const heads = ["", "Measured", "Bound", "Verdict"].map((text) => make("th", { scope: "col" }, text));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "All answers" }, table);
}
