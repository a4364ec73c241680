//! Postgres: what only a server that many processes write can do, and what the
//! adapter owes to that. On real servers, started by the tests.

mod adapter;
pub(crate) mod cluster;
mod neighbours;
mod nemesis;
mod proxy;

pub(crate) use cluster::{Cluster, client};
