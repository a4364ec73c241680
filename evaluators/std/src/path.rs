//! Paths into JSON: the singular queries of RFC 9535, which name one place:
//! `$`, `.name`, `['any name']`, `[3]`, `[-1]`.

use serde_json::Value;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(i64),
}

/// A path to one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    steps: Vec<Step>,
    text: String,
}

impl Path {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<Path, String> {
        let wrong = |why: &str| {
            format!("{text:?} is not a path to one place such as $.total, $['unit price'] or $.items[0].id: {why}")
        };
        let mut rest = text.strip_prefix('$').ok_or_else(|| wrong("it must begin with $"))?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = step(rest).map_err(|why| wrong(&why))?;
            steps.push(step);
            rest = after;
        }
        Ok(Path { steps, text: text.into() })
    }

    /// The value there; `None` where there is none.
    pub fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.steps.iter().try_fold(value, |at, step| match step {
            Step::Name(name) => at.as_object()?.get(name),
            Step::Index(index) => {
                let list = at.as_array()?;
                let from_end = usize::try_from(index.unsigned_abs()).ok()?;
                list.get(if *index < 0 { list.len().checked_sub(from_end)? } else { from_end })
            }
        })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The first step of `rest` and what follows it.
fn step(rest: &str) -> Result<(Step, &str), String> {
    if let Some(rest) = rest.strip_prefix('.') {
        let end = rest.find(|c: char| !in_name(c)).unwrap_or(rest.len());
        let name = &rest[..end];
        return match name.chars().next() {
            Some(first) if !first.is_ascii_digit() => Ok((Step::Name(name.into()), &rest[end..])),
            Some(_) | None => Err("a name must follow the dot".into()),
        };
    }
    let inner =
        rest.strip_prefix('[').ok_or_else(|| format!("{rest:?} begins neither with a dot nor with a bracket"))?;
    match inner.chars().next() {
        Some(quote @ ('\'' | '"')) => quoted(&inner[1..], quote),
        Some(_) | None => {
            let (index, after) = inner.split_once(']').ok_or("a bracket is not closed")?;
            let index = index.trim().parse().map_err(|_| format!("{index:?} is not a place in a list"))?;
            Ok((Step::Index(index), after))
        }
    }
}

/// A quoted name after its opening quote; a backslash keeps the next character as it is.
fn quoted(rest: &str, quote: char) -> Result<(Step, &str), String> {
    let mut name = String::new();
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == quote {
            let after = &rest[at + 1..];
            let after = after.strip_prefix(']').ok_or("a bracket must close after the quote")?;
            return Ok((Step::Name(name), after));
        }
        let escaped = if character == '\\' { characters.next().map(|(_, next)| next) } else { Some(character) };
        name.push(escaped.ok_or("a quote is not closed")?);
    }
    Err("a quote is not closed".into())
}

fn in_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '-' || !character.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_leads_to_one_place() {
        let value = json!({"items": [{"id": 7}, {"id": 8}], "unit price": {"a.b": 1, "it's": 2}, "größe": 3});
        for (path, found) in [
            ("$.items[0].id", Some(json!(7))),
            ("$.items[-1].id", Some(json!(8))),
            ("$.items[2].id", None),
            ("$.items[-3]", None),
            ("$['unit price']['a.b']", Some(json!(1))),
            (r"$['unit price']['it\'s']", Some(json!(2))),
            ("$[\"items\"][1]['id']", Some(json!(8))),
            ("$.größe", Some(json!(3))),
            ("$.items.id", None),
            ("$[0]", None),
        ] {
            assert_eq!(Path::parse(path).expect(path).find(&value), found.as_ref(), "{path}");
        }
        assert_eq!(Path::parse("$").expect("root").find(&value), Some(&value));
    }

    #[test]
    fn what_is_no_path_to_one_place_is_refused() {
        for path in ["", "total", "$.", "$..a", "$.a[", "$.a[x]", "$['a'", "$['a", "$.a[*]", "$.1a", "$ .a"] {
            assert!(Path::parse(path).is_err(), "{path}");
        }
    }
}
