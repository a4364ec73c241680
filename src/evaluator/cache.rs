//! The cache of compiled components: one file a component and kind of engine,
//! named by both. Machine code is only as good as the file it comes from, so
//! the file begins with the digest of the rest: one that was cut, changed or
//! half written is compiled anew. Losing the folder costs time and nothing else.
//!
//! The digest guards against accidents, not against whoever may write to the
//! folder; that is why it is made readable and writable for its owner only.

use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tribunal_schema::Digest;
use tribunal_schema::digest::Digester;
use wasmtime::Engine;

const DIGEST_BYTES: usize = 32;

/// A folder of compiled components.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// A cache in a folder, which is made when it is first written to; `None` caches nothing.
    pub fn new(folder: Option<PathBuf>) -> Cache {
        Cache { folder: folder.map(|folder| folder.join("components")) }
    }

    /// The folder of this user: `$XDG_CACHE_HOME/tribunal`, else `~/.cache/tribunal`.
    pub fn default_folder() -> Option<PathBuf> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        Some(base?.join("tribunal"))
    }

    /// The compiled form of a component for an engine, if it is there and whole.
    pub fn load(&self, component: &Digest, engine: &Engine) -> Option<Vec<u8>> {
        let path = self.path(component, engine)?;
        let mut bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "compiled component cannot be read, compiling it again");
                return None;
            }
        };
        let whole = bytes.len() > DIGEST_BYTES && *Digest::of(&bytes[DIGEST_BYTES..]).bytes() == bytes[..DIGEST_BYTES];
        if !whole {
            tracing::warn!(path = %path.display(), "compiled component is damaged, compiling it again");
            return None;
        }
        bytes.drain(..DIGEST_BYTES);
        Some(bytes)
    }

    /// Keeps a compiled form. A folder that cannot be written to costs a warning.
    pub fn store(&self, component: &Digest, engine: &Engine, compiled: &[u8]) {
        let Some(path) = self.path(component, engine) else { return };
        if let Err(error) = write_whole(&path, compiled) {
            tracing::warn!(path = %path.display(), %error, "compiled component cannot be cached");
        }
    }

    /// Where the compiled form of a component is kept.
    pub fn path(&self, component: &Digest, engine: &Engine) -> Option<PathBuf> {
        let mut compatible = DigestHasher(Digester::default());
        engine.precompile_compatibility_hash().hash(&mut compatible);
        let engine = compatible.0.finish().short();
        Some(self.folder.as_ref()?.join(format!("{component}-{engine}.cwasm")))
    }
}

/// Writes beside and renames: a reader sees all or nothing.
fn write_whole(path: &Path, compiled: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(Digest::of(compiled).bytes())?;
    file.write_all(compiled)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// What the engine says of its compatibility, as a digest that is the same in every process.
struct DigestHasher(Digester);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.clone().finish();
        digest.bytes()[..8].iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
    }
}
