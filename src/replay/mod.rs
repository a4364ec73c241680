//! Replay: the proof of a run, by somebody who does not trust us.
//!
//! [`verify`] reads the journal and nothing else. It calls no agent, runs no
//! evaluator and writes nothing: there is a reader and the deciders, and no way
//! from here to cause anything. It stops at the first thing that breaks and says
//! where it is and which promise it breaks.
//!
//! | module | asks |
//! |---|---|
//! | `walk` | of one stream: versions, event ids, digest chain, is each event allowed |
//! | `run` | root, tally and verdict, from the plan and the accepted chunks |
//! | `chunk` | the pins of a chunk's ends, its tally, its cases, what it says of its attempts |
//! | `attempt` | that each attempt is what its chunk says, and its judgment follows from its outcomes |
//! | `views` | the rows that people read, against a fold of the events |
//!
//! Memory holds one chunk and its attempts at a time, beside the heads of the
//! run's streams (a version and a digest each) and what waits in quarantine.
//!
//! What the proof does not cover it names: streams that nothing pins and tails
//! behind pins are listed as unpinned. They keep their chains; somebody who can
//! write to the database could cut them off unseen. Instants and positions are
//! the database's word and are not digested.

mod attempt;
mod chunk;
mod run;
mod verification;
mod verify;
mod views;
mod walk;

#[cfg(test)]
mod tests;

pub use verification::{Breach, Break, Proof, Seen, Unpinned, UnpinnedTail, Verification};
pub use verify::{Advance, verify, verify_watched};
