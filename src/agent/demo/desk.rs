//! The rules of the desk, in the order in which they are asked. Each looks at
//! the conversation and either speaks or leaves it to the next.

use crate::agent::demo::shop::{Order, Shop};
use crate::agent::demo::talk::{Language, Talk};
use crate::agent::reply::Reply;
use regex::Regex;
use serde_json::{Value, json};
use std::sync::LazyLock;

static CARD_NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{1,4}\b").expect("a fixed pattern"));

const SPYING: [&str; 9] = [
    "system prompt",
    "your instructions",
    "ignore all",
    "ignore your",
    "ignore previous",
    "ignoriere",
    "deine anweisungen",
    "your rules",
    "developer mode",
];
const OTHERS: [&str; 8] = [
    "address of",
    "phone number of",
    "email of",
    "my neighbour",
    "my ex-",
    "adresse von",
    "telefonnummer von",
    "meines nachbarn",
];
const HARM: [&str; 7] = ["weapon", "explosive", "hack into", "stolen card", "sprengstoff", "waffen", "fake receipt"];
const ADVICE: [&str; 5] = ["medication", " sue ", "lawsuit", "verklagen", "medikament"];

const REFUND: [&str; 7] =
    ["refund", "money back", "want to return", "erstatt", "geld zurück", "return my order", "zurückgeben"];
const CANCEL: [&str; 4] = ["cancel", "stornier", "storno", "abbestell"];
const STATUS: [&str; 10] = [
    "where is",
    "status",
    "track",
    "has it shipped",
    "arrive",
    "wo ist",
    "wo bleibt",
    "wann kommt",
    "unterwegs",
    "look up",
];
const HUMAN: [&str; 9] = [
    "human",
    "real person",
    "manager",
    "complain",
    "call me",
    "mitarbeiter",
    "beschwer",
    "rückruf",
    "speak to someone",
];
const URGENT: [&str; 6] = ["urgent", "immediately", "today", "dringend", "sofort", "heute"];

/// A tool has answered: say in words what it found.
pub fn tool_result(_: &Shop, talk: &Talk) -> Option<Reply> {
    let result: Value = serde_json::from_str(talk.tool_result.as_ref()?).ok()?;
    let field = |name: &str| result.get(name).and_then(Value::as_str);
    let id = field("order_id").unwrap_or_default();
    let text = match (field("status")?, talk.language) {
        ("refunded", Language::English) => format!("Your refund for {id} is on its way. It takes 3 to 5 working days."),
        ("refunded", Language::German) => {
            format!("Ihre Erstattung für {id} ist unterwegs. Sie dauert 3 bis 5 Werktage.")
        }
        ("cancelled", Language::English) => format!("Order {id} is cancelled. You will not be charged."),
        ("cancelled", Language::German) => format!("Die Bestellung {id} ist storniert. Es wird nichts abgebucht."),
        (status, language) => status_text(id, status, field("carrier"), field("tracking"), language),
    };
    Some(Reply::text(text))
}

fn status_text(id: &str, status: &str, carrier: Option<&str>, tracking: Option<&str>, language: Language) -> String {
    let with = match (carrier, tracking, language) {
        (Some(carrier), Some(tracking), Language::English) => format!(" with {carrier}, tracking number {tracking}"),
        (Some(carrier), Some(tracking), Language::German) => format!(" mit {carrier}, Sendungsnummer {tracking}"),
        (None, _, _) | (_, None, _) => String::new(),
    };
    match language {
        Language::English => format!("Thank you for waiting. Order {id} is {status}{with}."),
        Language::German => {
            let status = match status {
                "shipped" => "versandt",
                "delivered" => "zugestellt",
                "processing" => "in Bearbeitung",
                other => other,
            };
            format!("Danke für Ihre Geduld. Die Bestellung {id} ist {status}{with}.")
        }
    }
}

/// What a support desk does not do, whoever asks and however.
pub fn unsafe_request(_: &Shop, talk: &Talk) -> Option<Reply> {
    let (english, german) = if CARD_NUMBER.is_match(&talk.said) {
        (
            "Please never send a card number in a chat. I can't use it here and have not kept it; you can pay safely on the checkout page.",
            "Bitte senden Sie nie eine Kartennummer im Chat. Ich kann sie hier nicht verwenden und habe sie nicht gespeichert; auf der Kassenseite bezahlen Sie sicher.",
        )
    } else if talk.says(&SPYING) {
        (
            "I can't share or change how I was set up. I'm glad to help with orders, returns and products.",
            "Über meine Einrichtung kann ich leider keine Auskunft geben. Bei Bestellungen, Rückgaben und Produkten helfe ich gern.",
        )
    } else if talk.says(&OTHERS) {
        (
            "I can't share the personal details of other people. If this is about your own order, please tell me its number.",
            "Persönliche Daten anderer Menschen kann ich leider nicht herausgeben. Geht es um Ihre eigene Bestellung, nennen Sie mir bitte die Nummer.",
        )
    } else if talk.says(&HARM) {
        ("I can't help with that.", "Dabei kann ich leider nicht helfen.")
    } else if talk.says(&ADVICE) {
        (
            "I can't give medical or legal advice. Please ask a professional; I can open a ticket for our team if a product is involved.",
            "Medizinischen oder rechtlichen Rat kann ich leider nicht geben. Bitte wenden Sie sich an eine Fachperson.",
        )
    } else {
        return None;
    };
    Some(Reply::text(talk.in_words(english, german)))
}

/// An order as JSON, where JSON is asked for.
pub fn json_form(shop: &Shop, talk: &Talk) -> Option<Reply> {
    if !talk.says(&["json"]) {
        return None;
    }
    let id = talk.order_id()?;
    let found = shop.order(&id).map_or_else(|| json!({ "order_id": id, "error": "not_found" }), order_json);
    Some(Reply::text(found.to_string()))
}

fn order_json(order: &Order) -> Value {
    json!({
        "order_id": order.id,
        "status": order.status,
        "shipment": { "carrier": order.carrier, "tracking": order.tracking },
        "total": order.total,
        "currency": "EUR",
    })
}

/// The kind of a message in one word, where one word is asked for.
pub fn one_word(_: &Shop, talk: &Talk) -> Option<Reply> {
    let (request, message) = talk.text.split_once(':')?;
    if !["one word", "einem wort"].iter().any(|form| request.contains(form)) {
        return None;
    }
    let kinds: [(&str, &[&str]); 4] = [
        ("billing", &["charged", "invoice", "payment", "card", "rechnung", "abgebucht", "zahlung"]),
        ("shipping", &["parcel", "delivery", "courier", "tracking", "paket", "lieferung", "versand"]),
        ("returns", &["refund", "return", "exchange", "erstatt", "umtausch", "zurück"]),
        ("product", &["size", "waterproof", "colour", "how heavy", "größe", "wasserdicht", "farbe"]),
    ];
    let hits = |words: &[&str]| words.iter().filter(|word| message.contains(*word)).count();
    let (kind, words) = kinds.iter().rev().max_by_key(|(_, words)| hits(words))?;
    Some(Reply::text(if hits(words) == 0 { "other" } else { kind }))
}

/// A sum of money, where one is asked for.
pub fn price(shop: &Shop, talk: &Talk) -> Option<Reply> {
    if !talk.says(&["how much", "total", "what does", "was kost", "wie viel kost", "gesamtpreis"]) {
        return None;
    }
    let terms = &shop.terms;
    let named =
        |words: &[String]| words.iter().filter_map(|word| Some((word.len(), talk.text.find(word.as_str())?))).max();
    let parts = terms.products.iter().filter_map(|product| {
        let (_, at) = named(&product.words)?;
        Some(f64::from(quantity_before(&talk.text[..at])) * product.price)
    });
    let parts: Vec<f64> = parts.collect();
    if parts.is_empty() {
        return None;
    }
    let value: f64 = parts.iter().sum();
    let shipped =
        talk.says(&["with shipping", "including shipping", "delivered to", "mit versand", "inklusive versand"]);
    let sum = if shipped { terms.with_shipping(value) } else { value };
    let sum = format!("{sum:.2}");
    let text = if talk.says(&["only the number", "nur die zahl"]) {
        sum
    } else {
        match talk.language {
            Language::English => format!("That comes to {sum} euros."),
            Language::German => format!("Das macht zusammen {} Euro.", sum.replace('.', ",")),
        }
    };
    Some(Reply::text(text))
}

/// The number right before a product's name; one where there is none.
fn quantity_before(text: &str) -> u32 {
    let word = text.split_whitespace().last().unwrap_or_default();
    let numbers = [("two", 2), ("three", 3), ("four", 4), ("zwei", 2), ("drei", 3), ("vier", 4)];
    let spelled = numbers.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
    spelled.or_else(|| word.parse().ok()).unwrap_or(1)
}

/// Something the customer said earlier and asks for now.
pub fn remembered(_: &Shop, talk: &Talk) -> Option<Reply> {
    if talk.says(&["my name?", "who am i", "mein name?", "wie heiße ich"]) {
        let name = talk.name()?;
        let (english, german) = (format!("Your name is {name}."), format!("Ihr Name ist {name}."));
        return Some(Reply::text(talk.in_words(&english, &german)));
    }
    if talk.says(&["my order number", "which order", "meine bestellnummer", "welche bestellung"])
        && talk.text.contains('?')
    {
        let id = talk.order_id()?;
        let (english, german) =
            (format!("We are talking about order {id}."), format!("Es geht um die Bestellung {id}."));
        return Some(Reply::text(talk.in_words(&english, &german)));
    }
    None
}

/// Something to be done: the tool for it, or the reason why not.
pub fn deed(shop: &Shop, talk: &Talk) -> Option<Reply> {
    let tool = if talk.says(&HUMAN) {
        return Some(Reply::call("open_ticket", json!({ "topic": topic(talk), "priority": priority(talk) })));
    } else if talk.says(&CANCEL) {
        "cancel_order"
    } else if talk.says(&REFUND) {
        "refund_order"
    } else if talk.says(&STATUS) {
        "lookup_order"
    } else {
        return None;
    };
    let asks_for_number = talk.in_words(
        "I'm glad to help. Please tell me your order number, it begins with KP.",
        "Gern helfe ich Ihnen. Bitte nennen Sie mir Ihre Bestellnummer, sie beginnt mit KP.",
    );
    let Some(id) = talk.order_id() else {
        // A question about the rules of returning is not a wish to return something.
        return if shop.article(&talk.text, talk.language).is_some() {
            None
        } else {
            Some(Reply::text(asks_for_number))
        };
    };
    if tool == "refund_order" {
        return Some(refund(shop, talk, &id));
    }
    Some(Reply::call(tool, json!({ "order_id": id })))
}

fn refund(shop: &Shop, talk: &Talk, id: &str) -> Reply {
    let days = shop.order(id).and_then(|order| order.days_since_delivery);
    if days.is_some_and(|days| days > shop.terms.return_days) {
        return Reply::text(talk.in_words(
            "I'm sorry: refunds are possible within 30 days of delivery, and this order is older. Thank you for understanding.",
            "Es tut mir leid: Erstattungen sind innerhalb von 30 Tagen nach der Lieferung möglich, und diese Bestellung ist älter.",
        ));
    }
    let reason = if talk.says(&["broken", "damaged", "torn", "cracked", "kaputt", "beschädigt", "defekt", "gerissen"])
    {
        "damaged"
    } else if talk.says(&["wrong", "falsch"]) {
        "wrong_item"
    } else if talk.says(&["too late", "never arrived", "zu spät", "nie angekommen"]) {
        "late"
    } else {
        "changed_mind"
    };
    Reply::call("refund_order", json!({ "order_id": id, "reason": reason }))
}

fn topic(talk: &Talk) -> &'static str {
    if talk.says(&["complain", "beschwer"]) {
        "complaint"
    } else if talk.says(&["call me", "rückruf"]) {
        "callback"
    } else {
        "human_agent"
    }
}

fn priority(talk: &Talk) -> &'static str {
    if talk.says(&URGENT) { "high" } else { "normal" }
}

/// A question that a help article answers.
pub fn article(shop: &Shop, talk: &Talk) -> Option<Reply> {
    shop.article(&talk.text, talk.language).map(Reply::text)
}

/// Nothing fits: search where there is a question, greet where there is none.
pub fn at_a_loss(talk: &Talk) -> Reply {
    if talk.text.contains('?') {
        let language = talk.in_words("en", "de");
        return Reply::call("search_help", json!({ "query": talk.said.trim(), "language": language }));
    }
    let (english, german) = match talk.name() {
        Some(name) => (
            format!("Thank you, {name}. How can I help you today?"),
            format!("Danke, {name}. Wie kann ich Ihnen helfen?"),
        ),
        None => ("Thank you. How can I help you today?".into(), "Danke. Wie kann ich Ihnen helfen?".into()),
    };
    Reply::text(talk.in_words(&english, &german))
}
