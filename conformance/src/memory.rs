use std::sync::Arc;

use space_profiles_core::memory::{MemoryContent, MemoryStore};
use space_profiles_core::{RevisionNumber, RowVersion, Store};

use crate::clock::ManualClock;
use crate::harness::{Column, StoreBuilder, StoreUnderTest, Table, Tamper};

/// Builds in-memory stores.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryBuilder;

#[async_trait::async_trait]
impl StoreBuilder for MemoryBuilder {
    async fn build(&self, clock: Arc<ManualClock>) -> Arc<dyn StoreUnderTest> {
        Arc::new(Memory(MemoryStore::new(clock)))
    }
}

struct Memory(MemoryStore);

#[async_trait::async_trait]
impl StoreUnderTest for Memory {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    async fn tamper(&self, tamper: &Tamper) {
        let content = &mut *self.0.content();
        match tamper {
            Tamper::Set { table, id, column, value } => set(content, *table, *id, column, value),
            Tamper::Delete { table: Table::Revisions, id } => {
                content.revisions.values_mut().for_each(|rows| rows.retain(|_, row| row.id.as_uuid() != *id));
            }
            Tamper::Delete { table: Table::Heads, id } => content.heads.retain(|_, row| row.id.as_uuid() != *id),
            Tamper::Delete { table: Table::Backfills, id } => {
                content.backfills.retain(|_, row| row.id.as_uuid() != *id);
            }
            Tamper::Delete { table: Table::Manifests, id } => {
                content.manifests.retain(|_, row| row.id.as_uuid() != *id);
            }
            Tamper::Lifecycle { space, state, deletion_job } => {
                let row = content.spaces.get_mut(space).expect("the space exists");
                row.lifecycle_state = (*state).to_owned();
                row.deletion_job = *deletion_job;
            }
        }
    }
}

fn set(content: &mut MemoryContent, table: Table, id: uuid::Uuid, column: &str, value: &Column) {
    match table {
        Table::Revisions => {
            let rows = content.revisions.values_mut().flat_map(std::collections::BTreeMap::values_mut);
            let row = rows.into_iter().find(|row| row.id.as_uuid() == id).expect("the revision exists");
            match column {
                "state" => row.status = text(value).parse().expect("a state"),
                "snapshot" => row.snapshot = text(value),
                "snapshot_digest" => row.snapshot_digest = text(value),
                "capability_snapshot" => row.capability_snapshot = text(value),
                "capability_snapshot_digest" => row.capability_snapshot_digest = text(value),
                "plugin_id" => row.plugin_id = text(value),
                "model" => row.model = text(value),
                "failure_code" => row.failure_code = optional_text(value),
                "activated_by_subject_id" => row.activated_by = optional_text(value),
                "created_at" => row.created_at = time(value).expect("not null"),
                "activated_at" => row.activated_at = time(value),
                "superseded_at" => row.superseded_at = time(value),
                other => panic!("no column {other} of revisions is tampered with"),
            }
        }
        Table::Heads => {
            let row = content.heads.values_mut().find(|row| row.id.as_uuid() == id).expect("the head exists");
            match column {
                "active_revision" => row.active_revision = RevisionNumber::try_from(integer(value)).unwrap(),
                "row_version" => row.row_version = RowVersion::try_from(integer(value)).unwrap(),
                "profile_revision_id" => row.revision_id = text(value).parse().expect("an id"),
                other => panic!("no column {other} of heads is tampered with"),
            }
        }
        Table::Backfills => {
            let row = content.backfills.get_mut(&id.into()).expect("the backfill exists");
            match column {
                "source_snapshot" => row.source_snapshot = text(value),
                "source_snapshot_digest" => row.source_snapshot_digest = text(value),
                "row_version" => row.row_version = RowVersion::try_from(integer(value)).unwrap(),
                other => panic!("no column {other} of backfills is tampered with"),
            }
        }
        Table::Manifests => {
            let row =
                content.manifests.values_mut().find(|row| row.id.as_uuid() == id).expect("the manifest exists");
            match column {
                "metadata" => row.metadata = text(value),
                other => panic!("no column {other} of manifests is tampered with"),
            }
        }
    }
}

fn text(value: &Column) -> String {
    match value {
        Column::Text(text) => text.clone(),
        other => panic!("expected a text, found {other:?}"),
    }
}

fn optional_text(value: &Column) -> Option<String> {
    match value {
        Column::Null => None,
        other => Some(text(other)),
    }
}

fn integer(value: &Column) -> i64 {
    match value {
        Column::Integer(value) => *value,
        other => panic!("expected a whole number, found {other:?}"),
    }
}

fn time(value: &Column) -> Option<space_profiles_core::Timestamp> {
    match value {
        Column::Null => None,
        Column::Time(moment) => Some(*moment),
        other => panic!("expected a moment, found {other:?}"),
    }
}
