//! How many connections of a server one node takes.
//!
//! A node is announced at a server by the connection on which it listens there, so the nodes are counted in
//! `pg_stat_activity`, and one that dies is not counted any more.

use tokio_postgres::{Client, Error};

/// The number of connections that a node opens at most where the operator names none.
pub const LARGEST_BUDGET: usize = 64;
/// Fewer do not suffice for one desk with its background work.
const SMALLEST_BUDGET: usize = 3;
/// The server's connections are divided among so many nodes at least, so that a second one can start.
const EXPECTED_NODES: usize = 2;

/// The application name of the connection by which a node is announced at a server.
pub const ANNOUNCED_AS: &str = "carrel notifications";

/// How many connections a node opens to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionLimit {
    /// As many as the operator says.
    Fixed(usize),
    /// A share of what the server gives, this one at first; it changes with the number of nodes.
    Share(usize),
}

impl ConnectionLimit {
    /// Connections that may be open at first.
    pub fn at_first(self) -> usize {
        match self {
            ConnectionLimit::Fixed(limit) | ConnectionLimit::Share(limit) => limit,
        }
    }
}

impl From<usize> for ConnectionLimit {
    fn from(limit: usize) -> ConnectionLimit {
        ConnectionLimit::Fixed(limit)
    }
}

/// The share of a node that is announced at the server, or, if it `is_joining`, will be.
pub async fn node_share(client: &Client, is_joining: bool) -> Result<usize, Error> {
    let row = client
        .query_one(
            "SELECT current_setting('max_connections')::integer
                 - current_setting('superuser_reserved_connections')::integer
                 - coalesce(current_setting('reserved_connections', true), '0')::integer,
                 (SELECT count(*) FROM pg_stat_activity WHERE application_name = $1)",
            &[&ANNOUNCED_AS],
        )
        .await?;
    let nodes = usize::try_from(row.get::<_, i64>(1)).unwrap_or(0);
    Ok(share_of(row.get(0), nodes + usize::from(is_joining)))
}

/// Four fifths of the connections belong to the nodes; the rest is for what they do beside, and for other programs.
fn share_of(given: i32, nodes: usize) -> usize {
    let of_nodes = usize::try_from(given).unwrap_or(0) * 4 / 5;
    (of_nodes / nodes.max(EXPECTED_NODES)).clamp(SMALLEST_BUDGET, LARGEST_BUDGET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_share_the_connections_of_the_server() {
        let table = [
            (97, 1, 38),
            (97, 2, 38),
            (97, 3, 25),
            (97, 6, 12),
            (297, 2, 64),
            (1_000, 4, 64),
            (1_000, 20, 40),
            (20, 2, 8),
            (0, 1, 3),
        ];
        for (given, nodes, expected) in table {
            assert_eq!(share_of(given, nodes), expected, "{given} for {nodes} nodes");
        }
    }
}
