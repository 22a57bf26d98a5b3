//! What can be typed.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Args, Parser, Subcommand};
use space_profiles_core::{
    BackfillStatus, Dimension, FailureCode, FailureMessage, Kind, PageLimit, RevisionNumber, Scope, Space,
    SubjectId, TenantId, Timestamp,
};

/// Change the embedding model or the retrieval settings of a knowledge space without breaking its search.
///
/// A scope is TENANT/SPACE-UUID/KIND and a space TENANT/SPACE-UUID; a kind is `embedding` or `retrieval`. A file
/// may be `-`, standard input.
#[derive(Debug, Parser)]
#[command(name = "space-profiles", version, propagate_version = true, after_help = ENDING, after_long_help = STORES_AND_ENDING)]
pub(crate) struct Cli {
    /// Where the profiles are kept: `sqlite:PATH`, `sqlite::memory:` or `postgres://USER@HOST/DATABASE`.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "SPACE_PROFILES_STORE",
        // A URL may hold a password.
        hide_env_values = true,
        default_value = "sqlite:space-profiles.db"
    )]
    pub(crate) store: String,

    /// Print one JSON document for scripts; errors are JSON on standard error.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What a URL may say, and what it is told by.
macro_rules! stores {
    () => {
        "\
Stores: a SQLite file is made and brought up to date when it is first used, a Postgres database by `migrate`. The URL \
of a Postgres database takes libpq's parameters and `pgbouncer=true` (behind PgBouncer in transaction mode), \
`manage=heads` (move heads though knowledge-fs publishes there), `search_path`, `max_connections`, `connect_timeout` \
(seconds), `acquire_timeout_ms`, `statement_timeout_ms` and `lock_timeout_ms`; that of a file `busy_timeout_ms`. A \
password may stand in PGPASSWORD instead."
    };
}

macro_rules! exit_codes {
    () => {
        "\
Exit codes: 0 done, replays too; 1 refused or invalid, or an item failed; 2 wrong usage; 3 somebody else was first; \
4 not found; 5 the store or the model service; 130 interrupted."
    };
}

const ENDING: &str = exit_codes!();
const STORES_AND_ENDING: &str = concat!(stores!(), "\n\n", exit_codes!());

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say whether a snapshot is valid, with every issue and its place; needs no store.
    #[command(after_help = "Example:\n  space-profiles validate examples/embedding.json --kind embedding")]
    Validate {
        /// The snapshot.
        file: PathBuf,
        /// What it is to be.
        #[arg(long, value_parser = kind())]
        kind: Kind,
    },
    /// Print the digest of a JSON text; needs no store.
    #[command(after_help = "Example:\n  echo '{\"n\": 1.0}' | space-profiles digest -")]
    Digest {
        /// Any JSON.
        file: PathBuf,
    },
    /// Print the RFC 8785 canonical bytes of a JSON text and nothing else; needs no store.
    #[command(after_help = "Example:\n  space-profiles canonical examples/embedding.json | sha256sum")]
    Canonical {
        /// Any JSON.
        file: PathBuf,
    },
    /// Bring the store's schema up to date.
    #[command(after_help = "Example:\n  space-profiles migrate --check")]
    Migrate {
        /// Only say what is missing; exits 1 if something is.
        #[arg(long)]
        check: bool,
    },
    /// Compare the store's schema with the expected one; exits 1 if they differ.
    #[command(after_help = "Example:\n  space-profiles --store sqlite:profiles.db doctor")]
    Doctor,
    /// Add, list and delete spaces.
    #[command(
        subcommand,
        after_help = "Example:\n  space-profiles space add acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40 --name Handbook"
    )]
    Space(SpaceCommand),
    /// Read spaces and their manifests, one JSON object a line.
    #[command(after_help = "Example:\n  space-profiles import examples/manifests.ndjson")]
    Import {
        /// The lines.
        file: PathBuf,
    },
    /// Append a snapshot to a scope's revisions as its candidate.
    #[command(after_help = "Examples:
  space-profiles propose acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding \\
    --snapshot examples/embedding.json --capability examples/capability.json
  space-profiles propose acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding --plugin langgenius/openai \\
    --provider openai --model text-embedding-3-large --dimension 3072 --capability capability.json

The second form fills in the number and the vector space id (version 2 for a typed capability, else 1).")]
    Propose(Proposing),
    /// Make a candidate the active revision, if the active one still is what you saw.
    #[command(after_help = "Example:
  space-profiles activate acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding 2 --expect 1")]
    Activate {
        /// The scope.
        scope: Scope,
        /// The candidate's number.
        revision: RevisionNumber,
        #[command(flatten)]
        expect: Expecting,
        #[command(flatten)]
        by: Acting,
    },
    /// Propose and activate in one write.
    #[command(after_help = "Example:
  space-profiles publish acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding \\
    --snapshot examples/embedding.json --capability examples/capability.json --expect none")]
    Publish {
        #[command(flatten)]
        proposing: Proposing,
        #[command(flatten)]
        expect: Expecting,
    },
    /// Roll back: append an earlier revision's configuration as a new revision and activate it.
    #[command(after_help = "Example:
  space-profiles restore acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding 1 --expect 2")]
    Restore {
        /// The scope.
        scope: Scope,
        /// The number of the revision to restore.
        revision: RevisionNumber,
        #[command(flatten)]
        expect: Expecting,
        #[command(flatten)]
        by: Acting,
    },
    /// Give up a candidate.
    #[command(after_help = "Example:
  space-profiles fail acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding 2 \\
    --code PREFLIGHT_REJECTED --message 'the model does not answer'")]
    Fail {
        /// The scope.
        scope: Scope,
        /// The candidate's number.
        revision: RevisionNumber,
        /// Why, as a stable code.
        #[arg(long)]
        code: FailureCode,
        /// Why, in a sentence.
        #[arg(long)]
        message: FailureMessage,
        #[command(flatten)]
        by: Acting,
    },
    /// Activate candidates of both kinds of one space, together or not at all.
    #[command(after_help = "Example:
  space-profiles activate-all acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40 \\
    --embedding 2 --expect-embedding 1 --retrieval 5 --expect-retrieval 4")]
    ActivateAll {
        /// The space.
        space: Space,
        /// The embedding candidate's number.
        #[arg(long, value_name = "N")]
        embedding: RevisionNumber,
        /// The active embedding revision that you saw, or `none`.
        #[arg(long, value_name = "M", value_parser = expectation)]
        expect_embedding: Expectation,
        /// The retrieval candidate's number.
        #[arg(long, value_name = "N")]
        retrieval: RevisionNumber,
        /// The active retrieval revision that you saw, or `none`.
        #[arg(long, value_name = "M", value_parser = expectation)]
        expect_retrieval: Expectation,
        #[command(flatten)]
        by: Acting,
    },
    /// Show the active profile.
    #[command(after_help = "Example:
  space-profiles show acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding")]
    Show {
        /// The scope.
        scope: Scope,
    },
    /// List a scope's revisions.
    #[command(after_help = "Example:
  space-profiles log acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding --limit 20")]
    Log {
        /// The scope.
        scope: Scope,
        /// Begin after this revision.
        #[arg(long, value_name = "N")]
        after: Option<RevisionNumber>,
        /// List at most so many, 1 to 1000.
        #[arg(long, value_name = "N", default_value = "100")]
        limit: PageLimit,
    },
    /// Show the revision that was active at a time.
    #[command(after_help = "Example:
  space-profiles at acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding 2026-07-14T12:00:00Z")]
    At {
        /// The scope.
        scope: Scope,
        /// An RFC 3339 time with offset.
        time: Timestamp,
    },
    /// Say what changed between two revisions, and whether it needs re-embedding.
    #[command(after_help = "Example:
  space-profiles diff acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding 1 2")]
    Diff {
        /// The scope.
        scope: Scope,
        /// The earlier revision.
        from: RevisionNumber,
        /// The later revision.
        to: RevisionNumber,
    },
    /// Adopt the legacy profiles of manifests.
    #[command(subcommand, after_help = "Example:\n  space-profiles backfill run --catalog examples/models.toml")]
    Backfill(BackfillCommand),
    /// Import spaces and adopt their profiles: the main job in one command.
    #[command(after_help = "Example:
  space-profiles adopt examples/manifests.ndjson --catalog examples/models.toml

Interrupt it whenever you like: it hands back what it had claimed, and the next run goes on.")]
    Adopt {
        /// Spaces and their manifests, one JSON object a line.
        file: PathBuf,
        /// What is known of the models (TOML).
        #[arg(long, value_name = "FILE")]
        catalog: PathBuf,
    },
    /// Check every stored row; exits 1 if a rule is broken.
    #[command(after_help = "Example:\n  space-profiles --json audit")]
    Audit,
    /// Copy a store's whole content into another, verified; what is there already is skipped.
    #[command(after_help = "Examples:
  space-profiles copy --from sqlite:offline.db --to sqlite:space-profiles.db
  space-profiles copy --from sqlite:offline.db --to postgres://app@db.internal/platform

Ids, numbers, row versions and times are kept; running backfills arrive queued. What the target holds otherwise is \
refused, and the rest is copied. A Postgres database is to be migrated before. Interrupt it whenever you like: the next copy goes on.")]
    Copy {
        /// The store to read; it must exist, and is not changed.
        #[arg(long, value_name = "URL")]
        from: String,
        /// The store to write; `--store` is not used.
        #[arg(long, value_name = "URL")]
        to: String,
    },
    /// Serve a page that validates, digests and compares snapshots; needs no store.
    #[command(after_help = "Example:\n  space-profiles inspector --port 8080

The page is part of this program and is served to this machine alone. Nothing that is opened there leaves it. \
Ctrl-C ends it.")]
    Inspector {
        /// The port on 127.0.0.1; by default a free one.
        #[arg(long, value_name = "N")]
        port: Option<u16>,
    },
    /// Print a shell's completions.
    #[command(after_help = "Example:\n  space-profiles completions bash > /etc/bash_completion.d/space-profiles")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SpaceCommand {
    /// Add a space.
    #[command(
        after_help = "Example:\n  space-profiles space add acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40 --name Handbook"
    )]
    Add {
        /// The space.
        space: Space,
        /// What people call it.
        #[arg(long)]
        name: Option<String>,
    },
    /// List spaces.
    #[command(after_help = "Example:\n  space-profiles space list --tenant acme")]
    List {
        /// Only this tenant's.
        #[arg(long)]
        tenant: Option<TenantId>,
    },
    /// Delete a space with all its profiles, backfills and its manifest.
    #[command(
        after_help = "Example:\n  space-profiles space delete acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40 --yes"
    )]
    Delete {
        /// The space.
        space: Space,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum BackfillCommand {
    /// Look for legacy profiles and queue them, each once.
    #[command(after_help = "Example:\n  space-profiles backfill discover")]
    Discover,
    /// Discover, check and install until nothing is due.
    #[command(after_help = "Example:
  space-profiles backfill run --catalog examples/models.toml --tenant acme

Interrupt it whenever you like: it hands back what it had claimed, and the next run goes on.")]
    Run {
        /// What is known of the models (TOML). Without it, nothing that waits can be checked.
        #[arg(long, value_name = "FILE")]
        catalog: Option<PathBuf>,
        /// Only this tenant's spaces.
        #[arg(long)]
        tenant: Option<TenantId>,
    },
    /// Count backfills by state.
    #[command(after_help = "Example:\n  space-profiles backfill status")]
    Status,
    /// List backfills.
    #[command(after_help = "Example:\n  space-profiles backfill list --state failed")]
    List {
        /// Only those in this state.
        #[arg(long, value_parser = state())]
        state: Option<BackfillStatus>,
        /// Only those that failed with this code.
        #[arg(long)]
        code: Option<FailureCode>,
    },
    /// Queue failed backfills again.
    #[command(after_help = "Examples:
  space-profiles backfill retry acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding
  space-profiles backfill retry --all --code MODEL_PREFLIGHT_TIMEOUT")]
    Retry {
        /// One scope's.
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        scope: Option<Scope>,
        /// Every scope's.
        #[arg(long)]
        all: bool,
        /// Only those that failed with this code.
        #[arg(long, requires = "all", conflicts_with = "scope")]
        code: Option<FailureCode>,
    },
}

/// A snapshot to propose: as a file, or as a model whose number and vector space id are filled in.
#[derive(Debug, Args)]
pub(crate) struct Proposing {
    /// The scope.
    pub(crate) scope: Scope,
    /// The snapshot, a JSON file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plugin", "provider", "model", "dimension"])]
    pub(crate) snapshot: Option<PathBuf>,
    /// The plugin, in place of a snapshot.
    #[arg(long, value_name = "ID", required_unless_present = "snapshot", requires_all = ["provider", "model", "dimension"])]
    pub(crate) plugin: Option<String>,
    /// The provider within the plugin.
    #[arg(long, value_name = "NAME", required_unless_present = "snapshot")]
    pub(crate) provider: Option<String>,
    /// The model.
    #[arg(long, value_name = "NAME", required_unless_present = "snapshot")]
    pub(crate) model: Option<String>,
    /// The number of values in a vector.
    #[arg(long, value_name = "N", required_unless_present = "snapshot")]
    pub(crate) dimension: Option<Dimension>,
    /// What was observed of the models, a JSON file.
    #[arg(long, value_name = "FILE")]
    pub(crate) capability: PathBuf,
    #[command(flatten)]
    pub(crate) by: Acting,
    /// Propose even what the active revision says already.
    #[arg(long)]
    pub(crate) allow_unchanged: bool,
    /// Propose even though the manifest holds a legacy profile that was not adopted.
    #[arg(long)]
    pub(crate) ignore_legacy: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Expecting {
    /// The active revision that you saw, or `none`.
    #[arg(long = "expect", value_name = "M", value_parser = expectation)]
    pub(crate) expected: Expectation,
}

#[derive(Debug, Args)]
pub(crate) struct Acting {
    /// Who acts; by default the system user's name.
    #[arg(long, value_name = "WHO", env = "SPACE_PROFILES_SUBJECT", hide_env_values = true)]
    by: Option<SubjectId>,
}

impl Acting {
    pub(crate) fn subject(self) -> Result<SubjectId, crate::exit::Failure> {
        match self.by {
            Some(by) => Ok(by),
            None => Ok(SubjectId::new(whoami::username().unwrap_or_else(|_| "unknown".to_owned()))?),
        }
    }
}

/// The names are listed in help and completions.
fn kind() -> ValueParser {
    PossibleValuesParser::new(Kind::ALL.map(Kind::as_str)).try_map(|name| name.parse::<Kind>()).into()
}

fn state() -> ValueParser {
    let names = PossibleValuesParser::new(BackfillStatus::ALL.map(BackfillStatus::as_str));
    names.try_map(|name| name.parse::<BackfillStatus>()).into()
}

/// The active revision that a caller saw, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expectation(pub(crate) Option<RevisionNumber>);

fn expectation(text: &str) -> Result<Expectation, String> {
    match text {
        "none" => Ok(Expectation(None)),
        number => number
            .parse()
            .map(|number| Expectation(Some(number)))
            .map_err(|_| format!("expected a revision's number or `none`, found `{number}`")),
    }
}
