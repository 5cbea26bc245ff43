//! Lets a tenant's first administrator be created by the API: for a short time calls to the tenant need no token.
//!
//! Okapi's bootstrap does the same by disabling the token module for a tenant. Here the time ends automatically.

use super::Node;
use carrel_records::Failure;

/// How long a tenant stays open, as a PostgreSQL interval.
const OPEN_FOR: &str = "15 minutes";

impl Node {
    /// Opens the tenant to calls without a token for fifteen minutes.
    pub async fn open_for_bootstrap(&self, tenant: &str) -> Result<(), Failure> {
        let sql =
            "UPDATE platform.tenant SET open_until = clock_timestamp() + $2::text::interval WHERE id = $1";
        self.platform().await?.query(sql, vec![tenant.into(), OPEN_FOR.into()]).await?;
        tracing::warn!(tenant, "tenant {tenant} accepts calls without a token for {OPEN_FOR}");
        Ok(())
    }

    /// Closes the tenant again; false if it was not open.
    pub async fn close_after_bootstrap(&self, tenant: &str) -> Result<bool, Failure> {
        let sql = "UPDATE platform.tenant SET open_until = NULL
                   WHERE id = $1 AND open_until > clock_timestamp() RETURNING id";
        let closed = self.platform().await?.query(sql, vec![tenant.into()]).await?;
        Ok(!closed.is_empty())
    }

    /// Whether the tenant accepts calls without a token.
    pub async fn is_open_for_bootstrap(&self, tenant: &str) -> Result<bool, Failure> {
        let sql = "SELECT 1 FROM platform.tenant WHERE id = $1 AND open_until > clock_timestamp()";
        let open = self.platform().await?.query(sql, vec![tenant.into()]).await?;
        Ok(!open.is_empty())
    }
}
