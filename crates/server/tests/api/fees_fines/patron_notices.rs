//! Staff have the patron notified of charges and actions (`notify`, `notifyPatron`).

use super::{Fees, SERVICE_POINT};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// A template, and fees whose owner or type names it.
async fn notifying(place: &str) -> Fees {
    let fees = Fees::open().await;
    let (charge, action) = (Uuid::new_v4(), Uuid::new_v4());
    let text = "{{user.lastName}} {{feeCharge.type}} {{feeCharge.remainingAmount}} {{feeCharge.additionalInfo}} \
                {{feeAction.type}} {{feeAction.amount}} {{feeAction.additionalInfo}}";
    for (id, header) in [(charge, "Charged"), (action, "Done")] {
        let template = json!({"id": id, "outputFormats": ["text/html"], "templateResolver": "mustache",
            "localizedTemplates": {"en": {"header": header, "body": text}}});
        fees.server.post("/templates", &template).await.expect(201);
    }
    let (path, mut record, names) = match place {
        "owner" => ("/owners", fees.owner.clone(), ["defaultChargeNoticeId", "defaultActionNoticeId"]),
        _ => ("/feefines", fees.fee_type.clone(), ["chargeNoticeId", "actionNoticeId"]),
    };
    record[names[0]] = json!(charge);
    record[names[1]] = json!(action);
    let path = format!("{path}/{}", record["id"].as_str().unwrap_or_default());
    fees.server.put(&path, &record).await.expect_status(204);
    fees
}

/// The e-mails, once there are so many: subject and text.
async fn emails(fees: &Fees, count: usize) -> Vec<(String, String)> {
    let mut emails = Vec::new();
    for _ in 0..600 {
        let found = fees.server.get("/email?limit=1000").await.expect(200);
        let text = |email: &Value, key: &str| {
            let words = email[key].as_str().unwrap_or_default().split_whitespace();
            words.collect::<Vec<_>>().join(" ")
        };
        let entities = found["emailEntity"].as_array().cloned().unwrap_or_default();
        emails = entities.iter().map(|email| (text(email, "header"), text(email, "body"))).collect();
        if emails.len() >= count {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    emails.sort();
    assert_eq!(emails.len(), count, "{emails:?}");
    emails
}

/// The record of a charge, as staff send it after the account.
async fn charge(fees: &Fees, account: &str, notify: bool) {
    let record = json!({"accountId": account, "userId": fees.patron, "typeAction": "Torn page", "notify": notify,
        "amountAction": 5, "balance": 5, "comments": "STAFF : page 3 \n PATRON : please mind",
        "dateAction": "2026-05-01T10:00:00Z", "createdAt": SERVICE_POINT, "source": "Clerk"});
    fees.server.post("/feefineactions", &record).await.expect_status(201);
}

async fn act(fees: &Fees, account: &str, action: &str, amount: &str, notify: bool) {
    let body = json!({"amount": amount, "notifyPatron": notify, "servicePointId": SERVICE_POINT, "userName": "Clerk",
        "paymentMethod": "Cash", "comments": "PATRON : thank you"});
    fees.server.post(&format!("/accounts/{account}/{action}"), &body).await.expect_status(201);
}

#[tokio::test]
async fn charges_and_actions_are_notified_with_the_templates_of_the_owner_or_the_type() {
    for place in ["owner", "type"] {
        let fees = notifying(place).await;
        let account = fees.account(5.0).await;
        charge(&fees, &account, true).await;
        emails(&fees, 1).await;
        act(&fees, &account, "pay", "2", true).await;
        let expected = [
            ("Charged".to_owned(), "Byron Torn page 5.00 please mind".to_owned()),
            ("Done".to_owned(), "Byron Torn page 3.00 please mind Paid partially 2.00 thank you".to_owned()),
        ];
        assert_eq!(emails(&fees, 2).await, expected, "{place}");
        let path = format!("/admin/patron-notices?accountId={account}");
        let explained = fees.server.get(&path).await.expect(200);
        let events: Vec<&Value> = explained["notices"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| &one["triggeringEvent"])
            .collect();
        assert_eq!(events, ["Torn page", "Paid partially"], "{explained}");
        let logs = fees.server.get("/audit-data/circulation/logs?query=object==Notice").await.expect(200);
        assert_eq!(logs["logRecords"].as_array().map(Vec::len), Some(2), "{logs}");
    }
}

#[tokio::test]
async fn nobody_is_notified_unless_staff_say_so_or_without_a_template() {
    let fees = notifying("owner").await;
    let account = fees.account(5.0).await;
    charge(&fees, &account, false).await;
    act(&fees, &account, "waive", "2", false).await;
    let bare = Fees::open().await;
    let unnamed = bare.account(5.0).await;
    charge(&bare, &unnamed, true).await;
    let path = format!("/admin/patron-notices?accountId={unnamed}");
    for _ in 0..600 {
        if bare.server.get(&path).await.expect(200)["notices"].as_array().is_some_and(|all| !all.is_empty()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let explained = bare.server.get(&path).await.expect(200);
    assert_eq!(explained["notices"][0]["outcome"], "skipped", "{explained}");
    emails(&bare, 0).await;
    emails(&fees, 0).await;
}

#[tokio::test]
async fn a_refund_is_one_notice_and_its_credit_none() {
    let fees = notifying("owner").await;
    let account = fees.account(5.0).await;
    act(&fees, &account, "pay", "5", false).await;
    act(&fees, &account, "refund", "5", true).await;
    let sent = emails(&fees, 1).await;
    assert!(sent[0].1.contains("Refunded fully"), "{sent:?}");
}
