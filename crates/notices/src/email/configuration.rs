//! The tenant's mail server (`/smtp-configuration`), and a connection to it.

use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::{Error, PoolConfig};
use lettre::{AsyncSmtpTransport, Tokio1Executor};
use serde::Deserialize;
use std::time::Duration;

/// A mail server that does not answer for this time is considered down.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Connections to a tenant's mail server, at most.
const MAX_CONNECTIONS: u32 = 4;

/// The record of `/smtp-configuration`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    pub host: String,
    pub port: u16,
    #[serde(default)]
    pub username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    ssl: bool,
    #[serde(default)]
    trust_all: bool,
    login_option: Option<String>,
    start_tls_options: Option<String>,
    pub from: Option<String>,
    #[serde(default)]
    identities: Vec<Identity>,
    #[serde(default)]
    pub email_headers: Vec<EmailHeader>,
    /// Hours after which delivered e-mails are deleted.
    pub expiration_hours: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Identity {
    address: String,
    name: Option<String>,
}

/// A header of every e-mail of the tenant.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EmailHeader {
    pub name: String,
    pub value: String,
}

pub type Transport = AsyncSmtpTransport<Tokio1Executor>;

impl Configuration {
    /// The address with its name in the configuration.
    pub fn with_name(&self, address: &str) -> String {
        let identity = self.identities.iter().find(|identity| identity.address == address);
        match identity.and_then(|identity| identity.name.as_deref()).filter(|name| !name.trim().is_empty()) {
            Some(name) => format!("\"{}\" <{address}>", name.replace(['"', '\\'], "")),
            None => address.to_owned(),
        }
    }

    /// Whether the server must accept a login: without `REQUIRED`, a server without login is used anonymously.
    pub fn requires_login(&self) -> bool {
        self.login_option.as_deref() == Some("REQUIRED")
    }

    /// A pool of connections to the server, without an open one.
    pub fn transport(&self, with_login: bool) -> Result<Transport, Error> {
        let tls = || {
            TlsParameters::builder(self.host.clone())
                .dangerous_accept_invalid_certs(self.trust_all)
                .dangerous_accept_invalid_hostnames(self.trust_all)
                .build()
        };
        let tls = match (self.ssl, self.start_tls_options.as_deref()) {
            (true, _) => Tls::Wrapper(tls()?),
            (false, Some("REQUIRED")) => Tls::Required(tls()?),
            (false, Some("DISABLED")) => Tls::None,
            (false, _) => Tls::Opportunistic(tls()?),
        };
        let mut builder = Transport::builder_dangerous(&self.host)
            .port(self.port)
            .tls(tls)
            .timeout(Some(TIMEOUT))
            .pool_config(PoolConfig::new().max_size(MAX_CONNECTIONS));
        if with_login && self.login_option.as_deref() != Some("DISABLED") && !self.username.is_empty() {
            builder = builder.credentials(Credentials::new(self.username.clone(), self.password.clone()));
        }
        Ok(builder.build())
    }
}
