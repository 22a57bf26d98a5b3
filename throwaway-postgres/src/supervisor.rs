//! The shell that runs a server and ends with the test process (`supervisor.sh`).

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

const SCRIPT: &str = include_str!("supervisor.sh");
/// A socket's path may have 107 bytes, on some systems 103.
const LONGEST_TEMP_FOLDER: usize = 60;
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Supervisor {
    shell: Child,
    /// `None` once the shell has been told that this is the end.
    orders: Mutex<Option<ChildStdin>>,
    folder: PathBuf,
}

impl Supervisor {
    /// Makes the folder. `last_signal` ends a program that still runs when this is dropped or the process dies.
    pub(crate) fn start(last_signal: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "supervisor"]).arg(place_for_folders()).arg(last_signal);
        // Whatever surrounds the tests must not decide how the servers behave.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")) {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C").current_dir("/");
        // A Ctrl-C reaches the tests, whose end then reaches the shell.
        command.process_group(0);
        if id(&["-u"]) == 0 {
            // Postgres and PgBouncer refuse to run as root. This also drops root's further groups.
            command.uid(id(&["-u", "nobody"])).gid(id(&["-g", "nobody"]));
        }
        let mut shell =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("expected to start `sh`");
        let orders = shell.stdin.take();
        let mut folder = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut folder).unwrap();
        assert!(
            !folder.is_empty(),
            "expected a folder in {}, see above for the reason",
            place_for_folders().display()
        );
        Self { shell, orders: Mutex::new(orders), folder: folder.trim_end().into() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Begins to run a program; the one before must have ended.
    pub(crate) fn begin<Argument: AsRef<OsStr>>(&self, command: &[Argument]) {
        assert!(self.pid().is_none(), "expected that nothing runs in {}", self.folder.display());
        let _ = fs::remove_file(self.folder.join("ended"));
        let words: Vec<String> = command.iter().map(|word| quoted(word.as_ref())).collect();
        self.order(&format!("start {}", words.join(" ")));
    }

    /// Runs a program to its end, which must be a success.
    pub(crate) fn run<Argument: AsRef<OsStr>>(&self, command: &[Argument]) {
        let before = self.log().len();
        self.begin(command);
        let status = self.wait_until_ended();
        let program = command.first().unwrap().as_ref().display();
        assert!(
            status == 0,
            "expected a success of `{program}`, found status {status}: {}",
            self.log_since(before)
        );
    }

    pub(crate) fn signal(&self, signal: &str) {
        self.order(&format!("signal {signal}"));
    }

    /// The process id of what runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        fs::read_to_string(self.folder.join("running")).ok()?.trim().parse().ok()
    }

    /// The exit status of what began last, once it has ended.
    pub(crate) fn ended(&self) -> Option<i32> {
        fs::read_to_string(self.folder.join("ended")).ok()?.trim().parse().ok()
    }

    pub(crate) fn wait_until_ended(&self) -> i32 {
        eventually(|| self.ended())
            .unwrap_or_else(|| panic!("expected an end within {PATIENCE:?}: {}", self.log_since(0)))
    }

    pub(crate) fn log(&self) -> String {
        let bytes = fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) fn log_since(&self, length: usize) -> String {
        self.log().get(length..).unwrap_or_default().to_owned()
    }

    fn order(&self, line: &str) {
        let mut orders = self.orders.lock().unwrap();
        writeln!(orders.as_mut().unwrap(), "{line}").expect("expected that the supervising shell still runs");
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // The shell takes a closed pipe for the end. In a panic the lock may be poisoned: that changes nothing.
        drop(self.orders.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take());
        let _ = self.shell.wait();
    }
}

/// Asks every few milliseconds until there is an answer or [`PATIENCE`] is at its end.
pub(crate) fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ask() {
            None if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            answer => return answer,
        }
    }
}

fn place_for_folders() -> PathBuf {
    let usual = std::env::temp_dir();
    if usual.as_os_str().len() <= LONGEST_TEMP_FOLDER { usual } else { "/tmp".into() }
}

fn id(arguments: &[&str]) -> u32 {
    let output = Command::new("id").args(arguments).output().expect("expected to run `id`");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("expected a number from `id {}`", arguments.join(" ")))
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_str().unwrap_or_else(|| panic!("expected UTF-8, found {}", word.display()));
    // An order is one line, so a line break travels as a variable of the script.
    format!("'{}'", word.replace('\'', r"'\''").replace('\n', r#"'"$line_break"'"#))
}
