//! One client, its server, and the two directions between them.

use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::messages::{self, First, READY_FOR_QUERY, SYNC, Units};
use super::{Fate, Shared, close};

/// What the server owes.
struct Replies {
    /// How many times it is still to say that it is ready for the next query.
    due: u64,
    lost: Lost,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    No,
    All,
    Last,
}

/// Passes messages on until either side leaves or the connection is cut.
pub(super) fn serve(client: TcpStream, server: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let number = {
        let to_close = [client.try_clone()?, server.try_clone()?];
        let mut state = shared.lock();
        if state.refusing || state.ended {
            return Ok(());
        }
        state.connections_so_far += 1;
        let number = state.connections_so_far;
        state.connections.insert(number, to_close);
        number
    };
    // The answer to the start is due.
    let replies = Mutex::new(Replies { due: 1, lost: Lost::No });
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = pass_replies(&server, &client, &replies);
            close_connection(number, shared);
        });
        let _ = pass_requests(&client, &server, &replies, shared);
        if replies.lock().unwrap().lost == Lost::No {
            close_connection(number, shared);
        }
    });
    if replies.lock().unwrap().lost != Lost::No {
        shared.answered();
    }
    Ok(())
}

fn close_connection(number: u64, shared: &Shared) {
    if let Some(connection) = shared.lock().connections.remove(&number) {
        close(&connection);
    }
}

fn pass_requests(
    mut client: &TcpStream,
    mut server: &TcpStream,
    replies: &Mutex<Replies>,
    shared: &Shared,
) -> io::Result<()> {
    loop {
        match messages::read_first(&mut client)? {
            First::WantsEncryption => client.write_all(b"N")?,
            First::Cancels(bytes) | First::Starts(bytes) => {
                server.write_all(&bytes)?;
                break;
            }
        }
    }
    let mut units = Units::default();
    loop {
        let Some(mut unit) = units.add(messages::read(&mut client)?) else { continue };
        let fate = match &unit.statement {
            Some(statement) => shared.decide(statement.is_commit),
            None => Fate::Passes,
        };
        let lost = match fate {
            Fate::Passes => Lost::No,
            Fate::IsNotSent => return Ok(()),
            Fate::LosesEveryReply => Lost::All,
            Fate::LosesItsReply => Lost::Last,
        };
        if lost != Lost::No && unit.answers == 0 {
            // The client has only flushed, and can no longer end the statement itself.
            unit.bytes.extend(SYNC);
            unit.answers = 1;
        }
        {
            // INVARIANT: known before the server can reply.
            let mut replies = replies.lock().unwrap();
            replies.due += unit.answers;
            replies.lost = lost;
        }
        server.write_all(&unit.bytes)?;
        match lost {
            Lost::No => {}
            Lost::All => return client.shutdown(Shutdown::Both),
            Lost::Last => return Ok(()),
        }
    }
}

fn pass_replies(mut server: &TcpStream, mut client: &TcpStream, replies: &Mutex<Replies>) -> io::Result<()> {
    loop {
        let reply = messages::read(&mut server)?;
        let (loses, ends) = {
            let mut replies = replies.lock().unwrap();
            let loses = match replies.lost {
                Lost::No => false,
                Lost::All => true,
                Lost::Last => replies.due <= 1,
            };
            if reply.kind == READY_FOR_QUERY {
                replies.due = replies.due.saturating_sub(1);
            }
            (loses, replies.lost != Lost::No && replies.due == 0)
        };
        if ends {
            return Ok(());
        }
        if !loses {
            // A client that has left must not keep a lost statement from its end.
            let passed = client.write_all(&reply.bytes);
            if replies.lock().unwrap().lost == Lost::No {
                passed?;
            }
        }
    }
}
