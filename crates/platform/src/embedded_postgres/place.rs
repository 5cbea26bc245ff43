//! Folders of a private server: its data, its socket, and the ordinary user that must be able to reach them.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// User and group that the server runs as; `None` is whoever runs this program.
pub type RunsAs = Option<(u32, u32)>;

/// Where libraries are kept when root starts the program in a place of its own, such as a clone below `/root`.
const FOR_ROOT: &str = "/var/lib/carrel";

/// The data directory to take where nobody has named one: the usual one, or, where root's own folders are closed
/// to PostgreSQL's user, one that it can reach; then with the sentence to tell about it.
pub fn usual_data_directory(usual: &Path) -> (PathBuf, Option<String>) {
    let Ok(runs_as @ Some(_)) = ordinary_user() else { return (usual.to_owned(), None) };
    let absolute = std::path::absolute(usual).unwrap_or_else(|_| usual.to_owned());
    // The folder itself may be yet to be made; those above it decide.
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

/// Makes a folder that the server's user alone can read.
pub fn make_folder_for(folder: &Path, user: RunsAs) -> Result<(), String> {
    let reported = |error: std::io::Error| format!("The folder {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(reported)?;
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .map_err(reported)?;
    let Some((uid, gid)) = user else { return Ok(()) };
    std::os::unix::fs::chown(folder, Some(uid), Some(gid)).map_err(reported)?;
    match folder.parent() {
        Some(parent) if !can_reach(parent, user) => Err(format!(
            "PostgreSQL does not run as root, and its user cannot reach {}: name another place with --data",
            parent.display()
        )),
        _ => Ok(()),
    }
}

/// Whether the server's user may pass through the folder.
fn can_reach(folder: &Path, user: RunsAs) -> bool {
    let Some((uid, gid)) = user else { return true };
    let passes = Command::new("test").arg("-x").arg(folder).uid(uid).gid(gid).current_dir("/").status();
    passes.is_ok_and(|status| status.success())
}

/// PostgreSQL refuses to run as root; then it runs as `postgres`, or else as `nobody`.
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

/// Where the server of a data directory listens.
pub fn socket_of(data: &Path) -> Result<PathBuf, String> {
    data.canonicalize()
        .map(|data| socket_folder(&data))
        .map_err(|error| format!("The data directory {}: {error}", data.display()))
}

/// Sockets have short names only: a deep data directory gets a folder beside the temporary files.
pub fn socket_folder(data: &Path) -> PathBuf {
    let beside = data.join("run");
    // "/.s.PGSQL.5432.lock" comes behind it, and the whole must stay below 108 bytes.
    if beside.as_os_str().len() + 20 < 100 {
        return beside;
    }
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in data.as_os_str().as_encoded_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    std::env::temp_dir().join(format!("carrel-{hash:016x}"))
}
