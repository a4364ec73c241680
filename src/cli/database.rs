//! `tribunal migrate` and `tribunal doctor`: a store before it is used.
//!
//! Exit code 0: as it should be. 1: it cannot be used as it is, and what to do is said.

use super::store::StoreArg;
use crate::daemon::store::StoreAddress;
use crate::journal::postgres::{Doctor, PostgresAddress, SchemaState, migrate as migrate_postgres};
use crate::journal::sqlite::SqliteJournal;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// How far clocks may be apart before a person should look: leases go by the database's clock,
/// but the times on a report are compared with this machine's.
const CLOCK_AHEAD_MS_MAX: u64 = 5_000;
/// How long a transaction may hold the feed back before a person should look.
const HORIZON_LAG_MS_MAX: i64 = 60_000;

/// What to look at or to change.
#[derive(Clone, Debug, clap::Args)]
pub struct DatabaseArgs {
    /// The store
    #[command(flatten)]
    pub store: StoreArg,
    /// Write one JSON object to stdout
    #[arg(long, env = "TRIBUNAL_JSON")]
    pub json: bool,
}

/// Brings a store to this build's schema; gives the exit code.
///
/// # Errors
/// When it cannot be reached or changed, or is newer than this build.
pub async fn migrate(args: &DatabaseArgs) -> anyhow::Result<u8> {
    let (from, to) = match &args.store.address {
        StoreAddress::Postgres(address) => {
            let migrated = migrate_postgres(address).await?;
            (Some(migrated.from), migrated.to)
        }
        StoreAddress::Folder(folder) => {
            // Opening for writing migrates.
            drop(SqliteJournal::open(folder)?);
            (None, SqliteJournal::SCHEMA)
        }
    };
    let mut out = std::io::stdout().lock();
    let store = args.store.address.to_string();
    match (args.json, from) {
        (true, from) => writeln!(out, "{}", json!({"store": store, "from": from, "to": to}))?,
        (false, Some(from)) if from == to => writeln!(out, "{store} has schema {to} already")?,
        (false, Some(0)) => writeln!(out, "{store} has schema {to} now")?,
        (false, Some(from)) => writeln!(out, "{store} was brought from schema {from} to {to}")?,
        (false, None) => writeln!(out, "{store} has schema {to}")?,
    }
    Ok(0)
}

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    found: String,
    /// What to do about it; nothing when it is as it should be.
    advice: Option<String>,
}

impl Finding {
    fn good(what: &'static str, found: impl Into<String>) -> Finding {
        Finding { what, found: found.into(), advice: None }
    }

    fn bad(what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { what, found: found.into(), advice: Some(advice.into()) }
    }

    fn json(&self) -> Value {
        json!({"what": self.what, "found": self.found, "advice": self.advice})
    }
}

/// Looks at a store; gives 0 when it can be trusted with a journal, else 1.
///
/// # Errors
/// When it cannot be reached.
pub async fn doctor(args: &DatabaseArgs) -> anyhow::Result<u8> {
    let findings = match &args.store.address {
        StoreAddress::Postgres(address) => examine_postgres(address).await?,
        StoreAddress::Folder(folder) => examine_folder(&args.store, folder).await?,
    };
    let mut out = std::io::stdout().lock();
    if args.json {
        let findings: Vec<Value> = findings.iter().map(Finding::json).collect();
        writeln!(out, "{}", json!({"store": args.store.address.to_string(), "findings": findings}))?;
    } else {
        for finding in &findings {
            let mark = if finding.advice.is_some() { "BAD" } else { "ok" };
            writeln!(out, "{mark:<4} {:<12} {}", finding.what, finding.found)?;
            if let Some(advice) = &finding.advice {
                writeln!(out, "{:<17} {advice}", "")?;
            }
        }
    }
    Ok(u8::from(findings.iter().any(|finding| finding.advice.is_some())))
}

async fn examine_folder(store: &StoreArg, folder: &Path) -> anyhow::Result<Vec<Finding>> {
    let reader = store.reader().await?;
    let runs = reader.runs(u32::MAX).await?.len();
    Ok(vec![
        Finding::good("store", format!("{}, SQLite", folder.display())),
        Finding::good("schema", SqliteJournal::SCHEMA.to_string()),
        Finding::good("runs", runs.to_string()),
    ])
}

async fn examine_postgres(address: &PostgresAddress) -> anyhow::Result<Vec<Finding>> {
    let doctor = Doctor::examine(address).await?;
    let mut findings = vec![
        Finding::good("server", format!("PostgreSQL {}", doctor.server)),
        Finding::good("database", format!("{}, as {}", doctor.database, doctor.role)),
        schema(address, doctor.schema),
    ];
    if doctor.unsafe_settings.is_empty() {
        findings.push(Finding::good("durability", "fsync, full_page_writes and synchronous_commit are on"));
    }
    for (name, value) in &doctor.unsafe_settings {
        let advice = "what was acknowledged can be lost with the power: turn it on";
        findings.push(Finding::bad("durability", format!("{name} is {value}"), advice));
    }
    match doctor.can_write {
        Some(true) => findings.push(Finding::good("rights", "may append and read")),
        Some(false) => {
            let advice = format!("grant it: GRANT tribunal_app TO {:?}", doctor.role);
            findings.push(Finding::bad("rights", "may not append to the journal", advice));
        }
        None => {}
    }
    if doctor.could_change_events == Some(true) {
        // The triggers hold all the same, and a laptop has one role.
        let found = "only triggers keep this role from changing events; tribunal_app has no right to";
        findings.push(Finding::good("rights", found));
    }
    let clock = format!("this machine is {} ms ahead of the database", doctor.clock_ahead_ms);
    findings.push(match doctor.clock_ahead_ms.unsigned_abs() > CLOCK_AHEAD_MS_MAX {
        false => Finding::good("clock", clock),
        true => Finding::bad("clock", clock, "let both follow the same time server"),
    });
    findings.push(match doctor.horizon {
        None => Finding::good("feed", "nothing holds it back"),
        Some(horizon) => {
            let (pid, lag) = (horizon.pid, horizon.lag_ms);
            let who = match pid {
                0 => horizon.application,
                _ => format!("process {pid} {:?}", horizon.application),
            };
            let long = lag.map_or("a time that only pg_read_all_stats may know".into(), |lag| format!("{lag} ms"));
            let found = format!("held back for {long} by {who}");
            match lag.is_some_and(|lag| lag > HORIZON_LAG_MS_MAX) {
                false => Finding::good("feed", found),
                true if pid == 0 => Finding::bad("feed", found, "end it: COMMIT PREPARED or ROLLBACK PREPARED"),
                true => Finding::bad("feed", found, format!("end it: SELECT pg_terminate_backend({pid})")),
            }
        }
    });
    Ok(findings)
}

fn schema(address: &PostgresAddress, state: SchemaState) -> Finding {
    let migrate = format!("tribunal migrate --store {address}");
    match state {
        SchemaState::Current(version) => Finding::good("schema", version.to_string()),
        SchemaState::Missing => Finding::bad("schema", "none", migrate),
        SchemaState::Older(version) => Finding::bad("schema", format!("{version}, an older one"), migrate),
        SchemaState::Newer(version) => {
            Finding::bad("schema", format!("{version}, a newer one"), "use a newer tribunal")
        }
    }
}
