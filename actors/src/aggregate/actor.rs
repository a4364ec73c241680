//! The actix actor: keeps the state of one stream between commands and takes
//! them one at a time. It holds nothing that its stream does not have; a panic or
//! a conflict costs a reload.

use super::execute::{CommandError, Done, Execute, execute};
use super::live::{Live, catch_up};
use crate::decider::Decider;
use crate::ports::journal::Journal;
use actix::{Actor, ActorFutureExt, AtomicResponse, Context, Handler, Message, WrapFuture};
use std::sync::Arc;
use tribunal_schema::ids::StreamId;

/// The one event-sourced actor.
pub(super) struct Aggregate<D: Decider> {
    journal: Arc<dyn Journal>,
    stream: StreamId,
    live: Option<Live<D>>,
}

impl<D: Decider> Aggregate<D> {
    pub(super) fn new(journal: Arc<dyn Journal>, stream: StreamId) -> Aggregate<D> {
        Aggregate { journal, stream, live: None }
    }
}

impl<D: Decider> Actor for Aggregate<D> {
    type Context = Context<Self>;
}

impl<D: Decider> Message for Execute<D> {
    type Result = Result<Done<D>, CommandError>;
}

impl<D: Decider> Handler<Execute<D>> for Aggregate<D> {
    type Result = AtomicResponse<Self, Result<Done<D>, CommandError>>;

    fn handle(&mut self, request: Execute<D>, _: &mut Context<Self>) -> Self::Result {
        let (journal, stream, live) = (self.journal.clone(), self.stream.clone(), self.live.take());
        let work = async move { execute(&*journal, &stream, live, request).await };
        AtomicResponse::new(Box::pin(work.into_actor(self).map(|(live, answer), this, _| {
            this.live = live;
            answer
        })))
    }
}

/// Asks for the state.
pub(super) struct Look<D: Decider>(std::marker::PhantomData<fn() -> D>);

impl<D: Decider> Look<D> {
    pub(super) fn new() -> Look<D> {
        Look(std::marker::PhantomData)
    }
}

impl<D: Decider> Message for Look<D> {
    type Result = Result<Live<D>, CommandError>;
}

impl<D: Decider> Handler<Look<D>> for Aggregate<D> {
    type Result = AtomicResponse<Self, Result<Live<D>, CommandError>>;

    fn handle(&mut self, _: Look<D>, _: &mut Context<Self>) -> Self::Result {
        let (journal, stream, live) = (self.journal.clone(), self.stream.clone(), self.live.take());
        let work = async move {
            // Another process may have moved the stream since.
            catch_up::<D>(&*journal, &stream, live.unwrap_or_default()).await
        };
        AtomicResponse::new(Box::pin(work.into_actor(self).map(|loaded, this, _| {
            this.live = loaded.as_ref().ok().cloned();
            loaded
        })))
    }
}
