/** What a text comes to: canonical text, digest, identity, and what its vector space id follows from. */

import { answer, block, copyButton, h, quoted } from "./dom.js";
import { Editor } from "./editor.js";
import { CAPABILITY, example } from "./examples.js";
import { ask, canonicalize, capabilityDigest, digest, validate, vectorSpaceId, verify } from "./package.js";
import { number } from "./words.js";

const WHY = {
  digest: "The digest names exactly this content: texts that say the same have the same digest, however they are spaced and ordered.",
  canonical: "The one spelling of this content (RFC 8785). Its SHA-256 is the digest.",
  space: "The vector space id says which vectors may be compared: only those that were made under the same id.",
};

/** What is known of a text; keeps what was typed into its fields while the text changes. */
export class Proof {
  #host;
  #expected = h("input", { type: "text", id: "expected-digest", autocomplete: "off", spellcheck: "false", autocapitalize: "off", placeholder: "64 hex digits" });
  #expectedAnswer = h("div", { role: "status" });
  #capability;
  #capabilityPart;
  #spaceAnswer = h("div", { role: "status" });
  #capabilityAnswer = h("div", { role: "status" });
  #text = "";
  #report;

  constructor(host) {
    this.#host = host;
    this.#expected.addEventListener("input", () => this.#verify());
    this.#buildCapability();
  }

  /** Shows what a text comes to; without one, nothing. */
  show(text, report) {
    this.#text = text;
    this.#report = report;
    if (!report) {
      this.#host.replaceChildren();
      return;
    }
    const canonical = report.canonical ?? ask(() => canonicalize(text)).value;
    if (canonical === undefined) {
      this.#host.replaceChildren();
      return;
    }
    const blocks = [this.#digestBlock(report.digest ?? digest(text)), this.#canonicalBlock(canonical)];
    if (report.valid) {
      const { revision } = JSON.parse(canonical);
      blocks.splice(1, 0, this.#spaceBlock(revision));
      blocks.unshift(identityBlock(report, revision));
    }
    keepFocus(() => this.#host.replaceChildren(...blocks.filter(Boolean)));
    this.#verify();
    this.#prove();
  }

  #digestBlock(value) {
    const kept = this.#report.valid ? "" : " No store accepts this text; this is the digest of its JSON alone.";
    return block(
      "Digest",
      { why: WHY.digest + kept, actions: [copyButton("the digest", value)] },
      h("p", { class: "value mono", id: "digest" }, value),
      h("div", { class: "check" }, h("label", { for: "expected-digest" }, "Compare with"), this.#expected, this.#expectedAnswer),
    );
  }

  #canonicalBlock(canonical) {
    const size = h("small", {}, ` ${number(new TextEncoder().encode(canonical).length)} bytes`);
    const made = block(
      "Canonical text",
      { why: WHY.canonical, actions: [copyButton("the canonical text", canonical)] },
      h("pre", { class: "value long", id: "canonical", tabindex: 0, role: "region", "aria-label": "Canonical text" }, canonical),
    );
    made.querySelector("h3").append(size);
    return made;
  }

  #verify() {
    const expected = this.#expected.value.trim();
    if (expected === "" || !this.#report) {
      this.#expectedAnswer.replaceChildren();
      return;
    }
    const { matches } = verify(this.#text, expected);
    this.#expectedAnswer.replaceChildren(
      matches ? answer("good", "The same:", " this text has that digest.")
      : answer("bad", "Not the same:", " this text has another digest."),
    );
  }

  #spaceBlock(revision) {
    const id = this.#report.identity.vectorSpaceId;
    if (id === undefined) return null;
    this.#revision = revision;
    return block(
      "Vector space id",
      { why: WHY.space, actions: [copyButton("the vector space id", id)] },
      h("p", { class: "value mono", id: "vector-space-id" }, id),
      this.#spaceAnswer,
      this.#capabilityPart,
    );
  }

  #revision;

  #buildCapability() {
    const host = h("div", { class: "small-editor" });
    this.#capability = new Editor(host, {
      id: "capability-text",
      label: "Capability snapshot of the model",
      placeholder: "Paste the typed capability snapshot",
      onInput: () => this.#prove(),
      onTooLong: (problem) => this.#capabilityAnswer.replaceChildren(answer("bad", problem)),
    });
    const fill = h("button", { type: "button" }, "Try the example");
    fill.addEventListener("click", async () => {
      this.#capability.value = await example(CAPABILITY);
      this.#prove();
    });
    this.#capabilityPart = h(
      "details",
      {},
      h("summary", {}, "Check version 2 with a capability snapshot"),
      h("div", { class: "inner" }, host, h("div", { class: "actions" }, fill), this.#capabilityAnswer),
    );
  }

  /** What derives the id: version 1 from the snapshot alone, version 2 with what was observed of the model. */
  #prove() {
    if (!this.#report?.valid || this.#report.identity.vectorSpaceId === undefined) return;
    const { pluginId, provider, model, vectorSpaceId: id } = this.#report.identity;
    const selection = { pluginId, provider, model, revision: this.#revision };
    const one = ask(() => vectorSpaceId(selection));
    const typed = this.#capability.value;
    const two = typed.trim() === "" ? undefined : withCapability(this.#report.identity, selection, typed);
    const proven =
      one.value === id ? derived(1, { ...selection, schemaVersion: 1 })
      : two?.id === id ? derived(2, { ...selection, schemaVersion: 2, installIdentity: two.installIdentity })
      : null;
    const kept = "An id may also be kept from an earlier revision of the same scope, which only its store can tell.";
    const open =
      two?.id ? answer("open", "Neither version derives it", ` from this model, revision ${number(this.#revision)} and that capability. ${kept}`)
      : answer("open", "Not derivable from the snapshot alone.", ` Version 1 for this model and revision is another id; version 2 needs the capability snapshot. ${kept}`);
    const wasOpen = this.#spaceAnswer.querySelector("details")?.open ?? false;
    keepFocus(() => this.#spaceAnswer.replaceChildren(...(proven ?? [open])));
    this.#spaceAnswer.querySelector("details")?.toggleAttribute("open", wasOpen);
    this.#capabilityAnswer.replaceChildren(...(two ? saidOfCapability(two, id) : []));
    this.#capability.mark(two?.error?.start === undefined ? [] : [{ ...two.error, severity: "error" }]);
  }
}

/** The version-2 id that a capability snapshot gives, if it is about the snapshot's model. */
function withCapability(identity, selection, text) {
  const parsed = ask(() => JSON.parse(canonicalize(text)));
  if (parsed.error) return parsed;
  if (typeof parsed.value !== "object" || parsed.value === null || Array.isArray(parsed.value)) {
    return { error: { message: "expected an object" } };
  }
  if (!isAbout(parsed.value, identity)) return { isOfAnother: true };
  const { capabilityDigest: stated, dimension, distanceMetric, pluginUniqueIdentifier, schemaFingerprint } = parsed.value;
  const installIdentity = { capabilityDigest: stated, dimension, distanceMetric, pluginUniqueIdentifier, schemaFingerprint };
  const { value, error } = ask(() => vectorSpaceId({ ...selection, installIdentity }));
  if (error) return { error };
  const { checkedAt, capabilityDigest: _, ...observed } = parsed.value;
  const recomputed = ask(() => capabilityDigest({ ...observed, capabilities: {} })).value;
  return { id: value, installIdentity, stated, recomputed };
}

/**
 * Whether what a capability snapshot says of its model is what the snapshot says. A store decides it by core's rules,
 * for which the package has no question; the page must only not call proven what a store refuses.
 */
function isAbout({ kind, selection, dimension }, identity) {
  const isOther = (mine, its) => its !== undefined && its !== mine;
  return !(
    isOther("embedding", kind) ||
    ["pluginId", "provider", "model"].some((name) => isOther(identity[name], selection?.[name])) ||
    (identity.dimension !== undefined && isOther(identity.dimension, dimension))
  );
}

function saidOfCapability({ error, isOfAnother, id, stated, recomputed }, wanted) {
  if (isOfAnother) return [answer("bad", "It is not about this snapshot’s model", " and dimension: no store accepts the two together.")];
  if (error) return [answer("bad", "No version 2: ", quoted(error.message))];
  const same =
    id === wanted ? answer("good", "Version 2 gives the snapshot’s id.")
    : answer("open", "Version 2 gives another id: ", h("code", { id: "version-2-id" }, id));
  const digest =
    recomputed === stated ? answer("good", "Its capabilityDigest", " follows from what it says, with no capabilities declared.")
    : answer("open", "Its capabilityDigest", " also covers what the catalog declares of the model, which this text does not show; it cannot be checked here.");
  return [same, digest];
}

function derived(version, material) {
  const canonical = canonicalize(JSON.stringify(material));
  const from = version === 1 ? "the model and the revision alone." : "the model, the revision and the installed plugin.";
  return [
    answer("good", `Derived, version ${version}:`, ` it follows from ${from}`),
    h(
      "details",
      { class: "material" },
      h("summary", {}, "Material"),
      h(
        "div",
        { class: "inner" },
        h("p", { class: "why" }, "The SHA-256 of this text is the id’s 64 digits."),
        h("pre", { class: "value", id: "material" }, canonical),
        h("div", { class: "actions" }, copyButton("the material", canonical)),
      ),
    ),
  ];
}

function identityBlock({ identity, kind }, revision) {
  const rows = [
    ["Model", identity.model],
    ["Provider", identity.provider],
    ["Plugin", identity.pluginId],
    ...(identity.dimension === undefined ? [] : [["Dimension", number(identity.dimension)]]),
    ["Revision", number(revision)],
  ];
  const why = kind === "retrieval" ? "Of a retrieval profile, the reasoning model." : undefined;
  return block("Identity", { why }, h("dl", { class: "facts" }, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

/** Fields keep the focus when what is around them is made anew. */
function keepFocus(change) {
  const { activeElement } = document;
  change();
  if (activeElement !== document.activeElement && activeElement?.isConnected) activeElement.focus();
}
