use std::io;

use space_profiles_worker::Stop;

use crate::output::Output;

/// Requests a stop at the first Ctrl-C or SIGTERM, so that what was claimed is handed back; ends the process at
/// the second one.
pub(super) fn stop_on_signal(output: Output) -> Stop {
    let stop = Stop::new();
    // Where signals cannot be caught, the first one ends the process, and the leases run out.
    if let Ok(mut signals) = Signals::listen() {
        let on_signal = stop.clone();
        tokio::spawn(async move {
            signals.next().await;
            on_signal.request();
            if !output.is_json {
                eprintln!("interrupted: finishing what is under way, leaving the rest; once more quits at once");
            }
            signals.next().await;
            std::process::exit(130);
        });
    }
    stop
}

/// The signals that ask for an end. They are caught from the start, so that none is missed between two waits.
#[cfg(unix)]
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
