//! The command line of Tribunal.

use std::process::ExitCode;

fn main() -> ExitCode {
    tribunal::cli::main()
}
