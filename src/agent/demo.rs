//! The demo's agent: the support desk of Kestrel & Pine, an invented shop for
//! outdoor gear.
//!
//! A real, small, deterministic agent: rules over the conversation, with an
//! order book, a price list and help articles in two languages. It has no idea
//! of the dataset that judges it, so it is right because it works, and wrong
//! where its rules end. Do not teach it the cases it fails: a report without a
//! failure shows nobody what a failure looks like.
//!
//! Rules are asked in a fixed order and the first that has something to say
//! speaks: safety before everything, an exact form (JSON, one word, a number)
//! before tools, tools before articles. Read [`desk`] for the rules, `talk` for
//! what is understood of a conversation, `shop` for what the shop knows.

mod desk;
mod shop;
mod talk;

use crate::agent::reply::{ChatRequest, Reply};
use shop::Shop;
use talk::Talk;

/// The demo's profile, as `examples/demo/profile.yaml` has it; its target's URL is a placeholder.
pub const PROFILE: &str = include_str!("../../examples/demo/profile.yaml");

/// The demo's dataset, as `examples/demo/dataset.jsonl` has it.
pub const DATASET: &str = include_str!("../../examples/demo/dataset.jsonl");

/// The support agent of the demo.
#[derive(Debug)]
pub struct DemoAgent {
    shop: Shop,
}

impl DemoAgent {
    /// The agent with the shop's books open.
    pub fn new() -> DemoAgent {
        DemoAgent { shop: Shop::open() }
    }

    /// What the agent says next in a conversation. Equal conversations, equal replies.
    pub fn reply(&self, request: &ChatRequest) -> Reply {
        let talk = Talk::of(&request.messages);
        let rules: [fn(&Shop, &Talk) -> Option<Reply>; 8] = [
            desk::tool_result,
            desk::unsafe_request,
            desk::json_form,
            desk::one_word,
            desk::price,
            desk::remembered,
            desk::deed,
            desk::article,
        ];
        rules.iter().find_map(|rule| rule(&self.shop, &talk)).unwrap_or_else(|| desk::at_a_loss(&talk))
    }
}

impl Default for DemoAgent {
    fn default() -> DemoAgent {
        DemoAgent::new()
    }
}
