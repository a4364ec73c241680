//! What is written down: events, and the SQL that keeps them.

use super::source::{Problem, Source, line_of};

/// A float does not survive every database, language and printer unchanged.
pub fn no_float_in_an_event(source: &Source) -> Vec<Problem> {
    // The one door: a measurement arrives as a float and leaves as decimal text.
    if !source.is_in("schema/src") || source.path == "schema/src/json.rs" {
        return Vec::new();
    }
    let words = source.words().filter(|(_, word)| matches!(*word, "f32" | "f64"));
    words
        .map(|(line, word)| {
            Problem::at(
                &source.path,
                line,
                format!("`{word}` in the language: events carry ppm, milliseconds and decimal text"),
            )
        })
        .collect()
}

/// SQL text lives in `schema/sql`, where both adapters and an auditor find it.
pub fn sql_lives_in_schema(source: &Source) -> Vec<Problem> {
    if source.is_in("schema") {
        return Vec::new();
    }
    let sql = source.strings.iter().filter(|(_, literal)| is_sql(literal));
    sql.map(|(line, _)| {
        Problem::at(&source.path, *line, "an SQL statement in Rust: it lives in schema/sql, one file each")
    })
    .collect()
}

fn is_sql(literal: &str) -> bool {
    let words: Vec<&str> = literal.split_whitespace().collect();
    let Some(first) = words.first() else { return false };
    let second = words.get(1).copied().unwrap_or_default();
    let has = |word: &str| words.contains(&word);
    match *first {
        "SELECT" | "WITH" => words.len() > 1,
        "INSERT" | "REPLACE" => has("INTO"),
        "DELETE" => second == "FROM",
        "UPDATE" => has("SET"),
        "CREATE" | "DROP" | "ALTER" => matches!(second, "TABLE" | "INDEX" | "TRIGGER" | "VIEW" | "UNIQUE"),
        "select" => has("from"),
        "insert" => second == "into",
        "delete" => second == "from" && words.len() <= 8 && has("where"),
        _ => false,
    }
}

/// Events are appended: no statement changes or removes one.
pub fn events_are_append_only(path: &str, sql: &str) -> Vec<Problem> {
    let code = without_sql_comments(sql);
    let words: Vec<(usize, String)> = sql_words(&code);
    let word = |index: usize| words.get(index).map_or("", |(_, word)| word.as_str());
    let mut problems = Vec::new();
    for (index, (offset, first)) in words.iter().enumerate() {
        let breach = match first.as_str() {
            "UPDATE" => word(index + 1) == "EVENTS",
            "DELETE" | "REPLACE" => matches!(word(index + 1), "FROM" | "INTO") && word(index + 2) == "EVENTS",
            // `TRUNCATE ON events` is a trigger that refuses it, or a right that is taken away.
            "TRUNCATE" => word(index + 1) == "EVENTS" || (word(index + 1) == "TABLE" && word(index + 2) == "EVENTS"),
            "DROP" => word(index + 1) == "TABLE" && (word(index + 2) == "EVENTS" || word(index + 4) == "EVENTS"),
            _ => false,
        };
        if breach {
            problems.push(Problem::at(
                path,
                line_of(&code, *offset),
                "changes or removes events: they are append-only",
            ));
        }
    }
    problems.extend(upserts(path, &words, &code));
    problems.extend(unguarded_table(path, &words));
    problems
}

/// An `INSERT INTO events ... ON CONFLICT DO UPDATE` changes an event by the back door.
fn upserts(path: &str, words: &[(usize, String)], code: &str) -> Vec<Problem> {
    let text: Vec<&str> = words.iter().map(|(_, word)| word.as_str()).collect();
    let into_events = text.windows(2).position(|pair| pair == ["INTO", "EVENTS"]);
    let update = text.windows(2).position(|pair| pair == ["DO", "UPDATE"]);
    match (into_events, update) {
        (Some(_), Some(index)) => {
            vec![Problem::at(path, line_of(code, words[index].0), "an upsert of events: they are append-only")]
        }
        _ => Vec::new(),
    }
}

/// Where the table is made, the database is told to refuse UPDATE and DELETE.
fn unguarded_table(path: &str, words: &[(usize, String)]) -> Vec<Problem> {
    let text: Vec<&str> = words.iter().map(|(_, word)| word.as_str()).collect();
    let made = text.windows(3).any(|three| three == ["CREATE", "TABLE", "EVENTS"])
        || text.windows(6).any(|six| six == ["CREATE", "TABLE", "IF", "NOT", "EXISTS", "EVENTS"]);
    let refused = |deed: &str| {
        text.windows(4).any(|four| four[0] == "BEFORE" && four.contains(&deed))
            && text.windows(2).any(|pair| pair == ["ON", "EVENTS"])
    };
    let missing = ["UPDATE", "DELETE"].into_iter().filter(|deed| made && !refused(deed));
    missing
        .map(|deed| Problem::at(path, 1, format!("the table events is made without a trigger that refuses {deed}")))
        .collect()
}

fn without_sql_comments(sql: &str) -> String {
    sql.lines().map(|line| line.split("--").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn sql_words(code: &str) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (offset, c) in code.char_indices() {
        let is_word = c.is_alphanumeric() || c == '_';
        match (is_word, open) {
            (true, false) => words.push((offset, c.to_ascii_uppercase().to_string())),
            (true, true) => words.last_mut().expect("a word is open").1.push(c.to_ascii_uppercase()),
            (false, _) => {}
        }
        open = is_word;
    }
    words
}

/// The `category.type` and version of each line of the `events!` tables.
pub fn event_types(events: &[&Source]) -> Vec<(String, String)> {
    let lines = events.iter().flat_map(|source| source.text.lines());
    let declared = lines.filter_map(|line| {
        let (head, rest) = line.trim().split_once(") = \"")?;
        let (event_type, version) = rest.split_once("\" v ")?;
        head.contains('(').then(|| (event_type.to_string(), version.trim_end_matches(',').to_string()))
    });
    declared.collect()
}

#[cfg(test)]
mod proofs {
    use super::*;

    #[test]
    fn a_float_in_the_language_is_found() {
        assert_eq!(no_float_in_an_event(&Source::new("schema/src/score.rs", "pub struct S(f64);")).len(), 1);
        assert_eq!(no_float_in_an_event(&Source::new("schema/src/score.rs", "/// f64\npub struct S(u32);")).len(), 0);
    }

    #[test]
    fn sql_in_rust_is_found_and_prose_is_not() {
        for literal in [
            "SELECT 1",
            "\\n  INSERT INTO a VALUES (1)",
            "UPDATE a SET b = 1",
            "DELETE FROM a",
            "CREATE TABLE a (b)",
            "select a from b",
        ] {
            let text = format!("fn a() {{ run(\"{}\") }}", literal.replace("\\n", "\n"));
            assert_eq!(sql_lives_in_schema(&Source::new("src/journal/mod.rs", text)).len(), 1, "{literal}");
        }
        for literal in ["select one of the runs", "update the profile", "SELECT", "Create a run"] {
            let text = format!("fn a() {{ say(\"{literal}\") }}");
            assert_eq!(sql_lives_in_schema(&Source::new("src/cli/mod.rs", text)).len(), 0, "{literal}");
        }
    }

    #[test]
    fn a_statement_that_changes_events_is_found() {
        for sql in [
            "UPDATE events SET team = 'x';",
            "delete from events where 1",
            "TRUNCATE TABLE events",
            "INSERT OR REPLACE INTO events VALUES (1)",
            "INSERT INTO events VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 1",
        ] {
            assert_eq!(events_are_append_only("a.sql", sql).len(), 1, "{sql}");
        }
        for sql in [
            "INSERT INTO events VALUES (1);",
            "-- DELETE FROM events\nSELECT 1",
            "DELETE FROM events_of_day",
            "REVOKE TRUNCATE ON events FROM a",
            "UPDATE leases SET term = 1",
        ] {
            assert_eq!(events_are_append_only("a.sql", sql).len(), 0, "{sql}");
        }
    }

    #[test]
    fn a_table_of_events_without_its_triggers_is_found() {
        let table = "CREATE TABLE events (a);";
        let update = "CREATE TRIGGER a BEFORE UPDATE ON events BEGIN SELECT 1; END;";
        let delete = "CREATE TRIGGER b BEFORE DELETE ON events BEGIN SELECT 1; END;";
        assert_eq!(events_are_append_only("a.sql", table).len(), 2);
        assert_eq!(events_are_append_only("a.sql", &format!("{table}{update}")).len(), 1);
        assert_eq!(events_are_append_only("a.sql", &format!("{table}{update}{delete}")).len(), 0);
    }

    #[test]
    fn the_lines_of_the_event_tables_are_found() {
        let source = Source::new("a.rs", "events!(\n  Started(RunStarted) = \"run.started\" v 1,\n);");
        assert_eq!(event_types(&[&source]), [("run.started".to_string(), "1".to_string())]);
    }
}
