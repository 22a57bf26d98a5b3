//! Several at once, and beside traffic.

use super::*;

/// Case G6-10.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g6_10_four_migrate_an_empty_database_at_once_ten_times() {
    for _ in 0..10 {
        four_at_once(&Database::empty()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_migrate_a_database_in_use_at_once() {
    for _ in 0..3 {
        four_at_once(&Database::theirs_in_use()).await;
    }
}

async fn four_at_once(database: &Database) {
    let options = &database.options;
    let one = || {
        let options = options.clone();
        tokio::spawn(async move { migrate_with(&options, &PATIENCE).await })
    };
    let mut applied = Vec::new();
    for task in [one(), one(), one(), one()] {
        applied.extend(task.await.unwrap().unwrap());
    }
    applied.sort_unstable();
    assert_eq!(applied, names(), "each was applied by one of them");
    assert_eq!(database.differences().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_migrate_while_another_session_has_a_long_transaction() {
    for database in [Database::empty(), Database::theirs_in_use()] {
        let mut reader = database.connect().await;
        let mut reading = reader.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
        sqlx::raw_sql("SELECT count(*) FROM pg_class").execute(&mut *reading).await.unwrap();
        let end = async {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            reading.rollback().await.unwrap();
        };
        tokio::join!(four_at_once(&database), end);
    }
}

#[tokio::test]
async fn a_turn_that_does_not_come_is_given_up() {
    let database = Database::empty();
    let mut session = session::Session::open(&database.options).await.unwrap();
    session.wait_for_turn(&HASTE).await.unwrap();
    let message = refused(database.migrate_hastily().await, StoreCode::Busy);
    assert!(message.contains("another process has been migrating schema `public`"), "{message}");
    drop(session);
    assert_eq!(database.migrate().await.unwrap(), names());
}
