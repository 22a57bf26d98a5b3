use std::sync::Arc;

use tokio::sync::watch;

/// Asks a run to come to its end. Clones are the same handle.
///
/// ```
/// use space_profiles_worker::Stop;
/// let stop = Stop::new();
/// let other = stop.clone();
/// other.request();
/// assert!(stop.is_requested());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// A handle that nobody has used yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for the end; asking again changes nothing.
    pub fn request(&self) {
        self.0.send_replace(true);
    }

    /// Whether somebody asked for the end.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until somebody asks for the end.
    pub async fn requested(&self) {
        let mut watched = self.0.subscribe();
        while !*watched.borrow_and_update() {
            // `self` keeps the sender alive, so this only ends with a change.
            if watched.changed().await.is_err() {
                return;
            }
        }
    }
}
