//! Moving heads and reading them on Postgres, beside knowledge-fs's own sequence of statements and beside the
//! guarded statements alone, in a small database and in a large one.

pub mod database;
pub mod floor;
pub mod knowledge_fs;
pub mod material;
mod profile;
pub mod subjects;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context as _;
use throwaway_postgres::{Cluster, ClusterOptions, find_postgres};

use crate::load::{self, Operation, Work};
use crate::machine::Machine;
use crate::results::{Results, Row};
use database::Database;
use floor::Floor;
use knowledge_fs::KnowledgeFs;
use material::{Material, Materials};
use subjects::{SpaceProfiles, Subject};

/// This product.
pub const OURS: &str = "space-profiles";
/// This product, where another process activates than the one that proposed.
pub const APART: &str = "space-profiles, two processes";
/// The service whose rates are 1.
pub const PEER: &str = "knowledge-fs";
/// The guarded statements alone.
pub const FLOOR: &str = "floor";

/// What is run, and how much of it.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many spaces the databases have.
    pub spaces: Vec<u32>,
    /// How many clients there are at once.
    pub clients: Vec<usize>,
    /// How many samples each case and subject gets.
    pub samples: usize,
    /// How long a sample is.
    pub slice: Duration,
    /// Whether commits wait for the disk.
    pub fsync: bool,
    /// Whether to print where the server's time went. Keeping account of it slows all subjects alike.
    pub profile: bool,
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    ProposeAndActivate,
    Publish,
    Head,
}

impl Task {
    const ALL: [Self; 3] = [Self::ProposeAndActivate, Self::Publish, Self::Head];

    const fn name(self) -> &'static str {
        match self {
            Self::ProposeAndActivate => "propose + activate",
            Self::Publish => "publish",
            Self::Head => "head",
        }
    }
}

/// How a case is called.
fn name(task: Task, clients: usize, spaces: u32) -> String {
    let plural = if clients == 1 { "" } else { "s" };
    format!("{}, {clients} client{plural}, {} spaces", task.name(), thousands(spaces))
}

fn thousands(number: u32) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}

/// One subject at one case.
struct Place {
    case: String,
    subject: &'static str,
    clients: usize,
    database: Arc<Database>,
    work: Work,
    samples: Vec<f64>,
}

/// Measures everything.
///
/// # Errors
///
/// A statement fails, or a command is refused.
pub fn run(options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut settings = if options.profile { profile::settings() } else { Vec::new() };
    // Each subject keeps its own, and one of them has two stores.
    let connections = options.spaces.len() * options.clients.iter().sum::<usize>() * 5;
    settings.push(("max_connections".to_owned(), (connections + 20).to_string()));
    let cluster = Cluster::start(&ClusterOptions { fsync: options.fsync, settings, ..ClusterOptions::default() });
    let rows = tokio::runtime::Runtime::new()?.block_on(measure(&cluster, options))?;
    if options.profile {
        println!("{}", profile::read(&cluster));
    }
    Ok(rows)
}

async fn measure(cluster: &Cluster, options: &Options) -> anyhow::Result<Vec<Row>> {
    let materials = Arc::new(Materials::default());
    let mut databases = Vec::new();
    for &spaces in &options.spaces {
        databases.push((spaces, Arc::new(Database::fill(cluster, spaces, &materials).await?)));
    }
    if options.profile {
        profile::begin(cluster);
    }
    let mut places = Vec::new();
    for &clients in &options.clients {
        let mut subjects = Vec::new();
        for (spaces, database) in &databases {
            for (name, subject) in open(&database.url, u32::try_from(clients)?).await? {
                subjects.push((*spaces, database, name, subject));
            }
        }
        // The same work on databases of different sizes lies side by side, as do the subjects.
        for task in Task::ALL {
            for (spaces, database, subject_name, subject) in &subjects {
                if *subject_name == APART && task != Task::ProposeAndActivate {
                    continue;
                }
                let case = name(task, clients, *spaces);
                let work = work(task, clients, subject, database, &materials);
                let database = Arc::clone(database);
                places.push(Place { case, subject: subject_name, clients, database, work, samples: Vec::new() });
            }
        }
    }
    // The first round is not kept: of each statement a connection plans the first runs anew.
    for round in 0..=options.samples {
        for place in &mut places {
            place.database.shorten(cluster);
            let took = load::slice(place.clients, options.slice, &place.work).await;
            let took = took.with_context(|| format!("{}, {}", place.case, place.subject))?;
            if round > 0 {
                place.samples.push(took);
            }
        }
    }
    Ok(places.into_iter().map(|place| Row::new(place.case, place.subject, place.samples)).collect())
}

async fn open(url: &str, connections: u32) -> anyhow::Result<[(&'static str, Arc<dyn Subject>); 4]> {
    Ok([
        (OURS, Arc::new(SpaceProfiles::open(url, connections).await?) as Arc<dyn Subject>),
        (APART, Arc::new(SpaceProfiles::open_two(url, connections).await?)),
        (PEER, Arc::new(KnowledgeFs::open(url, connections).await?)),
        (FLOOR, Arc::new(Floor::open(url, connections).await?)),
    ])
}

fn work(
    task: Task,
    clients: usize,
    subject: &Arc<dyn Subject>,
    database: &Arc<Database>,
    materials: &Arc<Materials>,
) -> Work {
    let (subject, database, materials) = (Arc::clone(subject), Arc::clone(database), Arc::clone(materials));
    Arc::new(move |client| -> Operation {
        let (subject, database, materials) = (Arc::clone(&subject), Arc::clone(&database), Arc::clone(&materials));
        Box::pin(async move {
            let (scope, newest) = database.next(client, clients);
            let active = newest.load(Ordering::Relaxed);
            if task == Task::Head {
                return subject.head(scope, active).await;
            }
            let next: Arc<Material> = materials.revision(active + 1)?;
            match task {
                Task::Publish => subject.publish(scope, active, &next).await?,
                _ => subject.propose_and_activate(scope, active, &next).await?,
            }
            newest.store(active + 1, Ordering::Relaxed);
            Ok(())
        })
    })
}

/// This machine, with the server and the settings that matter to it.
pub fn machine(options: &Options) -> Machine {
    let server = find_postgres().unwrap_or_default().join("postgres");
    let mut machine = Machine::this().with("postgres", Command::new(server).arg("--version"));
    let fsync = if options.fsync { "on" } else { "off" };
    machine.programs.insert(
        "postgres settings".to_owned(),
        format!("fsync={fsync}, all others as initdb leaves them; over TCP on this machine"),
    );
    machine
}

/// What is to be reached at a case: how many times knowledge-fs's rate.
const GOALS: [(Task, usize, f64); 4] = [
    (Task::ProposeAndActivate, 1, 1.9),
    (Task::ProposeAndActivate, 16, 1.4),
    (Task::Publish, 1, 2.8),
    (Task::Publish, 16, 2.1),
];

/// How many times its own time in the smallest database a task may take in the largest.
const GROWTH_GOAL: f64 = 1.3;

/// What the goals say of the results, a line each.
pub fn verdicts(results: &Results, options: &Options) -> Vec<String> {
    let mut lines = Vec::new();
    for &spaces in &options.spaces {
        for (task, clients, goal) in GOALS {
            let case = name(task, clients, spaces);
            if let Some(ratio) = results.ratio(&case, PEER, OURS) {
                lines.push(format!("{case}: {:.2} × {PEER}'s rate (goal {goal})", ratio.median));
            }
        }
    }
    if let (Some(&few), Some(&many)) = (options.spaces.iter().min(), options.spaces.iter().max()) {
        for task in Task::ALL {
            for &clients in &options.clients {
                let row = |spaces| results.row(&name(task, clients, spaces), OURS);
                if let (Some(small), Some(large)) = (row(few), row(many)) {
                    lines.push(format!(
                        "{}: {:.2} × the time with {} spaces (goal {GROWTH_GOAL})",
                        large.case,
                        large.median_ns / small.median_ns,
                        thousands(few)
                    ));
                }
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_every_subject() {
        let options = Options {
            spaces: vec![3, 40],
            clients: vec![1, 3],
            samples: 2,
            slice: Duration::from_millis(1),
            fsync: false,
            profile: false,
        };
        let rows = run(&options).unwrap();
        assert_eq!(rows.len(), 3 * 2 * 2 * 3 + 2 * 2);
        for task in Task::ALL {
            for (clients, spaces) in [(1, 3), (3, 3), (1, 40), (3, 40)] {
                for subject in [OURS, PEER, FLOOR] {
                    let case = name(task, clients, spaces);
                    let row = rows.iter().find(|row| row.case == case && row.subject == subject).unwrap();
                    assert!(row.samples_ns.len() == 2 && row.median_ns > 0.0);
                }
            }
        }
    }
}
