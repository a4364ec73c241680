//! # The decisions of Tribunal and their one shell
//!
//! Pure deciders say what happens: [`run`], [`chunk`], [`attempt`], with
//! [`policy`] and [`verdict`]. One generic actor makes it happen: [`aggregate`].
//! [`supervise`] and [`worker`] drive the work over [`ports`], which the package
//! `tribunal` implements.
//!
//! Deciders import `schema` and the standard library only: no clock, no random,
//! no I/O. Read [`decider`] first.

pub mod aggregate;
pub mod attempt;
pub mod chunk;
pub mod decider;
pub mod mutant;
pub mod operator;
pub mod policy;
pub mod ports;
pub mod run;
pub mod shell;
pub mod supervise;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod verdict;
pub mod worker;
