//! The pages that supervisors work off: ready rows, leases, outbox, settlements,
//! intents, plan rows. Each is one statement; what it changes is its own transaction.

use super::columns::{self, after};
use super::link::Link;
use crate::journal::touched::Touched;
use crate::journal::words;
use tribunal_actors::ports::journal::*;
use tribunal_schema::ids::{ChunkId, ClaimToken, Incarnation, RunId};
use tribunal_schema::sql::postgres as sql;
use tribunal_schema::units::{DurationMs, InstantMs, LeaseTerm, ReadySeq, Version};

/// The small tables of a database.
pub(super) struct Queues<'a> {
    pub(super) link: &'a Link,
    pub(super) hints: &'a Hints,
}

/// The database's clock.
pub(super) async fn now(link: &Link) -> Result<InstantMs, Failure> {
    let row = link.row(sql::NOW, &[]).await?.ok_or_else(|| Failure::new("the database has no clock"))?;
    Ok(InstantMs(columns::plain(&row, 0)?))
}

impl Queues<'_> {
    pub(super) async fn ready_due(
        &self,
        lane: &str,
        only: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<ReadyRow>, Failure> {
        let now = now(self.link).await?;
        let (lane, only) = (columns::kept(lane), only.map(|run| run.to_string()));
        let rows = self.link.rows(sql::READY_DUE, &[&lane, &now.0, &i64::from(limit), &only]).await?;
        let row = |row: &tokio_postgres::Row| {
            Ok(ReadyRow {
                chunk: columns::chunk(row, 0)?,
                ready_seq: ReadySeq(columns::count(row, 2)?),
                lane: columns::text(row, 3)?,
                due_at: InstantMs(columns::plain(row, 4)?),
            })
        };
        rows.iter().map(row).collect()
    }

    pub(super) async fn ready_lanes(&self) -> Result<Vec<String>, Failure> {
        self.link.rows(sql::READY_LANES, &[]).await?.iter().map(|row| columns::text(row, 0)).collect()
    }

    pub(super) async fn ready_outstanding(&self, lane: &str, only: Option<RunId>) -> Result<u32, Failure> {
        let row =
            self.link.row(sql::READY_OUTSTANDING, &[&columns::kept(lane), &only.map(|run| run.to_string())]).await?;
        row.map_or(Ok(0), |row| columns::count(&row, 0))
    }

    pub(super) async fn ready_next_due(&self) -> Result<Option<InstantMs>, Failure> {
        let now = now(self.link).await?;
        let Some(row) = self.link.row(sql::READY_NEXT_DUE, &[&now.0]).await? else { return Ok(None) };
        Ok(columns::plain::<Option<i64>>(&row, 0)?.map(InstantMs))
    }

    pub(super) async fn ready_unpublish(&self, age: Option<DurationMs>, only: Option<RunId>) -> Result<u64, Failure> {
        let only = only.map(|run| run.to_string());
        let changed = match age {
            None => self.link.execute(sql::READY_UNPUBLISH_ALL, &[&only]).await?,
            Some(age) => {
                let now = now(self.link).await?;
                let age = i64::try_from(age.0).unwrap_or(i64::MAX);
                self.link.execute(sql::READY_UNPUBLISH, &[&age, &now.0, &only]).await?
            }
        };
        self.touched(changed, Touched::READY);
        Ok(changed)
    }

    pub(super) async fn outbox_claim(
        &self,
        token: ClaimToken,
        window: DurationMs,
        only: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, Failure> {
        let now = now(self.link).await?;
        let (token, until) = (token.to_string(), after(now, window));
        let rows = self
            .link
            .rows(sql::OUTBOX_CLAIM, &[&token, &until, &now.0, &i64::from(limit), &only.map(|run| run.to_string())])
            .await?;
        let row = |row: &tokio_postgres::Row| {
            let (dedupe_key, routing_key) = (columns::text(row, 2)?, columns::text(row, 3)?);
            let message = OutboxMessage { dedupe_key, routing_key, body: columns::plain(row, 4)? };
            Ok(OutboxRow { id: columns::count(row, 0)?, attempts: columns::count(row, 1)?, message })
        };
        let mut claimed: Vec<OutboxRow> = rows.iter().map(row).collect::<Result<_, Failure>>()?;
        // RETURNING promises no order.
        claimed.sort_unstable_by_key(|row| row.id);
        Ok(claimed)
    }

    pub(super) async fn outbox_confirm(&self, token: ClaimToken, ids: &[u64]) -> Result<u64, Failure> {
        self.link.execute(sql::OUTBOX_CONFIRM, &[&numbers(ids), &token.to_string()]).await
    }

    pub(super) async fn outbox_reschedule(
        &self,
        token: ClaimToken,
        ids: &[u64],
        delay: DurationMs,
    ) -> Result<u64, Failure> {
        let at = after(now(self.link).await?, delay);
        let given = self.link.execute(sql::OUTBOX_RESCHEDULE, &[&numbers(ids), &token.to_string(), &at]).await?;
        self.touched(given, Touched::OUTBOX);
        Ok(given)
    }

    pub(super) async fn settlements(&self, limit: u32) -> Result<Vec<SettlementRow>, Failure> {
        let rows = self.link.rows(sql::SETTLEMENTS_PAGE, &[&i64::from(limit)]).await?;
        let row = |row: &tokio_postgres::Row| {
            let settlement = Settlement {
                chunk: columns::chunk(row, 0)?,
                version: Version(columns::count(row, 2)?),
                end: columns::word(row, 3, words::end_named)?,
                tally: columns::json(row, 4)?,
            };
            Ok(SettlementRow { settlement, digest: columns::digest(row, 5)? })
        };
        rows.iter().map(row).collect()
    }

    pub(super) async fn settlement_done(&self, chunk: ChunkId, version: Version) -> Result<(), Failure> {
        let version = i64::try_from(version.0).unwrap_or(i64::MAX);
        let key = (chunk.run.to_string(), i64::from(chunk.number));
        self.link.execute(sql::SETTLEMENT_DONE, &[&key.0, &key.1, &version]).await.map(drop)
    }

    pub(super) async fn intents(&self, kind: IntentKind, limit: u32) -> Result<Vec<Intent>, Failure> {
        let rows = self.link.rows(sql::INTENTS_PAGE, &[&kind.name(), &i64::from(limit)]).await?;
        rows.iter().map(|row| Ok(Intent { run: columns::parsed(row, 0)?, kind })).collect()
    }

    pub(super) async fn plan_rows(
        &self,
        run: RunId,
        after: Option<ChunkId>,
        limit: u32,
    ) -> Result<Vec<PlanRow>, Failure> {
        // Chunks are numbered from 0: -1 is before all of them.
        let after = after.map_or(-1, |chunk| i64::from(chunk.number));
        let rows = self.link.rows(sql::PLAN_PAGE, &[&run.to_string(), &after, &i64::from(limit)]).await?;
        let row = |row: &tokio_postgres::Row| {
            let chunk = ChunkId { run, number: columns::count(row, 0)? };
            Ok(PlanRow { chunk, seeded: columns::plain(row, 1)? })
        };
        rows.iter().map(row).collect()
    }

    pub(super) async fn leases_renew(
        &self,
        statement: &'static str,
        holder: Incarnation,
        lease: DurationMs,
    ) -> Result<Vec<Renewal>, Failure> {
        let lease = i64::try_from(lease.0).unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
        let rows = self.link.rows(statement, &[&holder.to_string(), &lease]).await?;
        let row = |row: &tokio_postgres::Row| {
            Ok(Renewal {
                chunk: columns::chunk(row, 0)?,
                term: LeaseTerm(columns::count(row, 2)?),
                desired: columns::word(row, 3, words::desired_named)?,
            })
        };
        let mut renewals: Vec<Renewal> = rows.iter().map(row).collect::<Result<_, Failure>>()?;
        renewals.sort_unstable_by_key(|renewal| renewal.chunk);
        Ok(renewals)
    }

    pub(super) async fn leases_due(&self, limit: u32) -> Result<Vec<LeaseRow>, Failure> {
        let now = now(self.link).await?;
        let rows = self.link.rows(sql::LEASES_DUE, &[&now.0, &i64::from(limit)]).await?;
        let row = |row: &tokio_postgres::Row| {
            Ok(LeaseRow {
                chunk: columns::chunk(row, 0)?,
                term: LeaseTerm(columns::count(row, 2)?),
                grant: columns::parsed(row, 3)?,
                holder: columns::parsed(row, 4)?,
                expires_at: InstantMs(columns::plain(row, 5)?),
                hard_deadline_at: InstantMs(columns::plain(row, 6)?),
            })
        };
        rows.iter().map(row).collect()
    }

    pub(super) async fn leases_revoke_dead(&self, holder: Incarnation) -> Result<u64, Failure> {
        let now = now(self.link).await?;
        let ended = self.link.execute(sql::LEASES_REVOKE_DEAD, &[&holder.to_string(), &now.0]).await?;
        self.touched(ended, Touched::LEASE);
        Ok(ended)
    }

    pub(super) async fn poison_put(&self, body: &[u8], reason: &str) -> Result<(), Failure> {
        let now = now(self.link).await?;
        self.link.execute(sql::POISON_PUT, &[&body, &columns::kept(reason), &now.0]).await.map(drop)
    }

    fn touched(&self, changed: u64, what: Touched) {
        if changed > 0 {
            what.tell(self.hints);
        }
    }
}

fn numbers(ids: &[u64]) -> Vec<i64> {
    ids.iter().map(|id| i64::try_from(*id).unwrap_or(i64::MAX)).collect()
}
