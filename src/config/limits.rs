//! The limits on what is read, so that no file can take a machine down. Every
//! refusal states the limit it rests on.

/// The largest dataset that is read line by line (JSONL, CSV), in bytes.
pub const STREAMED_FILE_BYTES_MAX: u64 = 16 << 30;
/// The largest JSON dataset, in bytes: its text is held while its cases are made.
pub const JSON_FILE_BYTES_MAX: u64 = 512 << 20;
/// The largest YAML dataset, in bytes: text and tree are held together.
pub const YAML_FILE_BYTES_MAX: u64 = 64 << 20;
/// The largest profile, in bytes.
pub const PROFILE_FILE_BYTES_MAX: u64 = 1 << 20;
/// The longest JSONL line or CSV record, in bytes.
pub const RECORD_BYTES_MAX: usize = 16 << 20;
/// The most cases of a dataset.
pub const CASES_MAX: usize = 1_000_000;
/// How deep a case may nest, its own object counted as 1. The journal's JSON
/// reader stops at 128; the rest is room for what a case is wrapped in.
pub const DEPTH_MAX: usize = 100;
/// How much a YAML file may grow by its aliases, in bytes of tree.
pub const ALIAS_BYTES_MAX: usize = 16 << 20;
/// The longest id, group, task type, tag, dimension or binding id, in bytes.
pub const NAME_BYTES_MAX: usize = 256;

/// A byte count as people write it.
pub fn bytes(count: u64) -> String {
    match count {
        _ if count >= 1 << 30 && count.is_multiple_of(1 << 30) => format!("{} GiB", count >> 30),
        _ if count >= 1 << 20 && count.is_multiple_of(1 << 20) => format!("{} MiB", count >> 20),
        _ if count >= 1 << 10 && count.is_multiple_of(1 << 10) => format!("{} KiB", count >> 10),
        _ => format!("{count} bytes"),
    }
}
