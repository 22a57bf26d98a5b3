//! Several clients at once, for a slice of time.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// One operation of a client.
pub type Operation = Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send>>;

/// What a client, by its number, does next.
pub type Work = Arc<dyn Fn(usize) -> Operation + Send + Sync>;

/// Nanoseconds from one completion to the next, whichever client's, while every client does one operation after the
/// other. Before the clock starts each does one, so that no connection is cold.
///
/// # Errors
///
/// The first operation that fails.
pub async fn slice(clients: usize, slice: Duration, work: &Work) -> anyhow::Result<f64> {
    let all_are_warm = Arc::new(Barrier::new(clients));
    let mut running = JoinSet::new();
    for client in 0..clients {
        let (all_are_warm, work) = (Arc::clone(&all_are_warm), Arc::clone(work));
        running.spawn(async move {
            let warm = work(client).await;
            all_are_warm.wait().await;
            warm?;
            let begin = Instant::now();
            let mut done = 0_u32;
            while done == 0 || begin.elapsed() < slice {
                work(client).await?;
                done += 1;
            }
            Ok::<_, anyhow::Error>((done, begin, Instant::now()))
        });
    }
    let mut clients = Vec::new();
    while let Some(client) = running.join_next().await {
        clients.push(client??);
    }
    let done: u32 = clients.iter().map(|(done, ..)| done).sum();
    let begin = clients.iter().map(|(_, begin, _)| *begin).min();
    let end = clients.iter().map(|(.., end)| *end).max();
    let elapsed = begin.zip(end).map_or(Duration::ZERO, |(begin, end)| end - begin);
    Ok(elapsed.as_nanos() as f64 / f64::from(done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_several_clients_overlap() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let work: Work = Arc::new(|_| {
            Box::pin(async {
                tokio::time::sleep(Duration::from_millis(2)).await;
                Ok(())
            })
        });
        let one = runtime.block_on(slice(1, Duration::from_millis(20), &work)).unwrap();
        let ten = runtime.block_on(slice(10, Duration::from_millis(20), &work)).unwrap();
        assert!(one >= 2e6 && ten < one / 2.0, "{one} {ten}");
    }

    #[test]
    fn a_failure_ends_the_slice() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let work: Work = Arc::new(|client| {
            Box::pin(async move { if client == 1 { anyhow::bail!("client {client} is gone") } else { Ok(()) } })
        });
        let failed = runtime.block_on(slice(2, Duration::ZERO, &work)).unwrap_err();
        assert_eq!(failed.to_string(), "client 1 is gone");
    }
}
