//! The server of a run: one at a given address, or a process that the lab starts and ends.

use super::Target;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The server of a run: one at a given address, or a process that the lab starts and ends.
pub struct Server {
    /// Address of the API.
    pub address: String,
    /// Its database, if the lab started it.
    pub database: Option<String>,
    /// The log of a server that the lab started.
    pub log: Option<PathBuf>,
    process: Option<Child>,
}

impl Server {
    /// The server at the given address, or a new one with this many tenants.
    pub async fn of(target: &Target, tenants: usize) -> Result<Server, String> {
        if let Some(address) = &target.address {
            return Ok(Server { address: address.clone(), database: None, log: None, process: None });
        }
        Server::start(target, tenants, None, &[]).await
    }

    /// Starts a server, of another build if one is given, with further options.
    pub async fn start(
        target: &Target,
        tenants: usize,
        program: Option<&Path>,
        options: &[String],
    ) -> Result<Server, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let program = program.map_or(own, Path::to_owned);
        for number in 1..=tenants {
            let made = Command::new(&program)
                .args([
                    "tenant",
                    "create",
                    &tenant_name(&target.tenant, number),
                    "--admin",
                    &target.username,
                    "--data",
                ])
                .arg(&target.data)
                .env("CARREL_ADMIN_PASSWORD", &target.password)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            // This fails if the tenant exists from an earlier run; the login shows whether it is usable.
            let _ = made.map_err(|error| format!("the lab's tenant could not be created: {error}"))?;
        }
        let port = free_port()?;
        let log = target.data.join("lab-server.log");
        let process = Command::new(&program)
            .args(["serve", "--port", &port.to_string(), "--data"])
            .arg(&target.data)
            .args(options)
            .env("CARREL_LOG", "warn")
            .env("CARREL_LIST_REFRESH_VISIBLE", "0")
            .stderr(std::fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?)
            // Ctrl-C ends the run; the server continues until the report is written.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("the lab's server could not be started: {error}"))?;
        let server = Server {
            address: format!("http://127.0.0.1:{port}"),
            database: Some(format!(
                "host={} user=carrel dbname=postgres",
                carrel_embedded_postgres::socket_of(&target.data)?.display()
            )),
            log: Some(log),
            process: Some(process),
        };
        server.wait_until_it_answers(port).await?;
        Ok(server)
    }

    /// Whether the lab started the server.
    pub fn is_ours(&self) -> bool {
        self.process.is_some()
    }

    async fn wait_until_it_answers(&self, port: u16) -> Result<(), String> {
        let started = Instant::now();
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            if started.elapsed() > Duration::from_secs(60) {
                return Err("the lab's server did not start within a minute".into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Prints the resident memory after the run of a server that the lab started.
    pub fn tell_memory(&self) {
        if let Some(bytes) = self.resident_bytes() {
            println!("resident memory of the server: {} MiB", bytes / 1024 / 1024);
        }
    }

    /// Process id of a server that the lab started.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Resident memory of a server that the lab started.
    fn resident_bytes(&self) -> Option<u64> {
        let id = self.process.as_ref()?.id();
        let text = std::fs::read_to_string(format!("/proc/{id}/statm")).ok()?;
        let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(pages * 4096)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // SIGTERM also stops the server's database; SIGKILL would leave it running.
            let _ = Command::new("kill").arg(process.id().to_string()).status();
            let _ = process.wait();
        }
    }
}

/// The name of the lab's tenant with this number, counted from 1.
pub fn tenant_name(first: &str, number: usize) -> String {
    if number == 1 { first.to_owned() } else { format!("{first}{number}") }
}

fn free_port() -> Result<u16, String> {
    std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no port is free: {error}"))
}
