//! # The language of Tribunal
//!
//! Ids, units, events and everything else that is written down or sent: what
//! the other packages speak, and what an auditor reads years later. It decides
//! nothing and does no I/O.
//!
//! Read [`events`] for what can happen, [`envelope`] for how it is chained,
//! [`profile`] for what a run is made of and [`score`] for what comes out.

pub mod answer;
pub mod canonical;
pub mod case;
pub mod codec;
pub mod digest;
pub mod envelope;
pub mod evaluation;
pub mod events;
pub mod ids;
pub mod json;
pub mod profile;
pub mod score;
pub mod sql;
pub mod units;
pub mod view;
pub mod wire;

pub use digest::Digest;
