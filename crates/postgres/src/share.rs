//! How many connections of a server one node takes.

use tokio_postgres::{Client, Error};

/// The number of connections that a node opens at most where the operator names none.
pub const LARGEST_BUDGET: usize = 64;
/// Fewer do not suffice for one desk with its background work.
const SMALLEST_BUDGET: usize = 4;

/// Asks a server how many connections it gives to ordinary roles; a node's share of them, so that two nodes and some
/// other programs fit.
pub async fn node_share(client: &Client) -> Result<usize, Error> {
    let row = client
        .query_one(
            "SELECT current_setting('max_connections')::integer
                 - current_setting('superuser_reserved_connections')::integer
                 - coalesce(current_setting('reserved_connections', true), '0')::integer",
            &[],
        )
        .await?;
    Ok(share_of(row.get(0)))
}

fn share_of(given: i32) -> usize {
    (usize::try_from(given).unwrap_or(0) * 2 / 5).clamp(SMALLEST_BUDGET, LARGEST_BUDGET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_nodes_fit_on_one_server() {
        let table = [(97, 38), (297, 64), (1_000, 64), (20, 8), (0, 4)];
        for (given, expected) in table {
            assert_eq!(share_of(given), expected, "{given}");
        }
    }
}
