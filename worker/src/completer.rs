//! Completing rows together: what is handed in while one batch is written is the next batch, so that nothing waits for
//! others to come.

use std::mem::take;

use space_profiles_core::{Completion, Fence, Ledger, Together};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Where rows hand in what was observed for them.
#[derive(Clone)]
pub(crate) struct Completer(mpsc::UnboundedSender<Request>);

struct Request {
    fence: Fence,
    capability: String,
    answer: oneshot::Sender<Together>,
}

impl Completer {
    /// A completer, whose work is done by a task of `tasks`, at most so many rows at a time.
    pub(crate) fn start(ledger: &Ledger, most: usize, tasks: &mut JoinSet<()>) -> Self {
        let (requests, handed_in) = mpsc::unbounded_channel();
        tasks.spawn(work(ledger.clone(), most, handed_in));
        Self(requests)
    }

    /// What became of a row that was completed together with others, or whether it is to be completed alone.
    pub(crate) async fn complete(&self, fence: Fence, capability: String) -> Together {
        let (answer, answered) = oneshot::channel();
        // A batch that panicked answers nobody. What it wrote is recognised.
        let _ = self.0.send(Request { fence, capability, answer });
        answered.await.unwrap_or(Together::Undecided)
    }
}

async fn work(ledger: Ledger, most: usize, mut handed_in: mpsc::UnboundedReceiver<Request>) {
    let mut requests = Vec::new();
    // Whichever way this function ends, the set aborts what is under way.
    let mut batches = JoinSet::new();
    while handed_in.recv_many(&mut requests, most).await > 0 {
        batches.spawn(complete(ledger.clone(), take(&mut requests)));
        batches.join_next().await;
    }
}

async fn complete(ledger: Ledger, requests: Vec<Request>) {
    // It is completed alone, and may wait for locks.
    if requests.len() == 1 {
        return;
    }
    let completions: Vec<Completion<'_>> = requests
        .iter()
        .map(|request| Completion { fence: request.fence, capability: request.capability.as_bytes() })
        .collect();
    let answers = ledger.complete_all(&completions).await;
    for (request, answer) in requests.into_iter().zip(answers) {
        // A row that does not wait any more was aborted.
        let _ = request.answer.send(answer);
    }
}
