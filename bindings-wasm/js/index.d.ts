// Checked by hand, and by tests against the code lists of the server's core.

/** JSON text: a string, or UTF-8 in a `Uint8Array`, another view of bytes, or an `ArrayBuffer`. */
export type Text = string | ArrayBufferView | ArrayBuffer;

export type Kind = "embedding" | "retrieval";

/** Why a text is refused as JSON. */
export type JsonCode =
  | "JSON_INVALID"
  | "JSON_INVALID_UTF8"
  | "JSON_BOM"
  | "JSON_TRAILING_DATA"
  | "JSON_DUPLICATE_KEY"
  | "JSON_LONE_SURROGATE"
  | "JSON_NUL_CHARACTER"
  | "JSON_NUMBER_OUT_OF_RANGE"
  | "JSON_UNSAFE_INTEGER"
  | "JSON_TOO_DEEP"
  | "JSON_TOO_LARGE";

/** What an issue can be. */
export type IssueCode =
  | JsonCode
  | "MISSING_FIELD"
  | "UNKNOWN_FIELD"
  | "WRONG_TYPE"
  | "OUT_OF_RANGE"
  | "BAD_FORMAT"
  | "EMPTY"
  | "TOO_LONG"
  | "CONTROL_CHARACTER"
  | "OUTER_WHITE_SPACE"
  | "REQUIRED_WHEN_ENABLED"
  | "CAPABILITY_MISMATCH"
  | "RETRIEVAL_PROFILE_SCORE_THRESHOLD_REQUIRES_RERANK"
  | "CAPABILITY_KEY_ORDER"
  | "VECTOR_SPACE_UNPROVEN"
  | "DIMENSION_UNCHECKED"
  | "DIMENSION_NOT_INDEXABLE"
  | "DIMENSION_NOT_STORABLE"
  | "INVISIBLE_CHARACTER";

/** What a thrown error can be. */
export type ErrorCode =
  | JsonCode
  /** A snapshot that was to be compared is not valid: see `issues`. */
  | "SNAPSHOT_INVALID"
  /** An argument of another type, or material that is not valid: see `issues`. */
  | "ARGUMENT_INVALID"
  /** The module is not started: it was not fetched or compiled, or `init` was not called yet. */
  | "MODULE_UNAVAILABLE"
  /** The module failed, which is a bug; it was started anew, and the next call works. */
  | "MODULE_FAILED";

/**
 * A part of a text. Everything is counted in UTF-16 code units, as JavaScript's strings and the editors in a browser
 * count. Absent where the text is too large, is not UTF-8, or was made of an object that the caller gave.
 */
export interface Place {
  /** Where it begins, from 0. `text.slice(start, end)` is the part. */
  start?: number;
  /** Where it ends; what is there does not belong to it any more. */
  end?: number;
  /** The line in which it begins, from 1. Lines end with U+000A. */
  line?: number;
  /** The column at which it begins, from 1. */
  column?: number;
}

/**
 * What is wrong, or worth a look. Its place is the member's value; the key of an unknown field; as much as is wrong of
 * what is not JSON; for a missing member the opening brace of the object that lacks it.
 */
export interface Issue extends Place {
  /** A JSON Pointer (RFC 6901) of the member; for a missing one, where it would be. `""` is the whole text. */
  path: string;
  code: IssueCode;
  /** A sentence for people. */
  message: string;
  /** A warning does not refuse the text. */
  severity: "error" | "warning";
  /** Only where the text is a capability snapshot. */
  document?: "capability";
}

/** The columns by which a revision is found. */
export interface Identity {
  pluginId: string;
  provider: string;
  model: string;
  dimension?: number;
  vectorSpaceId?: string;
}

export interface ValidReport {
  valid: true;
  kind: Kind;
  /** Warnings. */
  issues: Issue[];
  /** The RFC 8785 canonical text. */
  canonical: string;
  /** SHA-256 of the canonical text's UTF-8, as 64 lower-case hex digits. */
  digest: string;
  identity: Identity;
}

export interface InvalidReport {
  valid: false;
  kind: Kind;
  /** Every issue, warnings too. */
  issues: Issue[];
  canonical?: undefined;
  digest?: undefined;
  identity?: undefined;
}

export type Report = ValidReport | InvalidReport;

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Change {
  /** A JSON Pointer of the member that differs. */
  path: string;
  /** What it was; absent if it was not there. */
  before?: Json;
  /** What it is; absent if it is not there. */
  after?: Json;
}

export interface Diff {
  /** The revision of the first snapshot. */
  from: number;
  /** The revision of the second snapshot. */
  to: number;
  /** Whether selection, dimension or vector space of an embedding profile changed. */
  needsReembedding: boolean;
  changes: Change[];
}

export interface Verification {
  /** Whether the digest is the text's. */
  matches: boolean;
  /**
   * The order of keys over which the digest was made, null if none is known. `false` with `null` is no proof of damage:
   * a row that knowledge-fs wrote can have a digest over its own order, which needs a collation that is not in this
   * package. `space-profiles audit` knows it.
   */
  keyOrder: "rfc8785" | null;
  /** The digest of the text over keys in RFC 8785's order. */
  digest: string;
}

export interface Selection {
  pluginId: string;
  provider: string;
  model: string;
}

/** What a vector space of version 2 depends on besides selection and revision. */
export interface InstallIdentity {
  capabilityDigest: string;
  dimension: number;
  distanceMetric: "cosine" | "dot" | "l2";
  pluginUniqueIdentifier: string;
  schemaFingerprint: string;
}

export interface VectorSpaceMaterial extends Selection {
  revision: number;
  /** With it the id is of version 2. */
  installIdentity?: InstallIdentity;
}

export interface CapabilityMaterial {
  kind: "embedding" | "reasoning" | "rerank";
  selection: Selection;
  schemaFingerprint: string;
  pluginUniqueIdentifier: string;
  pluginVersion?: string;
  /** An embedding model has one, the others have none. */
  dimension?: number;
  distanceMetric?: "cosine" | "dot" | "l2";
  /** `["text"]` if absent. */
  inputModalities?: ["text"] | ["text", "image"];
  /** The model's declaration in the catalog, `{}` if absent. */
  capabilities?: { [key: string]: Json };
}

/** What is thrown. It is a plain `Error` (`ARGUMENT_INVALID` about a type is a `TypeError`). */
export interface SpaceProfilesError extends Error, Place {
  code: ErrorCode;
  /** `JSON_*`: a JSON Pointer of the value in which the fault was met. */
  path?: string;
  /** `JSON_*`: the same as `start`. */
  offset?: number;
  /** `SNAPSHOT_INVALID` and `ARGUMENT_INVALID`: every issue, if there are several. */
  issues?: Issue[];
  /** `SNAPSHOT_INVALID` and `ARGUMENT_INVALID`: which argument it is. */
  argument?: string;
  /** `SNAPSHOT_INVALID`: the kind as which the text was validated. */
  kind?: Kind;
}

/**
 * Validates a snapshot and tells every issue. No text makes it throw.
 *
 * @throws {SpaceProfilesError} `ARGUMENT_INVALID`
 */
export function validate(kind: Kind, text: Text): Report;

/**
 * The RFC 8785 canonical form of a JSON text of at most 1 MiB.
 *
 * @throws {SpaceProfilesError} `JSON_*`, `ARGUMENT_INVALID`
 */
export function canonicalize(text: Text): string;

/**
 * The SHA-256 of a JSON text's canonical form, as 64 lower-case hex digits.
 *
 * @throws {SpaceProfilesError} `JSON_*`, `ARGUMENT_INVALID`
 */
export function digest(text: Text): string;

/**
 * The vector space id that follows from a selection and a revision, and from an installation if one is given.
 *
 * @throws {SpaceProfilesError} `ARGUMENT_INVALID` with `issues`
 */
export function vectorSpaceId(material: VectorSpaceMaterial | Text): string;

/**
 * The capability digest, `sha256:` and 64 hex digits, that follows from what a check observed.
 *
 * @throws {SpaceProfilesError} `ARGUMENT_INVALID` with `issues`
 */
export function capabilityDigest(material: CapabilityMaterial | Text): string;

/**
 * What changed between two snapshots. Without `kind`, each is taken as whichever kind it is.
 *
 * @throws {SpaceProfilesError} `SNAPSHOT_INVALID` with `issues` and `argument` (`"from"` or `"to"`),
 * `ARGUMENT_INVALID`
 */
export function diff(from: Text, to: Text, kind?: Kind): Diff;

/**
 * Whether a digest that somebody stored is a text's. Text that is JSON never makes it throw.
 *
 * @throws {SpaceProfilesError} `JSON_*`, `ARGUMENT_INVALID`
 */
export function verify(text: Text, digest: string): Verification;

/**
 * Starts the module, which importing this does by itself (in Node, the first call does). Calling it again is harmless;
 * it tries again where it failed.
 *
 * @throws {SpaceProfilesError} `MODULE_UNAVAILABLE`
 */
export default function init(): Promise<void>;
