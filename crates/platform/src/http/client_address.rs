//! The client's address: the connection's peer, or the address that a trusted proxy reports.

use http::HeaderMap;
use std::net::IpAddr;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The client's address. Each proxy appends the address that it sees to `X-Forwarded-For`, so the last address that is
/// not a trusted proxy's counts; entries before it may be forged.
pub(super) fn client_address(peer: IpAddr, headers: &HeaderMap, trusted_proxies: &[IpAddr]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted_proxies.contains(&address.to_canonical());
    let peer = peer.to_canonical();
    if !is_trusted(&peer) {
        return peer;
    }
    let lines = headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
    let entries: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
    let mut client = peer;
    for entry in entries.iter().rev() {
        let Ok(address) = entry.parse::<IpAddr>() else { break };
        client = address.to_canonical();
        if !is_trusted(&client) {
            break;
        }
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn client(peer: &str, forwarded: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED_FOR, forwarded.parse().expect("a header"));
        client_address(address(peer), &headers, &[address("10.0.0.1"), address("10.0.0.2")]).to_string()
    }

    #[test]
    fn only_the_header_of_a_trusted_proxy_is_used() {
        assert_eq!(client("192.0.2.9", "198.51.100.1"), "192.0.2.9");
        assert_eq!(client("10.0.0.1", "198.51.100.1"), "198.51.100.1");
    }

    #[test]
    fn the_last_address_before_the_trusted_proxies_counts() {
        assert_eq!(client("10.0.0.1", "203.0.113.7, 198.51.100.1, 10.0.0.2"), "198.51.100.1");
        assert_eq!(client("10.0.0.1", "unknown"), "10.0.0.1");
        assert_eq!(client("10.0.0.1", "198.51.100.1, unknown"), "10.0.0.1");
    }
}
