//! `componentize CORE.wasm COMPONENT.wasm`: wraps a core module, as the linker
//! made it, into a component. The module carries its WIT in a custom section.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use wit_component::ComponentEncoder;

fn main() -> Result<()> {
    let [core, component] = arguments()?;
    let module = std::fs::read(&core).with_context(|| format!("cannot read {}", core.display()))?;
    let wrapped = ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .and_then(|encoder| encoder.encode())
        .with_context(|| format!("{} cannot be made a component", core.display()))?;
    std::fs::write(&component, wrapped).with_context(|| format!("cannot write {}", component.display()))
}

fn arguments() -> Result<[PathBuf; 2]> {
    let given: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    match given.try_into() {
        Ok(paths) => Ok(paths),
        Err(_) => bail!("usage: componentize CORE.wasm COMPONENT.wasm"),
    }
}
