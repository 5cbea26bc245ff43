//! `lab run desk`: measures the staff desk in Chromium, from Enter to the painted row, and the call itself. A script of
//! `web/` controls the browser; this module starts it and forwards its output.

use crate::client::Credentials;
use crate::error::{LabError, Result};
use std::path::PathBuf;
use std::process::Command;

/// Options of `carrel lab run desk`.
#[derive(Debug, Clone)]
pub struct DeskOptions {
    /// Address of the server, `http://host:port`.
    pub address: String,
    /// The login at the desk.
    pub credentials: Credentials,
    /// Folder of the desk's sources with its packages installed.
    pub web: PathBuf,
    /// Where to write the figures as JSON.
    pub json: Option<PathBuf>,
}

const SCRIPT: &str = "scripts/measure-desk.mjs";

/// Measures, and prints the figures.
pub fn run_desk(options: &DeskOptions) -> Result<()> {
    let script = options.web.join(SCRIPT);
    if !script.is_file() {
        return Err(LabError::new(format!(
            "{} is missing: run from the root of the sources, or name the folder with --web",
            script.display()
        )));
    }
    let json = options.json.as_deref().map(std::path::absolute).transpose();
    let json = json.map_err(|error| LabError::new(format!("the file for the figures: {error}")))?;
    let mut command = Command::new("node");
    command
        .current_dir(&options.web)
        .arg(SCRIPT)
        .args(["--address", &options.address])
        .args(["--tenant", &options.credentials.tenant])
        .args(["--username", &options.credentials.username])
        .env("CARREL_LAB_PASSWORD", &options.credentials.password);
    if let Some(file) = json {
        command.arg("--json").arg(file);
    }
    let status = command.status().map_err(|error| {
        LabError::new(format!("Node.js, which drives the browser, could not be started: {error}"))
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(LabError::new("the desk could not be measured; see the error above")),
    }
}
