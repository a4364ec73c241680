//! Brokers: adapters of the broker port.

pub mod in_process;
pub mod rabbit;
