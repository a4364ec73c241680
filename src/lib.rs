//! # Tribunal
//!
//! The world around the decisions: adapters, faces and their joints.

pub mod agent;
pub mod broker;
pub mod chance;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod evaluator;
pub mod journal;
pub mod replay;
pub mod report;
pub mod target;
