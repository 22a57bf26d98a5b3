//! Nothing outlives the test process, however it ends.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test's own functions panic as the test does, and a child tells its parent what it runs"
)]

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use throwaway_postgres::{Cluster, ClusterOptions, PgBouncer, PgBouncerOptions, shared};

const END: &str = "THROWAWAY_POSTGRES_TEST_END";

/// Not a test of its own: what the tests below start as a process, to see what it leaves.
#[test]
#[ignore = "the other tests run it as a process of its own"]
fn a_process_with_servers() {
    let Ok(end) = std::env::var(END) else { return };
    let cluster = shared();
    let standby = cluster.standby();
    let pooler = PgBouncer::start(cluster, &PgBouncerOptions::default());
    println!("ports {} {} {}", cluster.port(), standby.port(), pooler.port());
    match end.as_str() {
        "panic" => panic!("this is how the process is to end"),
        "exit" => std::process::exit(0),
        _ => thread::sleep(Duration::from_secs(600)),
    }
}

#[test]
fn a_killed_process_leaves_no_server_and_no_folder() {
    let place = Place::new();
    let mut process = place.start("kill");
    let ports = ports(&mut process);
    assert_eq!(place.folders(), 3);
    assert!(ports.iter().all(|&port| is_open(port)));
    process.kill().unwrap();
    process.wait().unwrap();
    place.expect_empty();
    assert!(!ports.iter().any(|&port| is_open(port)));
}

#[test]
fn a_process_that_ends_by_itself_leaves_no_server_and_no_folder() {
    for end in ["panic", "exit"] {
        let place = Place::new();
        let mut process = place.start(end);
        let ports = ports(&mut process);
        process.wait().unwrap();
        place.expect_empty();
        assert!(!ports.iter().any(|&port| is_open(port)));
    }
}

#[test]
fn a_process_killed_while_it_starts_servers_leaves_nothing() {
    for milliseconds in [1, 10, 30, 100, 300, 600, 800, 1000, 1500] {
        let place = Place::new();
        let mut process = place.start("kill");
        thread::sleep(Duration::from_millis(milliseconds));
        process.kill().unwrap();
        process.wait().unwrap();
        place.expect_empty();
    }
}

#[test]
fn a_busy_child_of_a_killed_postmaster_is_no_leftover() {
    let cluster = Cluster::start(&ClusterOptions::default());
    let folder = cluster.folder().to_owned();
    let busy = "do $$ begin loop perform 1; end loop; end $$";
    let mut client = Command::new("psql")
        .args(["-Xq", &cluster.url("postgres"), "-c", busy])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let sees_it = "select count(*) from pg_stat_activity where state = 'active' and query like 'do %'";
    while cluster.sql("postgres", sees_it) != "1" {}
    cluster.kill();
    assert_ne!(processes_below(&folder), Vec::<String>::new(), "expected a child that is busy");
    drop(cluster);
    assert!(!folder.exists());
    assert!(!client.wait().unwrap().success());
    assert_eq!(processes_below(&folder), Vec::<String>::new());
}

/// Where a process and its servers have their temporary folders.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static PLACES: AtomicU32 = AtomicU32::new(0);
        let number = PLACES.fetch_add(1, Ordering::Relaxed);
        // Short, as the path of a socket must be.
        let folder = PathBuf::from(format!("/tmp/leftovers-{}-{number}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        // The servers of root run as somebody else.
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        Self(folder)
    }

    fn start(&self, end: &str) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_process_with_servers", "--ignored", "--nocapture"])
            .env("TMPDIR", &self.0)
            .env(END, end)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn folders(&self) -> usize {
        fs::read_dir(&self.0).unwrap().count()
    }

    /// Waits until there is no folder here and no process that works below.
    fn expect_empty(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let processes = processes_below(&self.0);
            if self.folders() == 0 && processes.is_empty() {
                return;
            }
            let folders = self.folders();
            assert!(
                Instant::now() < deadline,
                "expected nothing, found {folders} folders, processes {processes:?}"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The processes whose working folder is below `place`, be it removed. Linux knows them; elsewhere none are found.
fn processes_below(place: &Path) -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .filter_map(|process| {
            let process = process.ok()?.path();
            let works_in = fs::read_link(process.join("cwd")).ok()?;
            works_in.starts_with(place).then(|| fs::read_to_string(process.join("cmdline")).unwrap_or_default())
        })
        .collect()
}

fn ports(process: &mut Child) -> Vec<u16> {
    let output: BufReader<&mut ChildStdout> = BufReader::new(process.stdout.as_mut().unwrap());
    // The test runner may have begun the line.
    let line =
        output.lines().map(Result::unwrap).find(|line| line.contains("ports ")).expect("expected the ports");
    let (_, ports) = line.split_once("ports ").unwrap();
    ports.split_whitespace().map(|port| port.parse().unwrap()).collect()
}

fn is_open(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}
