//! Preparation and clean-up of a plan that checks in items which are already on loan: some items are checked out before
//! the run and all are checked in afterwards, through the public API.

use super::test_data::TestData;
use crate::client::{Connection, Session};
use crate::error::{LabError, Result};
use http::Method;
use serde_json::json;

/// The public data set has 5,158 open loans. A tenth of the available items, at most that number, is enough for a run.
const MOST_LENT: usize = 5_158;

impl TestData {
    /// Checks out a tenth of the items and takes them from the available ones.
    pub async fn lend(&mut self, clerk: &mut Connection, session: &Session) -> Result<Vec<String>> {
        let number = (self.items.len() / 10).clamp(1, MOST_LENT);
        let lent = self.items.split_off(self.items.len().saturating_sub(number));
        for (item, user) in lent.iter().zip(self.users.iter().cycle()) {
            let body = json!({ "itemBarcode": item, "userBarcode": user, "servicePointId": self.service_point,
                "loanDate": jiff::Timestamp::now().to_string() });
            let answer =
                session.send(clerk, Method::POST, "/circulation/check-out-by-barcode", &body).await?;
            if !answer.status.is_success() {
                return Err(LabError::new(format!("lending {item} before the run: {}", answer.brief())));
            }
        }
        if self.items.is_empty() {
            return Err(LabError::new("a plan needs at least two available items"));
        }
        Ok(lent)
    }
}

/// Checks in those of the items that are checked out.
pub async fn return_items<'a>(
    clerk: &mut Connection,
    session: &Session,
    service_point: &str,
    items: impl Iterator<Item = &'a String>,
) -> Result<()> {
    for item in items {
        let target = format!("/item-storage/items?query=barcode==%22{item}%22&limit=1");
        let found = session.get(clerk, &target).await?;
        if found["items"][0]["status"]["name"] == "Checked out" {
            let body = json!({ "itemBarcode": item, "servicePointId": service_point,
                "checkInDate": jiff::Timestamp::now().to_string() });
            let answer = session.send(clerk, Method::POST, "/circulation/check-in-by-barcode", &body).await?;
            if !answer.status.is_success() {
                return Err(LabError::new(format!("returning {item} after the run: {}", answer.brief())));
            }
        }
    }
    Ok(())
}
