//! The command line through a pipe: codes, streams, words, and what each flag does.

mod codes;
mod flags;
mod resume;
mod vacuous;
mod wrong_input;
