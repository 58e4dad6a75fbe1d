/* The claims of the paper with their verdicts; every claim opens into the single checks behind it. */

/** Verdicts with their signs, in the order in which checks are listed: exceptions first. */
const VERDICTS = { "not confirmed": "✗", "not enough data": "?", confirmed: "✓" };

function verdictBadge(verdict) {
  return element("span", { class: `badge ${verdict.replace(" ", "-")}` }, `${VERDICTS[verdict]} ${verdict}`);
}

function makeClaims(host) {
  const verdicts = Object.keys(VERDICTS).filter((one) => page.claims.some(({ verdict }) => verdict === one));
  const counts = verdicts.map((verdict) => {
    const count = page.claims.filter((claim) => claim.verdict === verdict).length;
    return element("span", {}, element("b", {}, String(count)), " ", verdictBadge(verdict));
  });
  const claims = page.claims.map(({ claim, expected, measured, verdict, details }) =>
    element(
      "article",
      {},
      element("h3", {}, claim),
      element("dl", {}, element("dt", {}, "Expected"), element("dd", {}, expected)),
      element("dl", {}, element("dt", {}, "Measured"), element("dd", {}, measured)),
      verdictBadge(verdict),
      details.length > 1 ? allChecks(details) : null,
    ),
  );
  if (page.unchecked > 0) byId("claims-caption").append(` ${plural(page.unchecked, "other claim")} of the paper are about runs that this folder does not have.`);
  host.append(element("p", { class: "legend" }, counts), element("div", { class: "panel" }, claims));
}

/** The checks behind a claim. */
function allChecks(details) {
  const rank = ({ verdict }) => Object.keys(VERDICTS).indexOf(verdict);
  const rows = details
    .toSorted((one, other) => rank(one) - rank(other))
    .map(({ about, measured, bound, verdict }) => row({}, about, [measured, bound, verdictBadge(verdict)]));
  const attributes = { class: "scroll", tabindex: 0, role: "region", "aria-label": "All checks" };
  const list = element("div", attributes, table({}, ["", "Measured", "Bound", "Verdict"], rows));
  return element("details", {}, element("summary", {}, `All ${details.length} checks`), list);
}
