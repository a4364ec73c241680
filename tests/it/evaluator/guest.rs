//! Guests by hand: core modules as text, with the canonical ABI written out and
//! the contract's WIT embedded. The numbers below are offsets of that ABI.

use std::fmt::Write;
use wit_component::{ComponentEncoder, StringEncoding};

/// Where the module keeps its description, its report, and free words.
const DESCRIPTION: u32 = 1024;
const EVALUATOR: u32 = 1056;
const MEASURES: u32 = 1088;
const WORDS: u32 = 1280;
/// The report that `evaluate` fills and returns: `result<report, failure>` in 56 bytes.
pub const REPORT: u32 = 4096;
/// Where a guest may write what it likes.
pub const SCRATCH: u32 = 8192;

/// A guest under construction: one evaluator, called like the guest.
pub struct Guest {
    name: String,
    evaluators: u32,
    schema: String,
    describe: String,
    evaluate: String,
    functions: String,
    logs: bool,
    pages: u32,
}

impl Guest {
    /// A guest whose `evaluate` does this; it must leave the address of its report.
    pub fn new(name: &str, evaluate: &str) -> Guest {
        Guest {
            name: name.into(),
            evaluators: 1,
            schema: "{}".into(),
            describe: format!("(i32.const {DESCRIPTION})"),
            evaluate: evaluate.into(),
            functions: String::new(),
            logs: false,
            pages: 4,
        }
    }

    /// Says `binary(true)` after doing something.
    pub fn yes_after(name: &str, deed: &str) -> Guest {
        Guest::new(name, &format!("{deed} (i32.store8 (i32.const {}) (i32.const 1)) (i32.const {REPORT})", REPORT + 24))
    }

    /// With functions, tables or globals of its own.
    pub fn with(mut self, functions: &str) -> Guest {
        self.functions = functions.into();
        self
    }

    /// With the import `$log (param level pointer length)`.
    pub fn logging(mut self) -> Guest {
        self.logs = true;
        self
    }

    /// With this many pages of memory.
    pub fn pages(mut self, pages: u32) -> Guest {
        self.pages = pages;
        self
    }

    /// With another `describe`.
    pub fn describing(mut self, describe: &str) -> Guest {
        self.describe = describe.into();
        self
    }

    /// With another number of evaluators, all but the first described by garbage.
    pub fn with_evaluators(mut self, count: u32) -> Guest {
        self.evaluators = count;
        self
    }

    /// With another schema of the configuration.
    pub fn with_schema(mut self, schema: &str) -> Guest {
        self.schema = schema.into();
        self
    }

    /// The component.
    pub fn component(&self) -> Vec<u8> {
        componentize(&wat::parse_str(self.module()).expect("a module"))
    }

    fn module(&self) -> String {
        let mut words = String::new();
        let mut word = |text: &str| {
            let at = WORDS + words.len() as u32;
            words.push_str(text);
            [at, text.len() as u32]
        };
        let (name, version, help, schema) = (word(&self.name), word("1.0.0"), word("a guest"), word(&self.schema));
        let description = [name[0], name[1], version[0], version[1], EVALUATOR, self.evaluators];
        let evaluator = [name[0], name[1], help[0], help[1], schema[0], schema[1], MEASURES, 2];
        // Two domains of 56 bytes: binary, and a number without bounds.
        let mut measures = [0u32; 28];
        measures[14] = 1;
        let import = if self.logs { r#"(import "$root" "log" (func $log (param i32 i32 i32)))"# } else { "" };
        format!(
            r#"(module
                {import}
                (memory (export "memory") {pages})
                (global $top (mut i32) (i32.const 65536))
                (data (i32.const {DESCRIPTION}) "{description}")
                (data (i32.const {EVALUATOR}) "{evaluator}")
                (data (i32.const {MEASURES}) "{measures}")
                (data (i32.const {WORDS}) "{words}")
                {functions}
                (func (export "cabi_realloc") (param i32 i32 $align i32) (param $size i32) (result i32) (local $at i32)
                    (local.set $at (i32.and
                        (i32.sub (i32.add (global.get $top) (local.get $align)) (i32.const 1))
                        (i32.sub (i32.const 0) (local.get $align))))
                    (global.set $top (i32.add (local.get $at) (local.get $size)))
                    (local.get $at))
                (func (export "describe") (result i32) {describe})
                (func (export "evaluate") (param $request i32) (result i32) {evaluate}))"#,
            pages = self.pages,
            description = bytes(&description),
            evaluator = bytes(&evaluator),
            measures = bytes(&measures),
            words = escaped(words.as_bytes()),
            functions = self.functions,
            describe = self.describe,
            evaluate = self.evaluate,
        )
        .replace("(param i32 i32 $align i32)", "(param i32 i32) (param $align i32)")
    }
}

/// Wraps a core module into a component of the contract's world.
fn componentize(module: &[u8]) -> Vec<u8> {
    let wit = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/wit");
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_path(wit).expect("the contract");
    let world = resolve.select_world(&[package], Some("evaluator")).expect("its world");
    let mut module = module.to_vec();
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)
        .expect("metadata");
    let mut encoder = ComponentEncoder::default();
    encoder.module(&module).expect("a module of the world").encode().expect("a component")
}

fn bytes(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    escaped(&bytes)
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "\\{byte:02x}").expect("a string takes everything");
        text
    })
}
