//! What the shop knows: orders, prices and help articles, from the data files
//! beside the demo's dataset.

use crate::agent::demo::talk::Language;
use serde::Deserialize;

const ORDERS: &str = include_str!("../../../examples/demo/orders.json");
const SHOP: &str = include_str!("../../../examples/demo/shop.json");
const HELP: &str = include_str!("../../../examples/demo/help.json");

/// The shop's books.
#[derive(Debug)]
pub struct Shop {
    orders: Vec<Order>,
    articles: Vec<Article>,
    /// Prices and terms.
    pub terms: Terms,
}

/// One order.
#[derive(Debug, Deserialize)]
pub struct Order {
    /// `KP-` and four digits.
    pub id: String,
    /// `processing`, `shipped`, `delivered`, `cancelled`.
    pub status: String,
    /// Who carries it, once shipped.
    pub carrier: Option<String>,
    /// The carrier's number for it.
    pub tracking: Option<String>,
    /// Whole days, once delivered.
    pub days_since_delivery: Option<u32>,
    /// In euros, as it is written in the book.
    pub total: serde_json::Number,
}

/// Prices and terms; money in euros.
#[derive(Debug, Deserialize)]
pub struct Terms {
    shipping: f64,
    free_shipping_from: f64,
    /// How long after the delivery an order can be refunded.
    pub return_days: u32,
    /// What is sold.
    pub products: Vec<Product>,
}

/// Something that is sold.
#[derive(Debug, Deserialize)]
pub struct Product {
    /// What customers call it, in lower case.
    pub words: Vec<String>,
    /// In euros.
    pub price: f64,
}

impl Terms {
    /// What an order of this value costs with shipping.
    pub fn with_shipping(&self, value: f64) -> f64 {
        if value >= self.free_shipping_from { value } else { value + self.shipping }
    }
}

/// A help article.
#[derive(Debug, Deserialize)]
struct Article {
    words: Vec<String>,
    en: String,
    de: String,
}

impl Shop {
    /// Opens the books.
    pub fn open() -> Shop {
        Shop {
            orders: serde_json::from_str(ORDERS).expect("the order book is embedded and tested"),
            articles: serde_json::from_str(HELP).expect("the help articles are embedded and tested"),
            terms: serde_json::from_str(SHOP).expect("the price list is embedded and tested"),
        }
    }

    /// The order of this id.
    pub fn order(&self, id: &str) -> Option<&Order> {
        self.orders.iter().find(|order| order.id == id)
    }

    /// The article with most of its words in the text, the first of equals; `None` when no word is in it.
    pub fn article(&self, text: &str, language: Language) -> Option<&str> {
        let hits = |article: &Article| article.words.iter().filter(|word| text.contains(word.as_str())).count();
        let best = self.articles.iter().rev().max_by_key(|article| hits(article))?;
        (hits(best) > 0).then_some(match language {
            Language::English => &best.en,
            Language::German => &best.de,
        })
    }
}
