//! Loans, holds and charges in the form of the patron API.

use carrel_records::time;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// An instance and item, as far as each is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemSummary {
    pub instance_id: Option<String>,
    pub item_id: Option<String>,
    pub title: Option<String>,
    /// Names of contributors, in order.
    pub authors: Vec<String>,
}

impl ItemSummary {
    /// Of a loan as circulation shows it.
    pub fn of_loan(loan: &Value) -> ItemSummary {
        ItemSummary {
            instance_id: text(&loan["item"]["instanceId"]),
            item_id: text(&loan["itemId"]),
            title: text(&loan["item"]["title"]),
            authors: names(&loan["item"]["contributors"]),
        }
    }

    /// Of a request as circulation shows it.
    pub fn of_request(request: &Value) -> ItemSummary {
        ItemSummary {
            instance_id: text(&request["instanceId"]),
            item_id: text(&request["itemId"]),
            title: text(&request["instance"]["title"]),
            authors: names(&request["instance"]["contributorNames"]),
        }
    }

    fn shown(&self) -> Value {
        let mut shown = Map::new();
        put(&mut shown, "instanceId", self.instance_id.clone());
        put(&mut shown, "itemId", self.item_id.clone());
        put(&mut shown, "title", self.title.clone());
        put(&mut shown, "author", (!self.authors.is_empty()).then(|| self.authors.join("; ")));
        Value::Object(shown)
    }
}

/// A loan, overdue from its due date on whatever grace there is.
pub fn loan(loan: &Value, thing: &ItemSummary, now: Timestamp) -> Value {
    let due = instant(&loan["dueDate"]);
    let mut shown = Map::new();
    put(&mut shown, "id", text(&loan["id"]));
    shown.insert("item".into(), thing.shown());
    put(&mut shown, "loanDate", instant(&loan["loanDate"]).map(time::format));
    put(&mut shown, "dueDate", due.map(time::format));
    shown.insert("overdue".into(), due.is_some_and(|due| due < now).into());
    Value::Object(shown)
}

/// A request; its fields have other names here.
pub fn hold(request: &Value, thing: &ItemSummary) -> Value {
    let mut shown = Map::new();
    put(&mut shown, "requestId", text(&request["id"]));
    shown.insert("item".into(), thing.shown());
    put(&mut shown, "requestDate", instant(&request["requestDate"]).map(time::format));
    put(&mut shown, "expirationDate", instant(&request["requestExpirationDate"]).map(time::format));
    put(&mut shown, "status", text(&request["status"]));
    put(&mut shown, "pickupLocationId", text(&request["pickupServicePointId"]));
    if let Some(position) = request["position"].as_i64() {
        shown.insert("queuePosition".into(), position.into());
    }
    put(&mut shown, "cancellationReasonId", text(&request["cancellationReasonId"]));
    put(&mut shown, "canceledByUserId", text(&request["cancelledByUserId"]));
    put(&mut shown, "cancellationAdditionalInformation", text(&request["cancellationAdditionalInformation"]));
    put(&mut shown, "canceledDate", instant(&request["cancelledDate"]).map(time::format));
    put(&mut shown, "patronComments", text(&request["patronComments"]));
    Value::Object(shown)
}

/// What is still to pay of a fee/fine.
pub fn charge(account: &Value, thing: Option<&ItemSummary>, currency: &str) -> Value {
    let mut shown = Map::new();
    if let Some(thing) = thing {
        shown.insert("item".into(), thing.shown());
    }
    shown.insert("chargeAmount".into(), money(account["remaining"].as_f64().unwrap_or(0.0), currency));
    put(&mut shown, "accrualDate", instant(&account["metadata"]["createdDate"]).map(time::format));
    let state = text(&account["paymentStatus"]["name"]).unwrap_or_else(|| "Unknown".to_owned());
    shown.insert("state".into(), state.into());
    put(&mut shown, "reason", text(&account["feeFineType"]));
    Value::Object(shown)
}

/// An amount as patrons' clients are reported it.
pub fn money(amount: f64, currency: &str) -> Value {
    json!({"amount": amount, "isoCurrencyCode": currency})
}

/// The `name` of each of a list.
pub fn names(list: &Value) -> Vec<String> {
    list.as_array().map_or_else(Vec::new, |list| list.iter().filter_map(|one| text(&one["name"])).collect())
}

/// The text of a value; `None` if it is not a text.
pub fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn instant(value: &Value) -> Option<Timestamp> {
    value.as_str().and_then(time::parse)
}

fn put(into: &mut Map<String, Value>, key: &str, value: Option<String>) {
    if let Some(value) = value {
        into.insert(key.to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> Timestamp {
        time::parse("2024-05-01T12:00:00Z").expect("a time")
    }

    #[test]
    fn a_loan_is_overdue_from_its_due_date_on() {
        let lent = json!({"id": "1", "itemId": "2", "dueDate": "2024-05-01T11:59:59Z", "loanDate": "2024-04-01",
            "item": {"title": "A book", "instanceId": "3", "contributors": [{"name": "A"}, {"name": "B"}]}});
        assert_eq!(
            loan(&lent, &ItemSummary::of_loan(&lent), noon()),
            json!({"id": "1", "overdue": true, "dueDate": "2024-05-01T11:59:59.000+00:00",
                "loanDate": "2024-04-01T00:00:00.000+00:00",
                "item": {"itemId": "2", "instanceId": "3", "title": "A book", "author": "A; B"}})
        );
        let later = json!({"dueDate": "2024-05-01T12:00:01Z"});
        assert_eq!(loan(&later, &ItemSummary::default(), noon())["overdue"], false);
        assert_eq!(loan(&json!({}), &ItemSummary::default(), noon())["overdue"], false);
    }

    #[test]
    fn a_request_of_a_title_has_no_item_id() {
        let request = json!({"id": "1", "instanceId": "3", "status": "Open - Not yet filled", "position": 2,
            "pickupServicePointId": "4", "requestDate": "2024-05-01T10:00:00Z", "instance": {"title": "A book"}});
        assert_eq!(
            hold(&request, &ItemSummary::of_request(&request)),
            json!({"requestId": "1", "item": {"instanceId": "3", "title": "A book"},
                "requestDate": "2024-05-01T10:00:00.000+00:00", "status": "Open - Not yet filled",
                "pickupLocationId": "4", "queuePosition": 2})
        );
    }

    #[test]
    fn a_charge_says_what_is_still_to_pay() {
        let account = json!({"amount": 9.0, "remaining": 4.5, "paymentStatus": {"name": "Paid partially"},
            "feeFineType": "Overdue fine", "metadata": {"createdDate": "2024-05-01T10:00:00Z"}});
        assert_eq!(
            charge(&account, None, "EUR"),
            json!({"chargeAmount": {"amount": 4.5, "isoCurrencyCode": "EUR"}, "state": "Paid partially",
                "reason": "Overdue fine", "accrualDate": "2024-05-01T10:00:00.000+00:00"})
        );
    }
}
