//! The address of a subscriber: the operator configures the address of each module, the subscriber chooses a path
//! there. So no subscriber can make the server call an arbitrary address.

use http::Uri;
use std::str::FromStr;

/// Addresses of subscribing modules, as configured by the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses(Vec<(String, String)>);

impl Addresses {
    /// Parses `MODULE=http://host:port` entries; the module `*` stands for all others. The error describes the first
    /// invalid entry.
    pub fn read(entries: &[String]) -> Result<Addresses, String> {
        let mut addresses = Vec::new();
        for entry in entries {
            let wrong = || format!("'{entry}' must be MODULE=http://host:port");
            let (module, base) = entry.split_once('=').ok_or_else(wrong)?;
            let uri = Uri::from_str(base).map_err(|_| wrong())?;
            let has_path = uri.path_and_query().is_some_and(|path| path.as_str() != "/");
            if module.trim().is_empty()
                || uri.scheme_str() != Some("http")
                || uri.host().is_none()
                || has_path
            {
                return Err(wrong());
            }
            addresses.push((module.trim().to_owned(), base.trim_end_matches('/').to_owned()));
        }
        Ok(Addresses(addresses))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The address of a module (`mod-audit-2.9.0`) that is configured with its version, without it, or by `*`.
    pub fn of(&self, module: &str) -> Option<&str> {
        let named = |wanted: &str| self.0.iter().find(|(name, _)| name == wanted);
        named(module)
            .or_else(|| named(without_version(module)))
            .or_else(|| named("*"))
            .map(|(_, base)| base.as_str())
    }
}

/// A module's name without its version.
fn without_version(module: &str) -> &str {
    let is_digit = |at: &usize| module[at + 1..].starts_with(|letter: char| letter.is_ascii_digit());
    let version = module.match_indices('-').map(|(at, _)| at).find(is_digit);
    version.map_or(module, |at| &module[..at])
}

/// A path that cannot change the host of the address to which it is appended.
pub fn is_path(callback: &str) -> bool {
    callback.starts_with('/')
        && !callback.starts_with("//")
        && callback.len() <= 2_000
        && !callback.contains(['\\', '#', '@'])
        && Uri::from_str(callback).is_ok_and(|uri| uri.host().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(entries: &[&str]) -> Result<Addresses, String> {
        Addresses::read(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_module_is_named_with_or_without_its_version() {
        let addresses =
            addresses(&["mod-audit=http://audit:8081", "mod-x-1.0.0=http://x:1/"]).expect("addresses");
        assert_eq!(addresses.of("mod-audit-2.9.0-SNAPSHOT.4"), Some("http://audit:8081"));
        assert_eq!(addresses.of("mod-audit"), Some("http://audit:8081"));
        assert_eq!(addresses.of("mod-x-1.0.0"), Some("http://x:1"));
        assert_eq!(addresses.of("mod-x-1.0.1"), None);
        assert_eq!(addresses.of("mod-audit-storage-1.0.0"), None);
    }

    #[test]
    fn one_address_may_stand_for_all_modules() {
        let addresses = addresses(&["*=http://okapi:9130"]).expect("addresses");
        assert_eq!(addresses.of("mod-y-1.0.0"), Some("http://okapi:9130"));
    }

    #[test]
    fn an_address_is_a_host_without_path() {
        for entry in [
            "mod-x",
            "mod-x=",
            "=http://x:1",
            "mod-x=https://x:1",
            "mod-x=http://x:1/path",
            "mod-x=file:///x",
        ] {
            assert!(addresses(&[entry]).is_err(), "{entry}");
        }
    }

    #[test]
    fn a_callback_stays_where_the_operator_says() {
        assert!(is_path("/audit/handlers/log-record") && is_path("/a?b=c"));
        for callback in [
            "",
            "audit",
            "//evil",
            "http://evil/",
            "/\\evil",
            "@evil/",
            "/a b",
            "/a#b",
            "/x@y",
            "/a\r\nHost: b",
        ] {
            assert!(!is_path(callback), "{callback:?}");
        }
    }
}
