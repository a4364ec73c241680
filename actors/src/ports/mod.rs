//! Ports: what the shell needs of the world. Adapters in the package `tribunal`
//! implement them; nothing here does I/O.

pub mod broker;
pub mod chance;
pub mod evaluator;
pub mod journal;
pub mod target;
