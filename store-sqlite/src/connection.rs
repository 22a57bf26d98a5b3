//! Where calls of SQLite happen, which block.
//!
//! They happen one after the other, on a thread that owns the connection or on the threads that make them. A caller
//! that stops waiting leaves its job to finish: each is one transaction and so happens wholly or not at all.

use std::borrow::Borrow;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use futures_channel::oneshot;
use rusqlite::Connection;
use space_profiles_core::{StoreCode, StoreError};

use crate::error::JobError;

/// Runs what it is given, on this thread and at once, after it has told a runtime that this thread is going to block.
pub(crate) type Blocking = Arc<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// A way to the connection, which goes with the last one.
#[derive(Clone)]
pub(crate) enum Calls {
    /// On a thread of their own. A caller is woken when its job is done.
    OnThread(mpsc::Sender<Order>),
    /// On the thread that makes them. Nobody has to be woken, which can take longer than the job itself.
    InPlace { connection: Arc<Mutex<Option<Connection>>>, blocking: Blocking },
}

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

pub(crate) enum Order {
    Do(Job),
    Close(oneshot::Sender<()>),
}

impl Calls {
    pub(crate) fn in_place(connection: Connection, blocking: Blocking) -> Self {
        Self::InPlace { connection: Arc::new(Mutex::new(Some(connection))), blocking }
    }

    pub(crate) fn on_thread(mut connection: Connection) -> Result<Self, StoreError> {
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
        Ok(Self::OnThread(orders))
    }

    pub(crate) async fn call<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<T, JobError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::OnThread(orders) => {
                let (answer, answered) = oneshot::channel();
                let job = move |connection: &mut Connection| {
                    let _ = answer.send(job(connection).map_err(StoreError::from));
                };
                orders.send(Order::Do(Box::new(job))).map_err(|_| ended())?;
                answered.await.map_err(|_| ended())?
            }
            Self::InPlace { connection, blocking } => in_place(connection, blocking, job),
        }
    }

    /// As [`call`](Self::call), of a job that looks at something, which only the thread needs a copy of.
    pub(crate) async fn call_with<
        A: ToOwned<Owned: Borrow<A> + Send + 'static> + Sync + ?Sized,
        T: Send + 'static,
    >(
        &self,
        argument: &A,
        job: impl FnOnce(&mut Connection, &A) -> Result<T, JobError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::OnThread(_) => {
                let argument = argument.to_owned();
                self.call(move |connection| job(connection, argument.borrow())).await
            }
            Self::InPlace { connection, blocking } => {
                in_place(connection, blocking, |connection| job(connection, argument))
            }
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::OnThread(orders) => {
                let (closed, closing) = oneshot::channel();
                if orders.send(Order::Close(closed)).is_ok() {
                    // An error means that another handle's close came first.
                    let _ = closing.await;
                }
            }
            Self::InPlace { connection, blocking } => {
                blocking(&mut || drop(connection.lock().unwrap_or_else(PoisonError::into_inner).take()));
            }
        }
    }
}

fn in_place<T>(
    connection: &Mutex<Option<Connection>>,
    blocking: &Blocking,
    job: impl FnOnce(&mut Connection) -> Result<T, JobError>,
) -> Result<T, StoreError> {
    let (mut job, mut answer) = (Some(job), None);
    blocking(&mut || {
        // Another job that panicked may have left a transaction open.
        let Ok(mut connection) = connection.lock() else { return };
        if let (Some(connection), Some(job)) = (connection.as_mut(), job.take()) {
            answer = Some(job(connection).map_err(StoreError::from));
        }
    });
    answer.unwrap_or_else(|| Err(ended()))
}

fn ended() -> StoreError {
    StoreError::new(StoreCode::Unavailable, "expected an open store, found one that is closed; open it again")
}
