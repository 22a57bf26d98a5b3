use space_profiles_worker::Stop;

/// Requests a stop at the first Ctrl-C or SIGTERM, so that what was claimed is handed back; ends the process at
/// the second one.
pub(super) fn stop_on_signal() -> Stop {
    let stop = Stop::new();
    let on_signal = stop.clone();
    tokio::spawn(async move {
        signalled().await;
        on_signal.request();
        eprintln!("interrupted: handing back what was claimed; once more to quit at once");
        signalled().await;
        std::process::exit(130);
    });
    stop
}

#[cfg(unix)]
async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}

#[cfg(not(unix))]
async fn signalled() {
    drop(tokio::signal::ctrl_c().await);
}
