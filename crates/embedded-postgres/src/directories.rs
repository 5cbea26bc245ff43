//! Directories of a private server: data and socket, and the unprivileged user that must be able to reach them.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// User and group ids that the server runs as; `None` is the user of this program.
pub type RunsAs = Option<(u32, u32)>;

/// The data directory when root starts the program in a directory closed to others, such as a clone below `/root`.
const FOR_ROOT: &str = "/var/lib/carrel";

/// The data directory if none is given: the usual one, or one that PostgreSQL's user can reach, with a message for the
/// operator.
pub fn usual_data_directory(usual: &Path) -> (PathBuf, Option<String>) {
    let Ok(runs_as @ Some(_)) = ordinary_user() else { return (usual.to_owned(), None) };
    let absolute = std::path::absolute(usual).unwrap_or_else(|_| usual.to_owned());
    // The directory itself may not exist yet; its ancestors decide.
    let above = absolute.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    if can_reach(above, runs_as) {
        return (usual.to_owned(), None);
    }
    let sentence = format!(
        "PostgreSQL does not run as root, and its user cannot reach {}: the data directory is {FOR_ROOT} (--data names another).",
        above.display()
    );
    (PathBuf::from(FOR_ROOT), Some(sentence))
}

/// Creates a directory that only the server's user can read.
pub fn make_folder_for(folder: &Path, user: RunsAs) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("The directory {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).map_err(failed)?;
    let Some((uid, gid)) = user else { return Ok(()) };
    std::os::unix::fs::chown(folder, Some(uid), Some(gid)).map_err(failed)?;
    match folder.parent() {
        Some(parent) if !can_reach(parent, user) => Err(format!(
            "PostgreSQL does not run as root, and its user cannot reach {}: name another directory with --data",
            parent.display()
        )),
        _ => Ok(()),
    }
}

/// Whether the server's user may enter the directory.
fn can_reach(folder: &Path, user: RunsAs) -> bool {
    let Some((uid, gid)) = user else { return true };
    let passes = Command::new("test").arg("-x").arg(folder).uid(uid).gid(gid).current_dir("/").status();
    passes.is_ok_and(|status| status.success())
}

/// The user that the server runs as: `postgres` or else `nobody` under root, as PostgreSQL refuses to run as root.
pub fn ordinary_user() -> Result<RunsAs, String> {
    let own = std::fs::metadata("/proc/self").map(|m| std::os::unix::fs::MetadataExt::uid(&m));
    if own.is_ok_and(|uid| uid != 0) {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
    for name in ["postgres", "nobody"] {
        let entry = users.lines().find(|line| line.split(':').next() == Some(name));
        if let Some([_, _, user, group, ..]) =
            entry.map(|line| line.split(':').collect::<Vec<_>>()).as_deref()
            && let (Ok(user), Ok(group)) = (user.parse(), group.parse())
        {
            return Ok(Some((user, group)));
        }
    }
    Err("PostgreSQL does not run as root, and there is no user 'postgres' or 'nobody' to run it as".into())
}

/// The directory of the Unix socket of the server of a data directory.
pub fn socket_of(data: &Path) -> Result<PathBuf, String> {
    data.canonicalize()
        .map(|data| socket_folder(&data))
        .map_err(|error| format!("The data directory {}: {error}", data.display()))
}

/// A socket's path has at most 107 bytes: for a long data directory the socket is in the temporary directory.
pub fn socket_folder(data: &Path) -> PathBuf {
    let beside = data.join("run");
    // PostgreSQL appends "/.s.PGSQL.5432.lock".
    if beside.as_os_str().len() + 20 < 100 {
        return beside;
    }
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in data.as_os_str().as_encoded_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    std::env::temp_dir().join(format!("carrel-{hash:016x}"))
}
