//! Prerequisites of the records: locations, types, groups, policies and rules, with fixed ids.
//!
//! Types and policies that FOLIO itself gives to a new tenant keep FOLIO's ids and are created only if
//! missing; the lab's own have ids derived from a name, so that loading twice creates no duplicates.

use super::reference;
use serde_json::{Value, json};
use uuid::{Uuid, uuid};

/// UUID namespace of the lab's ids.
pub const NAMESPACE: Uuid = uuid!("0b6f3c52-6c1f-4f0e-9d57-1a3b60a5c0de");

/// The id of one of the lab's own records.
pub fn named(name: &str) -> Uuid {
    Uuid::new_v5(&NAMESPACE, name.as_bytes())
}

/// A shelf location.
pub struct Location {
    /// Its code, from which its id is derived.
    pub code: &'static str,
    name: &'static str,
}

/// All are served by one service point, so that a returned item is available immediately.
pub const LOCATIONS: [Location; 4] = [
    Location { code: "LAB/MAIN", name: "Lab main stacks" },
    Location { code: "LAB/NORTH", name: "Lab north stacks" },
    Location { code: "LAB/LOWER", name: "Lab lower level" },
    Location { code: "LAB/MEDIA", name: "Lab media room" },
];

/// Code of the only service point, from which its id is derived.
pub const DESK: &str = "LAB-DESK";

/// Name and description of the patron groups; the first is the largest.
pub const GROUPS: [(&str, &str); 4] = [
    ("lab undergraduates", "Undergraduate students"),
    ("lab graduates", "Graduate students"),
    ("lab faculty", "Teaching staff"),
    ("lab staff", "Other staff"),
];

/// A material type of FOLIO's reference data.
pub struct MaterialType {
    /// FOLIO's id.
    pub id: &'static str,
    name: &'static str,
}

/// Book first, as the most frequent.
pub const MATERIAL_TYPES: [MaterialType; 4] = [
    MaterialType { id: "1a54b431-2e4f-452d-9cae-9cee66c9a892", name: "book" },
    MaterialType { id: "5ee11d91-f7e8-481d-b079-65d708582ccc", name: "dvd" },
    MaterialType { id: "dd0bf600-dbd9-44ab-9ff2-e2a61a6539f1", name: "sound recording" },
    MaterialType { id: "30b3e36a-d3b2-415e-98c2-47fbdf878862", name: "video recording" },
];

/// Name, days of the loan.
pub const LOAN_POLICIES: [(&str, u32); 2] = [("Lab three weeks", 21), ("Lab one week", 7)];

const REQUEST_POLICY: &str = "334e5a9e-94f9-4673-8d1d-ab552863886b";
const NOTICE_POLICY: &str = "122b3d2b-4788-4f1e-9117-56daa91cb75c";
const OVERDUE_POLICY: &str = "cd3f6cac-fa17-4079-9fae-2fb28e521412";
const LOST_ITEM_POLICY: &str = "ed892c0e-52e0-4cd9-8133-c0ef07b4a709";

/// The rules: three weeks for everything, one week for audio and video. No limits and no notices, so that
/// only the scan is measured.
pub fn circulation_rules() -> String {
    let policies = |loan: &str| {
        format!(
            "l {} r {REQUEST_POLICY} n {NOTICE_POLICY} o {OVERDUE_POLICY} i {LOST_ITEM_POLICY}",
            named(loan)
        )
    };
    let media: Vec<&str> = MATERIAL_TYPES[1..].iter().map(|material| material.id).collect();
    format!(
        "priority: t, s, c, b, a, m, g\nfallback-policy: {}\nm {}: {}\n",
        policies(LOAN_POLICIES[0].0),
        media.join(" "),
        policies(LOAN_POLICIES[1].0)
    )
}

/// Collection path and record of each prerequisite, in an order in which they can be created.
pub fn library() -> Vec<(&'static str, Value)> {
    let mut records = vec![
        (
            "/instance-types",
            json!({ "id": reference::TEXT, "name": "text", "code": "txt", "source": "rdacontent" }),
        ),
        (
            "/modes-of-issuance",
            json!({ "id": reference::SINGLE_UNIT, "name": "single unit", "source": "rdamodeissue" }),
        ),
        (
            "/contributor-name-types",
            json!({ "id": reference::PERSONAL_NAME, "name": "Personal name", "ordering": "1" }),
        ),
        (
            "/contributor-types",
            json!({ "id": reference::AUTHOR, "name": "Author", "code": "aut", "source": "marcrelator" }),
        ),
        ("/identifier-types", json!({ "id": reference::ISBN, "name": "ISBN", "source": "folio" })),
        (
            "/classification-types",
            json!({ "id": reference::LC_CLASSIFICATION, "name": "LC", "source": "folio" }),
        ),
        (
            "/call-number-types",
            json!({ "id": reference::LC_CALL_NUMBER, "name": "Library of Congress classification",
                "source": "system" }),
        ),
        ("/holdings-sources", json!({ "id": reference::SOURCE_FOLIO, "name": "FOLIO", "source": "folio" })),
        (
            "/loan-types",
            json!({ "id": reference::CAN_CIRCULATE, "name": "Can circulate", "source": "folio" }),
        ),
    ];
    for material in &MATERIAL_TYPES {
        records.push((
            "/material-types",
            json!({ "id": material.id, "name": material.name, "source": "folio" }),
        ));
    }
    records.extend(places());
    for (group, description) in GROUPS {
        records.push(("/groups", json!({ "id": named(group), "group": group, "desc": description })));
    }
    records.extend(policies());
    records
}

fn places() -> Vec<(&'static str, Value)> {
    let (institution, campus, building, worker) =
        (named("LAB-I"), named("LAB-C"), named("LAB-L"), named(DESK));
    let mut records = vec![
        (
            "/location-units/institutions",
            json!({ "id": institution, "name": "Lab University", "code": "LAB-I" }),
        ),
        (
            "/location-units/campuses",
            json!({ "id": campus, "name": "Lab campus", "code": "LAB-C", "institutionId": institution }),
        ),
        (
            "/location-units/libraries",
            json!({ "id": building, "name": "Lab library", "code": "LAB-L", "campusId": campus }),
        ),
        (
            "/service-points",
            json!({
                "id": worker, "name": "Lab desk", "code": DESK, "discoveryDisplayName": "Lab desk",
                "pickupLocation": true, "holdShelfExpiryPeriod": { "duration": 3, "intervalId": "Weeks" }
            }),
        ),
    ];
    for location in &LOCATIONS {
        records.push((
            "/locations",
            json!({
                "id": named(location.code), "name": location.name, "code": location.code,
                "discoveryDisplayName": location.name, "isActive": true, "institutionId": institution,
                "campusId": campus, "libraryId": building, "primaryServicePoint": worker, "servicePointIds": [worker]
            }),
        ));
    }
    records
}

fn policies() -> Vec<(&'static str, Value)> {
    let mut records = Vec::new();
    for (name, days) in LOAN_POLICIES {
        records.push((
            "/loan-policy-storage/loan-policies",
            json!({
                "id": named(name), "name": name, "loanable": true, "renewable": true,
                "loansPolicy": {
                    "profileId": "Rolling", "period": { "duration": days, "intervalId": "Days" },
                    "closedLibraryDueDateManagementId": "CURRENT_DUE_DATE"
                },
                "renewalsPolicy": {
                    "unlimited": false, "numberAllowed": 3, "renewFromId": "SYSTEM_DATE", "differentPeriod": false
                }
            }),
        ));
    }
    records.extend([
        (
            "/request-policy-storage/request-policies",
            json!({ "id": REQUEST_POLICY, "name": "Allow All", "requestTypes": ["Hold", "Page", "Recall"] }),
        ),
        (
            "/patron-notice-policy-storage/patron-notice-policies",
            json!({ "id": NOTICE_POLICY, "name": "Send No Notices", "active": true, "loanNotices": [],
                "requestNotices": [] }),
        ),
        (
            "/overdue-fines-policies",
            json!({
                "id": OVERDUE_POLICY, "name": "Overdue fine policy", "countClosed": true, "maxOverdueFine": 0.0,
                "forgiveOverdueFine": true, "gracePeriodRecall": true, "maxOverdueRecallFine": 0.0
            }),
        ),
        (
            "/lost-item-fees-policies",
            json!({
                "id": LOST_ITEM_POLICY, "name": "Lost item fee policy",
                "chargeAmountItem": { "chargeType": "actualCost", "amount": 0.0 }, "lostItemProcessingFee": 0.0,
                "chargeAmountItemPatron": true, "chargeAmountItemSystem": true,
                "lostItemChargeFeeFine": { "duration": 2, "intervalId": "Days" },
                "returnedLostItemProcessingFee": true, "replacedLostItemProcessingFee": true,
                "replacementProcessingFee": 0.0, "replacementAllowed": true, "lostItemReturned": "Charge"
            }),
        ),
    ]);
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_refers_to_is_made_before_it() {
        let mut made: Vec<String> = Vec::new();
        for (path, record) in library() {
            for (field, value) in record.as_object().unwrap() {
                let refers = field != "id" && field.ends_with("Id") || field == "primaryServicePoint";
                if let Some(id) = value.as_str().filter(|_| refers) {
                    assert!(made.contains(&id.to_string()), "{path} {field}");
                }
            }
            made.push(record["id"].as_str().unwrap().to_string());
        }
    }

    #[test]
    fn the_rules_name_policies_that_are_made() {
        let rules = circulation_rules();
        let policies: Vec<String> = library()
            .into_iter()
            .filter(|(path, _)| path.contains("polic"))
            .map(|(_, record)| record["id"].as_str().unwrap().to_string())
            .collect();
        assert_eq!(policies.len(), 6);
        assert!(policies.iter().all(|id| rules.contains(id.as_str())));
    }
}
