//! What is understood of a conversation: its language, what was asked last, and
//! which order and name were mentioned on the way.

use crate::agent::reply::Message;
use regex::Regex;
use std::sync::LazyLock;

static ORDER_ID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)\bKP-?\s?(\d{4})\b").expect("a fixed pattern"));
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:[Mm]y name is|[Tt]his is|[Mm]ein Name ist|[Ii]ch heiße)\s+(\p{Lu}[\p{L}-]+(?:\s\p{Lu}[\p{L}-]+)?)")
        .expect("a fixed pattern")
});

/// Words that German sentences are full of and English ones are not.
const GERMAN: [&str; 44] = [
    "ich", "sie", "mir", "mich", "mein", "meine", "meinen", "meiner", "deine", "ihr", "ihnen", "bitte", "danke", "wie",
    "wo", "wann", "welche", "ist", "und", "der", "die", "das", "den", "ein", "eine", "einen", "einem", "nicht", "kann",
    "möchte", "habe", "hat", "wurde", "gibt", "für", "mit", "auf", "auch", "noch", "schon", "zu", "von", "im", "um",
];

/// The languages of the desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// English, also where nothing says otherwise.
    English,
    /// German.
    German,
}

/// A conversation as the desk understands it.
#[derive(Debug)]
pub struct Talk {
    /// The last user message as it was written.
    pub said: String,
    /// The same in lower case.
    pub text: String,
    /// The language of the last user message.
    pub language: Language,
    /// The content of a tool result, if that is the last message.
    pub tool_result: Option<String>,
    user_messages: Vec<String>,
}

impl Talk {
    /// Understands a conversation.
    pub fn of(messages: &[Message]) -> Talk {
        let user_messages: Vec<String> = messages.iter().filter(|m| m.role == "user").map(Message::text).collect();
        let said = user_messages.last().cloned().unwrap_or_default();
        let text = said.to_lowercase();
        let language = language_of(&text);
        let tool_result = messages.last().filter(|message| message.role == "tool").map(Message::text);
        Talk { said, text, language, tool_result, user_messages }
    }

    /// Whether the last user message has any of these, written in lower case.
    pub fn says(&self, any: &[&str]) -> bool {
        any.iter().any(|words| self.text.contains(words))
    }

    /// One of two texts, by language.
    pub fn in_words<'a>(&self, english: &'a str, german: &'a str) -> &'a str {
        match self.language {
            Language::English => english,
            Language::German => german,
        }
    }

    /// The order that is talked about: the last one that the customer mentioned.
    pub fn order_id(&self) -> Option<String> {
        self.user_messages.iter().rev().find_map(|message| {
            let digits = ORDER_ID.captures_iter(message).last()?.get(1)?.as_str().to_string();
            Some(format!("KP-{digits}"))
        })
    }

    /// The name by which the customer introduced themselves, last.
    pub fn name(&self) -> Option<String> {
        let name = |message: &String| Some(NAME.captures(message)?.get(1)?.as_str().to_string());
        self.user_messages.iter().rev().find_map(name)
    }
}

fn language_of(text: &str) -> Language {
    let words = || text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let german = words().filter(|word| GERMAN.contains(word) || word.contains(['ä', 'ö', 'ü', 'ß'])).count();
    // One in six: an English sentence that quotes a German name stays English.
    if german > 0 && german * 6 >= words().count() { Language::German } else { Language::English }
}
