//! One process: adapters, supervisors and worker joined around a store.
//!
//! This is the embedded form: the store has one writing process, so whoever holds
//! its lock may revoke what dead ones held at once and publish everything ready
//! again. `submit` writes the plan of a run; `target` makes targets from profiles.

pub mod follow_up;
pub mod store;
pub mod submit;
mod target;

pub use target::Targets;

use self::store::OpenStore;
use crate::broker::in_process::InProcessBroker;
use crate::chance::SystemChance;
use crate::evaluator::Catalog;
use std::sync::Arc;
use tribunal_actors::aggregate::{CommandError, Directory, load};
use tribunal_actors::ports::broker::Broker;
use tribunal_actors::ports::journal::{Failure, JournalReader};
use tribunal_actors::run::{Run, RunState};
use tribunal_actors::shell::{Settings, Shell};
use tribunal_actors::supervise::{self, Supervisors};
use tribunal_actors::worker::{self, RunAdapters, Worker};
use tribunal_schema::ids::{RunId, StreamId};

/// The team of an embedded store's runs.
pub const TEAM: &str = "local";

/// What a run's events add up to, read without an actor.
///
/// # Errors
/// When the stream cannot be read.
pub async fn load_run(reader: &dyn JournalReader, run: RunId) -> Result<RunState, CommandError> {
    Ok(load::<Run>(reader, &StreamId::Run(run)).await?.state)
}

/// A process that works on a store.
pub struct Process {
    /// What its parts share.
    pub shell: Shell,
    supervisors: Supervisors,
    worker: Worker,
}

impl Process {
    /// Takes over a store and starts working on the run it is to focus on, or on every run in it.
    ///
    /// # Panics
    /// Outside of an actix system.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn start(
        opened: OpenStore,
        catalog: Arc<Catalog>,
        settings: Settings,
        lanes: Vec<String>,
        focus: Option<RunId>,
    ) -> Result<Process, Failure> {
        let OpenStore { journal, holder } = opened;
        let revoked = journal.leases_revoke_dead(holder).await?;
        if revoked > 0 {
            tracing::info!(leases = revoked, "leases of a dead process were revoked");
        }
        journal.ready_unpublish(None, focus).await?;
        let shell = Shell {
            directory: Directory::here(journal),
            chance: Arc::new(SystemChance),
            holder,
            team: TEAM.into(),
            settings: Arc::new(settings),
            focus: Arc::default(),
        };
        // Before anything works: what other runs have ready is not ours to start.
        if let Some(run) = focus {
            shell.focus_on(run);
        }
        let broker: Arc<dyn Broker> = Arc::new(InProcessBroker::new());
        let adapters = RunAdapters { targets: Arc::new(Targets), evaluators: catalog };
        let supervisors = supervise::start(&shell, broker.clone());
        let worker = worker::start(&shell, broker, adapters, lanes);
        Ok(Process { shell, supervisors, worker })
    }

    /// Waits until a supervisor keeps dying; gives its name.
    pub async fn died(&mut self) -> &'static str {
        self.supervisors.died().await
    }

    /// Finishes what is in flight, gives leases back, and stops.
    pub async fn wind_down(self) {
        self.worker.wind_down().await;
        self.supervisors.stop().await;
    }
}
