//! The supervisor actor: runs a duty, waits, restarts it when it dies.

use super::creation::Creation;
use super::dispatch::Dispatch;
use super::intents::{CancelFanOut, Judging};
use super::leases::Leases;
use super::outbox::Outbox;
use super::ready_sweep::ReadySweep;
use super::settlement::Settlement;
use super::{Again, Duty};
use crate::ports::broker::Broker;
use crate::shell::Shell;
use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Context, WrapFuture};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Deaths within [`DEATHS_WINDOW`] that end the process.
const DEATHS_MAX: usize = 3;
const DEATHS_WINDOW: Duration = Duration::from_secs(60);

/// The running supervisors.
pub struct Supervisors {
    stop: CancellationToken,
    fatal: mpsc::Receiver<&'static str>,
}

impl Supervisors {
    /// Waits until a supervisor has died three times in a minute; gives its name. Waits for
    /// ever while all is well.
    pub async fn died(&mut self) -> &'static str {
        match self.fatal.recv().await {
            Some(name) => name,
            None => std::future::pending().await,
        }
    }

    /// Asks all of them to stop after the page they are at, and waits for it.
    pub async fn stop(mut self) {
        self.stop.cancel();
        // The channel closes when the last supervisor has dropped its sender.
        while self.fatal.recv().await.is_some() {}
    }
}

/// Starts every supervisor on the current arbiter; their work runs on the tokio pool.
///
/// # Panics
/// Outside of an actix system.
pub fn start(shell: &Shell, broker: Arc<dyn Broker>) -> Supervisors {
    let stop = CancellationToken::new();
    let (fatal_sender, fatal) = mpsc::channel(16);
    let duties: Vec<Arc<dyn Duty>> = vec![
        Arc::new(Creation::new(shell.clone())),
        Arc::new(Dispatch::new(shell.clone())),
        Arc::new(Leases::new(shell.clone())),
        Arc::new(ReadySweep::new(shell.clone())),
        Arc::new(Outbox::new(shell.clone(), broker)),
        Arc::new(Settlement::new(shell.clone())),
        Arc::new(CancelFanOut::new(shell.clone())),
        Arc::new(Judging::new(shell.clone())),
    ];
    for duty in duties {
        let supervisor = Supervisor {
            duty,
            tick: shell.settings.tick.duration(),
            stop: stop.clone(),
            fatal: fatal_sender.clone(),
            deaths: 0,
        };
        supervisor.start();
    }
    Supervisors { stop, fatal }
}

struct Supervisor {
    duty: Arc<dyn Duty>,
    tick: Duration,
    stop: CancellationToken,
    fatal: mpsc::Sender<&'static str>,
    deaths: usize,
}

impl Actor for Supervisor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        self.watch(context);
    }
}

impl Supervisor {
    /// Runs the duty on the pool and watches it.
    fn watch(&mut self, context: &mut Context<Self>) {
        let work = tokio::spawn(work(self.duty.clone(), self.tick, self.stop.clone()));
        let watched = work.into_actor(self).map(|ended, this, context| match ended {
            Ok(()) => context.stop(),
            // Its runtime is going, and so are we.
            Err(death) if death.is_cancelled() => context.stop(),
            Err(death) => this.mourn(&death.to_string(), context),
        });
        context.spawn(watched);
    }

    fn mourn(&mut self, death: &str, context: &mut Context<Self>) {
        let name = self.duty.name();
        self.deaths += 1;
        tracing::error!(supervisor = name, deaths = self.deaths, death, "supervisor died");
        if self.deaths >= DEATHS_MAX {
            // Nobody may be listening any more when the process is going already.
            let _ = self.fatal.try_send(name);
            context.stop();
            return;
        }
        context.run_later(DEATHS_WINDOW, |this, _| this.deaths = this.deaths.saturating_sub(1));
        self.watch(context);
    }
}

/// The duty's loop: a page, then a hint, a tick or the end.
async fn work(duty: Arc<dyn Duty>, tick: Duration, stop: CancellationToken) {
    let mut failures = 0u32;
    while !stop.is_cancelled() {
        let wait = match duty.run_once().await {
            Ok(Again::AtOnce) => {
                failures = 0;
                tokio::task::yield_now().await;
                continue;
            }
            Ok(Again::Later) => {
                failures = 0;
                tick
            }
            Err(error) => {
                failures = failures.saturating_add(1);
                tracing::warn!(duty = duty.name(), failures, %error, "supervisor could not finish its page");
                Duration::from_millis(100u64 << failures.min(6))
            }
        };
        let hinted = async {
            // After a failure only time helps.
            if failures > 0 { std::future::pending().await } else { duty.hint().await }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = hinted => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}
