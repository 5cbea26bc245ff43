//! A folder for the servers of one test program, with a guard process that cleans up after it.
//!
//! The guard has the other end of a pipe from the test program. However the program ends (last test, panic, Ctrl-C,
//! kill), the pipe closes, and the guard stops the remaining processes and removes the folder.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

/// A folder that is removed at the end of the program.
pub struct Scratch {
    pub folder: PathBuf,
    /// Open while the program runs; its end notifies the guard.
    _lifeline: ChildStdin,
}

impl Scratch {
    /// A new folder, in memory if there is enough space. At the end the guard stops PostgreSQL servers whose data are
    /// directly below it, and the program whose process id is in `server.pid`.
    pub fn new() -> Scratch {
        Scratch::named("")
    }

    /// Another folder of the same program, distinguished by a name.
    pub fn named(name: &str) -> Scratch {
        let number = std::process::id();
        let folder = large_memory_file_system()
            .unwrap_or_else(std::env::temp_dir)
            .join(format!("carrel-test-{number}{}{name}", if name.is_empty() { "" } else { "-" }));
        // Left over from an earlier program with the same process id.
        let _ = std::fs::remove_dir_all(&folder);
        let lifeline = guard(&folder);
        Scratch { folder, _lifeline: lifeline }
    }
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch::new()
    }
}

/// The file system in memory, if it is big enough: copying a template there takes 60 ms, on a disk up to two seconds.
fn large_memory_file_system() -> Option<PathBuf> {
    const ENOUGH_KIB: u64 = 1_500_000;
    let output = Command::new("df").args(["-Pk", "/dev/shm"]).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let free: u64 = text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    let folder = PathBuf::from("/dev/shm");
    let probe = folder.join(format!("carrel-probe-{}", std::process::id()));
    let usable = free >= ENOUGH_KIB && std::fs::create_dir(&probe).is_ok();
    let _ = std::fs::remove_dir(&probe);
    usable.then_some(folder)
}

/// Starts the guard of a folder; it cleans up when the returned end of its pipe closes.
#[allow(clippy::zombie_processes, reason = "the guard outlives this process: that is its use")]
fn guard(folder: &Path) -> ChildStdin {
    let script = r#"
        cat >/dev/null
        server=$(cat "$1/server.pid" 2>/dev/null)
        [ -z "$server" ] || kill -KILL "$server" 2>/dev/null
        for left in "$1"/*/postmaster.pid; do
            pid=$(head -n 1 "$left" 2>/dev/null)
            [ -n "$pid" ] || continue
            kill -QUIT "$pid" 2>/dev/null
            for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        done
        rm -rf "$1""#;
    let folder: PathBuf = folder.to_owned();
    let mut child = Command::new("sh")
        .args(["-c", script, "guard-of-test-postgres"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        // Ctrl-C at the terminal must not end the guard before it has cleaned up.
        .process_group(0)
        .spawn()
        .expect("sh can be started");
    child.stdin.take().expect("the pipe was requested")
}
