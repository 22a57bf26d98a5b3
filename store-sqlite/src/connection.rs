//! The thread that owns the connection.
//!
//! SQLite's calls block, so they happen on a thread of their own, one job after the other. A caller that stops
//! waiting leaves its job to finish: each is one transaction and so happens wholly or not at all.

use std::sync::mpsc;
use std::thread;

use futures_channel::oneshot;
use rusqlite::Connection;
use space_profiles_core::{StoreCode, StoreError};

use crate::error::JobError;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

enum Order {
    Do(Job),
    Close(oneshot::Sender<()>),
}

/// A handle of the thread, which ends with its last handle.
#[derive(Clone)]
pub(crate) struct ConnectionThread {
    orders: mpsc::Sender<Order>,
}

impl ConnectionThread {
    pub(crate) fn start(mut connection: Connection) -> Result<Self, StoreError> {
        let (orders, received) = mpsc::channel();
        let work = move || {
            for order in received {
                match order {
                    Order::Do(job) => job(&mut connection),
                    Order::Close(closed) => {
                        drop(connection);
                        // Whoever does not wait any more need not know.
                        let _ = closed.send(());
                        return;
                    }
                }
            }
        };
        thread::Builder::new().name("space-profiles-sqlite".to_owned()).spawn(work).map_err(|error| {
            StoreError::new(
                StoreCode::Unavailable,
                format!("expected to start a thread for the database: {error}"),
            )
        })?;
        Ok(Self { orders })
    }

    pub(crate) async fn call<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<T, JobError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = move |connection: &mut Connection| {
            let _ = answer.send(job(connection).map_err(StoreError::from));
        };
        self.orders.send(Order::Do(Box::new(job))).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    pub(crate) async fn close(&self) {
        let (closed, closing) = oneshot::channel();
        if self.orders.send(Order::Close(closed)).is_ok() {
            // An error means that another handle's close came first.
            let _ = closing.await;
        }
    }
}

fn ended() -> StoreError {
    StoreError::new(StoreCode::Unavailable, "expected an open store, found one that is closed; open it again")
}
