/** Examples to try. They are files of the page. */

const SNAPSHOTS = [
  ["An embedding snapshot", "embedding.json"],
  ["A retrieval snapshot", "retrieval.json"],
  ["Bound to an installed model", "embedding-version-2.json"],
  ["One with several faults", "broken.json"],
];

const PAIRS = [
  ["A larger model", ["embedding.json", "embedding-larger.json"]],
  ["Other retrieval settings", ["retrieval.json", "retrieval-fast.json"]],
];

export const CAPABILITY = "capability.json";

/** The text of an example. */
export async function example(file) {
  const response = await fetch(`examples/${file}`);
  if (!response.ok) throw new Error(`examples/${file} answered ${response.status}`);
  return response.text();
}

/** Fills a select with examples, and calls back with what it stands for. */
function offer(select, entries, onChoice) {
  select.append(new Option("Examples…", ""), ...entries.map(([name], index) => new Option(name, index)));
  select.addEventListener("change", () => {
    if (select.value === "") return;
    onChoice(entries[select.value][1]);
    select.value = "";
  });
}

export const offerSnapshots = (select, onChoice) => offer(select, SNAPSHOTS, onChoice);
export const offerPairs = (select, onChoice) => offer(select, PAIRS, onChoice);
