//! The address of a PostgreSQL server: the driver's settings, and the TLS settings of the address.

use crate::tls::{Tls, Trust};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Connection, Socket};

/// A PostgreSQL server and how to connect to it.
#[derive(Debug, Clone)]
pub struct Server {
    pub config: Config,
    pub(crate) tls: Tls,
    ssl: Ssl,
}

/// A server given by the driver's settings, with TLS as the driver decides.
impl From<Config> for Server {
    fn from(config: Config) -> Server {
        let tls =
            Tls::new(&Trust::AnyCertificate, None).expect("TLS without files needs nothing that may lack");
        Server::with(config, tls, Ssl::default())
    }
}

impl Server {
    /// Parses an address, a URL or `key=value` text like libpq, with `sslmode`, `sslrootcert`, `sslcert` and `sslkey`;
    /// the error describes the mistake.
    pub fn read(text: &str) -> Result<Server, String> {
        let (rest, ssl) = without_ssl(text)?;
        let mut config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err("names no host".into());
        }
        let (mode, trust) = ssl.wanted()?;
        config.ssl_mode(mode);
        let own = match (&ssl.certificate, &ssl.key) {
            (Some(certificate), Some(key)) => Some((certificate.as_str(), key.as_str())),
            (None, None) => None,
            _ => return Err("sslcert and sslkey belong together".into()),
        };
        let tls = Tls::new(&trust, own)?;
        Ok(Server::with(config, tls, ssl))
    }

    fn with(mut config: Config, tls: Tls, ssl: Ssl) -> Server {
        // Like libpq, connections by a Unix socket are not encrypted, whatever the address says.
        if config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)))
            && !config.get_hosts().is_empty()
        {
            config.ssl_mode(SslMode::Disable);
        }
        Server { config, tls, ssl }
    }

    /// The address as environment variables for PostgreSQL's own programs: their arguments are visible to every user of
    /// the machine.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let hosts: Vec<String> = self
            .config
            .get_hosts()
            .iter()
            .map(|host| match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(folder) => folder.to_string_lossy().into_owned(),
            })
            .collect();
        let listed = |values: Vec<String>| Some(values.join(",")).filter(|list| !list.is_empty());
        let password = self.config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        [
            ("PGHOST", listed(hosts)),
            ("PGHOSTADDR", listed(self.config.get_hostaddrs().iter().map(ToString::to_string).collect())),
            ("PGPORT", listed(self.config.get_ports().iter().map(ToString::to_string).collect())),
            ("PGUSER", self.config.get_user().map(str::to_owned)),
            ("PGDATABASE", self.config.get_dbname().map(str::to_owned)),
            ("PGPASSWORD", password),
            ("PGSSLMODE", self.ssl.mode.clone()),
            ("PGSSLROOTCERT", self.ssl.root.clone()),
            ("PGSSLCERT", self.ssl.certificate.clone()),
            ("PGSSLKEY", self.ssl.key.clone()),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }

    /// One address for each host that is named; they have all else in common.
    pub fn members(&self) -> Vec<Server> {
        let (hosts, addresses) = (self.config.get_hosts(), self.config.get_hostaddrs());
        let number = hosts.len().max(addresses.len());
        if number < 2 {
            return vec![self.clone()];
        }
        let one = |index: usize| {
            let mut config = self.with_everything_but_hosts();
            match hosts.get(index) {
                Some(Host::Tcp(name)) => _ = config.host(name),
                Some(Host::Unix(folder)) => _ = config.host_path(folder),
                None => {}
            }
            if let Some(address) = addresses.get(index) {
                config.hostaddr(*address);
            }
            // One port is for all hosts.
            let ports = self.config.get_ports();
            if let Some(port) = ports.get(index).or(ports.first()) {
                config.port(*port);
            }
            Server::with(config, self.tls.clone(), self.ssl.clone())
        };
        (0..number).map(one).collect()
    }

    fn with_everything_but_hosts(&self) -> Config {
        let (from, mut config) = (&self.config, Config::new());
        from.get_user().map(|user| config.user(user));
        from.get_password().map(|password| config.password(password));
        from.get_dbname().map(|name| config.dbname(name));
        from.get_options().map(|options| config.options(options));
        from.get_application_name().map(|name| config.application_name(name));
        from.get_connect_timeout().map(|timeout| config.connect_timeout(*timeout));
        from.get_tcp_user_timeout().map(|timeout| config.tcp_user_timeout(*timeout));
        from.get_keepalives_interval().map(|interval| config.keepalives_interval(interval));
        from.get_keepalives_retries().map(|retries| config.keepalives_retries(retries));
        config
            .ssl_mode(from.get_ssl_mode())
            .ssl_negotiation(from.get_ssl_negotiation())
            .channel_binding(from.get_channel_binding())
            .keepalives(from.get_keepalives())
            .keepalives_idle(from.get_keepalives_idle());
        config
    }

    /// Host and port, for messages.
    pub fn address(&self) -> String {
        let host = match (self.config.get_hosts().first(), self.config.get_hostaddrs().first()) {
            (Some(Host::Tcp(name)), _) => name.clone(),
            (Some(Host::Unix(folder)), _) => folder.display().to_string(),
            (None, Some(address)) => address.to_string(),
            (None, None) => String::new(),
        };
        format!("{host}:{}", self.config.get_ports().first().unwrap_or(&5432))
    }

    /// The same server with other connection settings.
    pub(crate) fn with_config(&self, config: Config) -> Server {
        Server { config, ..self.clone() }
    }

    /// Opens a connection outside of the pools.
    pub async fn connect(
        &self,
    ) -> Result<(Client, Connection<Socket, crate::tls::Encrypted<Socket>>), tokio_postgres::Error> {
        self.config.connect(self.tls.clone()).await
    }
}

/// The TLS settings of an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Ssl {
    mode: Option<String>,
    root: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl Ssl {
    /// Stores the value if the key is a TLS setting.
    fn take(&mut self, key: &str, value: &str) -> bool {
        let place = match key {
            "sslmode" => &mut self.mode,
            "sslrootcert" => &mut self.root,
            "sslcert" => &mut self.certificate,
            "sslkey" => &mut self.key,
            _ => return false,
        };
        *place = Some(value.to_owned());
        true
    }

    fn wanted(&self) -> Result<(SslMode, Trust), String> {
        let root = || {
            self.root.clone().ok_or_else(|| {
                format!(
                    "sslmode={} needs sslrootcert, a file with the certificates that may sign the server's, or 'system'",
                    self.mode.as_deref().unwrap_or_default()
                )
            })
        };
        Ok(match self.mode.as_deref() {
            Some("disable") => (SslMode::Disable, Trust::AnyCertificate),
            None | Some("prefer" | "allow") => (SslMode::Prefer, Trust::AnyCertificate),
            // As in libpq, giving certificates means that the server's is verified.
            Some("require") => match &self.root {
                None => (SslMode::Require, Trust::AnyCertificate),
                Some(root) => (SslMode::Require, Trust::SignedBy(root.clone())),
            },
            Some("verify-ca") => (SslMode::Require, Trust::SignedBy(root()?)),
            Some("verify-full") => (SslMode::Require, Trust::SignedByFor(root()?)),
            Some(other) => {
                return Err(format!(
                    "sslmode={other} is none of disable, allow, prefer, require, verify-ca, verify-full"
                ));
            }
        })
    }
}

/// The address without the keys that the driver does not have, and their values.
fn without_ssl(text: &str) -> Result<(String, Ssl), String> {
    let mut ssl = Ssl::default();
    let rest = if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        let Some((front, query)) = text.split_once('?') else { return Ok((text.to_owned(), ssl)) };
        let left: Vec<&str> = query
            .split('&')
            .filter(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                !ssl.take(key, &percent_decoded(value))
            })
            .collect();
        if left.is_empty() { front.to_owned() } else { format!("{front}?{}", left.join("&")) }
    } else {
        let mut left = String::new();
        for (key, value, whole) in pairs(text)? {
            if !ssl.take(&key, &value) {
                left.push_str(whole);
                left.push(' ');
            }
        }
        left.trim_end().to_owned()
    };
    Ok((rest, ssl))
}

/// Percent-decodes; invalid sequences stay unchanged.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let hex = text.get(index + 1..index + 3).filter(|_| bytes[index] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                index += 3;
            }
            None => {
                decoded.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Parses `key = value` and `key='a value'`, with `\` as escape; each pair with its source text.
fn pairs(text: &str) -> Result<Vec<(String, String, &str)>, String> {
    let mut all = Vec::new();
    let mut letters = text.char_indices().peekable();
    loop {
        while letters.next_if(|(_, letter)| letter.is_whitespace()).is_some() {}
        let Some(&(start, _)) = letters.peek() else { return Ok(all) };
        let mut key = String::new();
        while let Some((_, letter)) = letters.next_if(|(_, letter)| *letter != '=' && !letter.is_whitespace())
        {
            key.push(letter);
        }
        while letters.next_if(|(_, letter)| letter.is_whitespace()).is_some() {}
        if letters.next_if(|(_, letter)| *letter == '=').is_none() {
            return Err(format!("a '=' is missing after '{key}'"));
        }
        while letters.next_if(|(_, letter)| letter.is_whitespace()).is_some() {}
        let quoted = letters.next_if(|(_, letter)| *letter == '\'').is_some();
        let mut value = String::new();
        loop {
            let next = match quoted {
                true => letters.next(),
                false => letters.next_if(|(_, letter)| !letter.is_whitespace()),
            };
            match next {
                Some((_, '\'')) if quoted => break,
                Some((_, '\\')) => value.extend(letters.next().map(|(_, letter)| letter)),
                Some((_, letter)) => value.push(letter),
                None if quoted => return Err(format!("the value of '{key}' has no end")),
                None => break,
            }
        }
        let end = letters.peek().map_or(text.len(), |(place, _)| *place);
        all.push((key, value, &text[start..end]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_settings_are_removed_from_an_address() {
        for text in [
            "postgresql://carrel:a%26b@db/x?sslmode=verify-full&connect_timeout=3&sslrootcert=/etc/my%20root.crt",
            r"host=db sslmode = verify-full user=carrel sslrootcert='/etc/my root.crt' password='it\'s'",
        ] {
            let (rest, ssl) = without_ssl(text).unwrap_or_else(|words| panic!("{text}: {words}"));
            assert_eq!(ssl.mode.as_deref(), Some("verify-full"), "{text}");
            assert_eq!(ssl.root.as_deref(), Some("/etc/my root.crt"), "{text}");
            assert!(!rest.contains("ssl"), "{rest}");
        }
        let (rest, _) = without_ssl("postgresql://carrel@db/x?sslmode=require&connect_timeout=3").unwrap();
        assert_eq!(rest, "postgresql://carrel@db/x?connect_timeout=3");
        let (rest, _) = without_ssl("host=db sslmode=require password='a b'").unwrap();
        assert_eq!(rest, "host=db password='a b'");
    }

    #[test]
    fn an_address_determines_the_trust_in_a_server() {
        let mode = |text: &str| Server::read(text).map(|server| server.config.get_ssl_mode());
        assert_eq!(mode("host=db"), Ok(SslMode::Prefer));
        assert_eq!(mode("host=db sslmode=disable"), Ok(SslMode::Disable));
        assert_eq!(mode("host=db sslmode=require"), Ok(SslMode::Require));
        assert_eq!(
            mode("host=/run/postgresql sslmode=require"),
            Ok(SslMode::Disable),
            "a socket of this machine"
        );
        for (text, words) in [
            ("host=db sslmode=verify-full", "needs sslrootcert"),
            ("host=db sslmode=sometimes", "none of disable"),
            ("host=db sslmode=verify-ca sslrootcert=/nowhere.crt", "/nowhere.crt"),
            ("host=db sslcert=/mine.crt", "belong together"),
            ("user=carrel", "names no host"),
            ("host=db password='open", "has no end"),
        ] {
            let error = mode(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn programs_get_the_address_of_a_server_by_their_environment() {
        let server =
            Server::read("postgresql://carrel:secret@db:5433/x?sslmode=require").expect("an address");
        let variables = server.environment();
        let expected = [
            ("PGHOST", "db"),
            ("PGPORT", "5433"),
            ("PGUSER", "carrel"),
            ("PGDATABASE", "x"),
            ("PGPASSWORD", "secret"),
            ("PGSSLMODE", "require"),
        ];
        assert_eq!(variables, expected.map(|(name, value)| (name, value.to_owned())));
    }
}
