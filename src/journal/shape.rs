//! The shape of a unit: what can be said of it before any database is asked.

use std::collections::BTreeSet;
use tribunal_actors::ports::journal::{AppendError, AppendUnit, Row};
use tribunal_schema::Digest;

/// Refuses a unit that no database could write.
pub(super) fn check(unit: &AppendUnit) -> Result<(), AppendError> {
    check_streams(unit)?;
    check_blobs(unit)
}

/// The bytes that a unit keeps in memory while it waits.
pub(super) fn weight(unit: &AppendUnit) -> usize {
    let events = unit.appends.iter().flat_map(|append| &append.events).map(|event| event.payload.len() + 256);
    let bodies = unit.rows.iter().map(|row| match row {
        Row::BlobPut { bytes, .. } => bytes.len(),
        Row::OutboxPut(message) => message.body.len(),
        Row::PlanPut(row) => row.seeded.len(),
        _ => 64,
    });
    events.sum::<usize>() + bodies.sum::<usize>() + unit.views.len() * 256
}

fn check_streams(unit: &AppendUnit) -> Result<(), AppendError> {
    let mut streams = BTreeSet::new();
    for append in &unit.appends {
        if append.events.is_empty() {
            return Err(AppendError::Invalid(format!("nothing is appended to stream {}", append.stream)));
        }
        if unit.appends.len() > 1 && !streams.insert(&append.stream) {
            return Err(AppendError::Invalid(format!("stream {} occurs twice", append.stream)));
        }
    }
    Ok(())
}

/// Digests are computed by the callers, side by side, and not in the one writing thread.
fn check_blobs(unit: &AppendUnit) -> Result<(), AppendError> {
    unit.rows.iter().try_for_each(|row| match row {
        Row::BlobPut { digest, bytes } => check_blob(*digest, bytes).map_err(AppendError::Invalid),
        _ => Ok(()),
    })
}

/// The bytes must be those of the digest.
pub(super) fn check_blob(digest: Digest, bytes: &[u8]) -> Result<(), String> {
    let found = Digest::of(bytes);
    match found == digest {
        true => Ok(()),
        false => Err(format!("the bytes of blob {digest} have digest {found}")),
    }
}
