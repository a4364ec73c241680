//! The writer's lock: one process writes a store at a time.
//!
//! The lock is the operating system's and ends with the process, so that a
//! killed writer never leaves a store that must be unlocked by hand. The file's
//! text (process id and start) is for the message only and decides nothing.

use super::LOCK_FILE;
use super::error::OpenError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// A store's lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct StoreLock {
    _file: File,
}

impl StoreLock {
    /// Takes the lock at once or says who has it.
    pub(super) fn take(store: &Path) -> Result<StoreLock, OpenError> {
        let path = store.join(LOCK_FILE);
        let io = |source| OpenError::Io { path: path.clone(), source };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Held { store: store.to_path_buf(), holder: holder(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        sign(&mut file).map_err(io)?;
        Ok(StoreLock { _file: file })
    }
}

/// Writes who has the lock.
fn sign(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    write!(file, "process {} since {started}", std::process::id())
}

/// Who has the lock, in words. The writer may be between locking and signing.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(length) if length > 0 => text,
        Ok(_) | Err(_) => "another process".into(),
    }
}
