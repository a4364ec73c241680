//! Statements on their way: many are sent before the first answer comes, and
//! each answer is put to what sent it.

use super::error::Stop;
use deadpool_postgres::Object;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use tokio_postgres::types::ToSql;
use tribunal_schema::Digest;
use tribunal_schema::ids::RunId;

/// A value of a statement.
pub(super) type Value = Box<dyn ToSql + Sync + Send>;

/// A statement with its values, and what its answer must be.
pub(super) struct Statement {
    pub(super) text: &'static str,
    pub(super) values: Vec<Value>,
    /// What is wrong when it changes no row; `None` = nothing.
    pub(super) must_change: Option<String>,
    /// The blob that a run refers to, and that is missing when a foreign key says so.
    pub(super) refers_to: Option<(Digest, RunId)>,
}

impl Statement {
    pub(super) fn new(text: &'static str, values: Vec<Value>) -> Statement {
        Statement { text, values, must_change: None, refers_to: None }
    }
}

/// The values of a statement, boxed.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        vec![$(Box::new($value) as $crate::journal::postgres::statements::Value),*]
    };
}
pub(super) use values;

/// Sends statements one behind the other and waits for all answers: how many rows each changed.
/// After the first that fails, the server skips the rest.
pub(super) async fn execute_all(
    connection: &Object,
    statements: &[&Statement],
) -> Result<Vec<Result<u64, Stop>>, Stop> {
    let mut prepared = HashMap::new();
    for statement in statements {
        if !prepared.contains_key(statement.text) {
            prepared.insert(statement.text, connection.prepare_cached(statement.text).await?);
        }
    }
    let sent = statements.iter().map(|statement| {
        let prepared = &prepared[statement.text];
        let values: Vec<&(dyn ToSql + Sync)> = statement.values.iter().map(|value| value.as_ref() as _).collect();
        Box::pin(async move { connection.execute(prepared, &values).await.map_err(Stop::from) })
            as Pin<Box<dyn Future<Output = Result<u64, Stop>> + Send + '_>>
    });
    Ok(in_order(sent.collect()).await)
}

/// Polls all futures once, in order, before it waits for the first: what they send is sent in order.
async fn in_order<T>(mut futures: Vec<Pin<Box<dyn Future<Output = T> + Send + '_>>>) -> Vec<T> {
    let mut early: Vec<Option<T>> = Vec::with_capacity(futures.len());
    poll_fn(|context| {
        early.clear();
        for future in &mut futures {
            early.push(match future.as_mut().poll(context) {
                Poll::Ready(answer) => Some(answer),
                Poll::Pending => None,
            });
        }
        Poll::Ready(())
    })
    .await;
    let mut answers = Vec::with_capacity(futures.len());
    for (early, future) in early.into_iter().zip(futures) {
        answers.push(match early {
            Some(answer) => answer,
            None => future.await,
        });
    }
    answers
}
