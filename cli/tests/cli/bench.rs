//! A folder with a store, and the binary to run there.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::databases::Database;

pub(crate) struct Bench {
    folder: TempDir,
    /// The store that commands use; that of a bench without a URL is the default, a file in its folder.
    url: Option<String>,
    /// Kept for as long as the bench is used.
    _database: Option<Database>,
}

/// Makes two tests of each of these functions: one on a SQLite file, one on Postgres.
macro_rules! on_each_store {
    ($($name:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $name() { super::$name(&crate::bench::Bench::new()); })+
        }

        mod on_postgres {
            $(#[test] fn $name() { super::$name(&crate::bench::Bench::on_postgres()); })+
        }
    };
}

pub(crate) use on_each_store;

/// What a command answered.
pub(crate) struct Answer {
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is UTF-8");
        Self {
            exit: output.status.code().expect("the process ended by itself"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The document on standard output.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    /// The error on standard error.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        let document: Value =
            serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}: {}", self.stderr));
        document["error"].clone()
    }

    /// What a person sees, with what differs from run to run left out.
    pub(crate) fn shown(&self) -> String {
        format!("{}{}exit {}", self.stdout, self.stderr, self.exit)
    }
}

impl Bench {
    /// A bench whose store is a SQLite file, which the first command makes.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), url: None, _database: None }
    }

    /// A bench whose store is a fresh Postgres database with our schema.
    pub(crate) fn on_postgres() -> Self {
        let database = Database::migrated();
        Self { url: Some(database.url()), _database: Some(database), ..Self::new() }
    }

    /// A bench whose store is what a URL names.
    pub(crate) fn on(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), ..Self::new() }
    }

    /// The store's URL, where it is not the default.
    pub(crate) fn url(&self) -> &str {
        self.url.as_deref().expect("a bench with a URL")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The store's file.
    pub(crate) fn database(&self) -> PathBuf {
        self.path("space-profiles.db")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), content).unwrap();
        name.to_owned()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_space-profiles"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("SPACE_PROFILES_STORE")
            .env("SPACE_PROFILES_SUBJECT", "user:ann")
            .stdin(Stdio::null());
        if let Some(url) = &self.url {
            command.env("SPACE_PROFILES_STORE", url);
        }
        command
    }

    /// Runs a command for a person.
    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command(arguments).output().unwrap())
    }

    /// Runs a command for a script.
    pub(crate) fn json(&self, arguments: &[&str]) -> Answer {
        let with_json: Vec<&str> = ["--json"].into_iter().chain(arguments.iter().copied()).collect();
        self.run(&with_json)
    }

    /// Runs a command with something on standard input.
    pub(crate) fn piped(&self, arguments: &[&str], input: &[u8]) -> Answer {
        let mut child = self.start(arguments);
        child.stdin.take().unwrap().write_all(input).unwrap();
        Answer::of(child.wait_with_output().unwrap())
    }

    /// Starts a command.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub(crate) fn finish(child: Child) -> Answer {
        Answer::of(child.wait_with_output().unwrap())
    }

    /// A space with revision 1 active and 2 superseding it.
    pub(crate) fn with_history(&self) {
        self.write("cap.json", "{\"source\":\"hand\"}");
        assert_eq!(self.run(&["space", "add", SPACE, "--name", "Handbook"]).exit, 0);
        for (number, model, dimension) in
            [(1, "text-embedding-3-small", 1536), (2, "text-embedding-3-large", 3072)]
        {
            let name = self.write(&format!("{number}.json"), embedding(model, dimension, number).to_string());
            let expected = if number == 1 { "none" } else { "1" };
            let publish =
                ["publish", EMBEDDING, "--snapshot", &name, "--capability", "cap.json", "--expect", expected];
            let answer = self.run(&publish);
            assert_eq!(answer.exit, 0, "{}", answer.stderr);
        }
    }
}

pub(crate) const SPACE: &str = "acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40";
pub(crate) const EMBEDDING: &str = "acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/embedding";
pub(crate) const RETRIEVAL: &str = "acme/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40/retrieval";

/// An embedding snapshot; its vector space id follows from nothing.
pub(crate) fn embedding(model: &str, dimension: u32, revision: u32) -> Value {
    json!({
        "pluginId": "langgenius/openai", "provider": "openai", "model": model, "dimension": dimension,
        "revision": revision, "vectorSpaceId": format!("embedding-space-sha256:{}", revision.to_string().repeat(64)),
    })
}

pub(crate) fn retrieval(top_k: u32, revision: u32) -> Value {
    json!({
        "defaultMode": "fast", "rerank": {"enabled": false}, "revision": revision, "topK": top_k,
        "reasoningModel": {"pluginId": "langgenius/openai", "provider": "openai", "model": "gpt-4.1"},
        "scoreThreshold": {"enabled": false, "stage": "mode-final"},
    })
}

/// A file of the repository.
pub(crate) fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}
