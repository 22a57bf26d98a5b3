//! Where the binaries are.

use std::path::{Path, PathBuf};

/// The folder with `initdb`, `postgres` and their kin: Debian's of the newest version, else the one in `PATH`.
#[must_use]
pub fn find_postgres() -> Option<PathBuf> {
    newest_of_debian(Path::new("/usr/lib/postgresql")).or_else(|| in_path("initdb"))
}

/// The path of `pgbouncer`.
#[must_use]
pub fn find_pgbouncer() -> Option<PathBuf> {
    // Debian puts it where only root's PATH looks.
    let debian = PathBuf::from("/usr/sbin/pgbouncer");
    if debian.is_file() { Some(debian) } else { in_path("pgbouncer").map(|folder| folder.join("pgbouncer")) }
}

fn newest_of_debian(versions: &Path) -> Option<PathBuf> {
    std::fs::read_dir(versions)
        .ok()?
        .filter_map(|entry| {
            let version = entry.ok()?.path();
            let number: u32 = version.file_name()?.to_str()?.parse().ok()?;
            let binaries = version.join("bin");
            binaries.join("initdb").is_file().then_some((number, binaries))
        })
        .max()
        .map(|(_, binaries)| binaries)
}

fn in_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).find(|folder| folder.join(program).is_file())
}
