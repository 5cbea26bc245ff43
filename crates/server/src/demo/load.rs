//! Loads the sample library: locations, hours, policies and rules, then users and stock, then the circulation of some
//! weeks.
//!
//! Every id is fixed, so the next start continues an interrupted load. A configuration entry marks the stock as loaded
//! and another one everything; later starts change nothing.

use super::activity::{self, Activity};
use super::api::Api;
use super::ids::*;
use super::{people, works};
use http::Method;
use jiff::civil::Date;
use serde_json::{Value, json};
use std::fmt;
use uuid::Uuid;

/// Path of the calendars.
const CALENDARS: &str = "/calendar/calendars";

/// The result of a start.
pub enum Loaded {
    Before,
    Now(Counts),
}

/// Numbers of loaded records.
pub struct Counts {
    works: usize,
    items: usize,
    users: usize,
    activity: Activity,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { works, items, users, activity } = self;
        write!(
            f,
            "{works} works with {items} items, {users} users, {} loans ({} overdue) and {} requests",
            activity.loans, activity.overdue, activity.requests
        )
    }
}

/// Records in one call.
const BATCH: usize = 500;

/// Loads what is not stored yet.
pub async fn load(api: &mut Api) -> Result<Loaded, String> {
    if is_marked(api, "loaded").await? {
        return Ok(Loaded::Before);
    }
    let now = jiff::Timestamp::now();
    let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let users = people::users(today);
    let stock = works::stock();
    // Storing an item again would reset the status that a loan has set.
    if !is_marked(api, "stock").await? {
        let settings = locations().into_iter().chain(hours(today)).chain(policies()).chain(fees());
        for (path, record) in settings.chain(configuration()) {
            store(api, path, &record).await?;
        }
        api.send(Method::PUT, "/circulation/rules", &json!({"rulesAsText": rules()})).await?;
        for user in &users {
            store(api, "/users", user).await?;
        }
        // The unsafe routes ignore the versions left by an interrupted load.
        store_many(api, "/instance-storage/batch/synchronous-unsafe", "instances", &stock.instances).await?;
        store_many(api, "/holdings-storage/batch/synchronous-unsafe", "holdingsRecords", &stock.holdings)
            .await?;
        store_many(api, "/item-storage/batch/synchronous-unsafe", "items", &stock.items).await?;
        assign_service_points(api).await?;
        mark(api, "stock").await?;
    }
    let activity = activity::record(api, &users, &stock, now).await?;
    mark(api, "loaded").await?;
    Ok(Loaded::Now(Counts {
        works: stock.instances.len(),
        items: stock.items.len(),
        users: users.len(),
        activity,
    }))
}

async fn is_marked(api: &mut Api, part: &str) -> Result<bool, String> {
    Ok(api.find(&format!("/configurations/entries/{}", id_of(part))).await?.is_some())
}

async fn mark(api: &mut Api, part: &str) -> Result<(), String> {
    let mark = json!({
        "id": id_of(part), "module": "CARREL", "configName": "sample", "code": part, "enabled": true,
        "value": "The sample library is loaded.",
    });
    store(api, "/configurations/entries", &mark).await
}

/// Stores a record unless it is stored already.
pub async fn store(api: &mut Api, path: &str, record: &Value) -> Result<(), String> {
    let answer = api.call(Method::POST, path, record).await?;
    if answer.status.is_success() {
        return Ok(());
    }
    // The record may come from an interrupted load.
    let is_there = if path == CALENDARS {
        // A calendar gets a new id when it is created.
        let page = api.find(&format!("{CALENDARS}?limit=1000")).await?.unwrap_or_default();
        page["calendars"].as_array().into_iter().flatten().any(|calendar| calendar["name"] == record["name"])
    } else {
        let id = record["id"].as_str().unwrap_or_default();
        api.find(&format!("{path}/{id}")).await?.is_some()
    };
    if is_there { Ok(()) } else { Err(format!("POST {path} was answered with {}", answer.brief())) }
}

async fn store_many(api: &mut Api, path: &str, key: &str, records: &[Value]) -> Result<(), String> {
    for batch in records.chunks(BATCH) {
        api.send(Method::POST, &format!("{path}?upsert=true"), &json!({key: batch})).await?;
    }
    Ok(())
}

/// The administrator may work at every service point.
async fn assign_service_points(api: &mut Api) -> Result<(), String> {
    let found = api.find(&format!("/users?query=username==%22{}%22", super::ADMIN)).await?;
    let Some(admin) = found.as_ref().and_then(|page| page.pointer("/users/0/id")) else {
        return Err("the administrator is not among the users".into());
    };
    let record = json!({
        "id": id_of("desks of the administrator"), "userId": admin, "defaultServicePointId": CIRC_DESK_1,
        "servicePointsIds": service_points().map(|(id, _)| id),
    });
    store(api, "/service-points-users", &record).await
}

/// Every service point of the sample library: those of the reference data and the branch's.
fn service_points() -> [(Uuid, &'static str); 5] {
    [
        (CIRC_DESK_1, "Circ Desk 1"),
        (CIRC_DESK_2, "Circ Desk 2"),
        (branch_desk(), "Colophon Branch Desk"),
        (ONLINE, "Online"),
        (INTERIM, "Interim service point"),
    ]
}

type Record = (&'static str, Value);

/// Settings in mod-configuration, where migration tools and older clients expect them.
fn configuration() -> Vec<Record> {
    let entry = |module: &str, name: &str, value: Value| {
        let id = id_of(&format!("setting {module} {name}"));
        let entry = json!({
            "id": id, "module": module, "configName": name, "enabled": true, "value": value.to_string()
        });
        ("/configurations/entries", entry)
    };
    vec![
        entry("ORG", "localeSettings", json!({"locale": "en-US", "timezone": "UTC", "currency": "USD"})),
        entry(
            "CHECKOUT",
            "other_settings",
            json!({
                "audioAlertsEnabled": false, "audioTheme": "classic", "checkoutTimeout": true,
                "checkoutTimeoutDuration": 3, "prefPatronIdentifier": "barcode,username"
            }),
        ),
    ]
}

/// Institution, campuses, libraries, service points, locations.
fn locations() -> Vec<Record> {
    let institution = id_of("institution");
    let campus = |name: &str| id_of(&format!("campus {name}"));
    let node = |name: &str| id_of(&format!("library {name}"));
    let branch_desk = branch_desk();
    let mut records: Vec<Record> = vec![
        (
            "/service-points",
            json!({
                "id": branch_desk, "name": "Colophon Branch Desk", "code": "cbd", "pickupLocation": true,
                "discoveryDisplayName": "Colophon Branch", "description": "The desk of the branch in Port Colophon",
                "holdShelfExpiryPeriod": {"duration": 10, "intervalId": "Days"},
            }),
        ),
        (
            "/location-units/institutions",
            json!({"id": institution, "name": "Vellumton University", "code": "VU"}),
        ),
    ];
    for (key, name, code) in [("main", "Vellumton Campus", "VC"), ("branch", "Port Colophon Campus", "PC")] {
        let record = json!({"id": campus(key), "name": name, "code": code, "institutionId": institution});
        records.push(("/location-units/campuses", record));
    }
    for (key, name, code, of) in [
        ("main", "Main Library of Vellumton", "VM", "main"),
        ("science", "Science Library of Vellumton", "VS", "main"),
        ("branch", "Colophon Branch Library", "CB", "branch"),
    ] {
        let record = json!({"id": node(key), "name": name, "code": code, "campusId": campus(of)});
        records.push(("/location-units/libraries", record));
    }
    for (key, name, code, of, on, desk) in [
        ("stacks", "Main Stacks", "VU/VC/VM/S", "main", "main", CIRC_DESK_1),
        ("reading room", "Main Reading Room", "VU/VC/VM/R", "main", "main", CIRC_DESK_1),
        ("science", "Science Stacks", "VU/VC/VS/S", "science", "main", CIRC_DESK_2),
        ("branch", "Branch Stacks", "VU/PC/CB/S", "branch", "branch", branch_desk),
    ] {
        records.push(("/locations", json!({
            "id": id_of(&format!("location {key}")), "name": name, "code": code, "discoveryDisplayName": name,
            "isActive": true, "institutionId": institution, "campusId": campus(on), "libraryId": node(of),
            "primaryServicePoint": desk, "servicePointIds": [desk],
        })));
    }
    records
}

/// Opening hours from the previous year, in which the oldest loans begin, to the second year after this one.
fn hours(today: Date) -> Vec<Record> {
    let year = today.year();
    let week = |from: &str, to: &str| -> Vec<Value> {
        ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY"]
            .iter()
            .map(|day| json!({"startDay": day, "startTime": from, "endDay": day, "endTime": to}))
            .collect()
    };
    let saturday =
        json!({"startDay": "SATURDAY", "startTime": "10:00", "endDay": "SATURDAY", "endTime": "18:00"});
    let closed: Vec<Value> = (year - 1..=year + 2)
        .map(|year| {
            json!({"name": format!("Turn of the year {year}"), "startDate": format!("{year}-12-24"),
                   "endDate": format!("{year}-12-31"), "openings": []})
        })
        .collect();
    let calendar = |name: &str, desks: Vec<Uuid>, hours: Vec<Value>| -> Record {
        (
            CALENDARS,
            json!({
                "id": id_of(&format!("calendar {name}")), "name": name, "assignments": desks,
                "startDate": format!("{}-01-01", year - 1), "endDate": format!("{}-12-31", year + 2),
                "normalHours": hours, "exceptions": closed,
            }),
        )
    };
    let mut main = week("08:00", "21:00");
    main.push(saturday);
    vec![
        calendar("Main and Science", vec![CIRC_DESK_1, CIRC_DESK_2, ONLINE, INTERIM], main),
        calendar("Colophon Branch", vec![branch_desk()], week("09:00", "17:00")),
    ]
}

/// Policies beyond those of the reference data.
fn policies() -> Vec<Record> {
    let loans = "/loan-policy-storage/loan-policies";
    let for_weeks = |weeks: u32| json!({"duration": weeks, "intervalId": "Weeks"});
    let recalls = json!({"recalls": {
        "minimumGuaranteedLoanPeriod": {"duration": 10, "intervalId": "Days"},
        "recallReturnInterval": {"duration": 7, "intervalId": "Days"},
    }});
    let loan = |name: &str, weeks: u32, renewals: u32| {
        (
            loans,
            json!({
                "id": id_of(&format!("loan policy {name}")), "name": name, "loanable": true,
                "loansPolicy": {"profileId": "Rolling", "period": for_weeks(weeks),
                    "closedLibraryDueDateManagementId": "END_OF_THE_NEXT_OPEN_DAY"},
                "renewable": true,
                // From the system date, a renewal right after the check-out would change nothing and be refused.
                "renewalsPolicy": {"unlimited": false, "numberAllowed": renewals, "renewFromId": "CURRENT_DUE_DATE",
                    "differentPeriod": false},
                "requestManagement": recalls,
            }),
        )
    };
    let notice = |when: &str, how: &str, by: Value| {
        let mut options = json!({"sendHow": how, "sendWhen": when});
        if !by.is_null() {
            options["sendBy"] = by;
        }
        json!({"name": when, "templateId": id_of("template due"), "format": "Email", "frequency": "One time",
               "realTime": false, "sendOptions": options})
    };
    vec![
        loan("Four weeks", 4, 3),
        loan("A semester", 18, 1),
        (
            loans,
            json!({
                "id": id_of("loan policy Two hours"), "name": "Two hours", "loanable": true,
                "loansPolicy": {"profileId": "Rolling", "period": {"duration": 2, "intervalId": "Hours"},
                    "closedLibraryDueDateManagementId": "CURRENT_DUE_DATE_TIME"},
                "renewable": false,
            }),
        ),
        (
            loans,
            json!({"id": id_of("loan policy Not lent"), "name": "Not lent", "loanable": false,
                       "renewable": false}),
        ),
        (
            "/overdue-fines-policies",
            json!({
                "id": id_of("overdue policy"), "name": "A quarter a day", "countClosed": false,
                "overdueFine": {"quantity": 0.25, "intervalId": "day"}, "maxOverdueFine": 10.0,
                "forgiveOverdueFine": true, "gracePeriodRecall": true,
                "overdueRecallFine": {"quantity": 1.0, "intervalId": "day"}, "maxOverdueRecallFine": 20.0,
            }),
        ),
        (
            "/lost-item-fees-policies",
            json!({
                "id": id_of("lost policy"), "name": "Lost after six weeks", "itemAgedLostOverdue": for_weeks(6),
                "patronBilledAfterAgedLost": for_weeks(1),
                "chargeAmountItem": {"chargeType": "anotherCost", "amount": 45.0}, "lostItemProcessingFee": 10.0,
                "chargeAmountItemPatron": true, "chargeAmountItemSystem": true,
                "lostItemChargeFeeFine": for_weeks(26), "returnedLostItemProcessingFee": true,
                "replacedLostItemProcessingFee": true, "replacementProcessingFee": 0.0, "replacementAllowed": false,
                "lostItemReturned": "Charge",
            }),
        ),
        (
            "/templates",
            json!({
                "id": id_of("template due"), "description": "Loan is due", "outputFormats": ["text/html"],
                "templateResolver": "mustache",
                "localizedTemplates": {"en": {
                    "header": "Your loan of {{item.title}}",
                    "body": "<p>Dear {{user.firstName}} {{user.lastName}},</p><p>{{item.title}} is due on {{loan.dueDate}}.</p>",
                    "attachments": [],
                }},
            }),
        ),
        (
            "/patron-notice-policy-storage/patron-notice-policies",
            json!({
                "id": id_of("notice policy"), "name": "Before and when due", "active": true,
                "loanNotices": [
                    notice("Due date", "Before", json!({"duration": 3, "intervalId": "Days"})),
                    notice("Due date", "Upon At", Value::Null),
                ],
                "requestNotices": [], "feeFineNotices": [],
            }),
        ),
    ]
}

/// The owner of all fees/fines, manual types of fees/fines, and the ways to settle them.
fn fees() -> Vec<Record> {
    let owner = id_of("fee owner");
    let owned = service_points().map(|(id, name)| json!({"value": id, "label": name}));
    vec![
        (
            "/owners",
            json!({"id": owner, "owner": "Circulation of Vellumton", "desc": "Fees and fines of all desks",
                   "servicePointOwner": owned}),
        ),
        (
            "/feefines",
            json!({"id": id_of("fee type damage"), "feeFineType": "Damaged item", "automatic": false,
                   "defaultAmount": 15.0, "ownerId": owner}),
        ),
        (
            "/feefines",
            json!({"id": id_of("fee type card"), "feeFineType": "Replacement of a library card",
                   "automatic": false, "defaultAmount": 5.0, "ownerId": owner}),
        ),
        (
            "/payments",
            json!({"id": id_of("payment cash"), "nameMethod": "Cash", "allowedRefundMethod": true,
                   "ownerId": owner}),
        ),
        (
            "/payments",
            json!({"id": id_of("payment card"), "nameMethod": "Credit card", "allowedRefundMethod": false,
                   "ownerId": owner}),
        ),
        ("/transfers", json!({"id": id_of("transfer bursar"), "accountName": "Bursar", "ownerId": owner})),
        ("/waives", json!({"id": id_of("waive first"), "nameReason": "First offence"})),
        ("/refunds", json!({"id": id_of("refund overpaid"), "nameReason": "Overpaid"})),
    ]
}

/// The circulation rules of the sample library.
fn rules() -> String {
    let chosen = |loan: &str, request: Uuid, notice: Uuid| {
        format!(
            "l {} r {request} n {notice} o {} i {}",
            id_of(&format!("loan policy {loan}")),
            id_of("overdue policy"),
            id_of("lost policy")
        )
    };
    let notices = id_of("notice policy");
    format!(
        "priority: t, s, c, b, a, m, g\n\
         fallback-policy: {}\n\n\
         # Faculty and graduates have longer loans.\n\
         g {FACULTY} {GRADUATE}: {}\n\
         # Course reserves have short loans.\n\
         t {COURSE_RESERVES}: {}\n\
         # Items of the reading room are not lent.\n\
         t {READING_ROOM}: {}\n",
        chosen("Four weeks", ALLOW_ALL_REQUESTS, notices),
        chosen("A semester", ALLOW_ALL_REQUESTS, notices),
        chosen("Two hours", HOLD_ONLY, SEND_NO_NOTICES),
        chosen("Not lent", HOLD_ONLY, SEND_NO_NOTICES),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_the_sample_are_rules() {
        let text = rules();
        assert!(carrel_circulation_rules::Rules::parse(&text).is_ok(), "{text}");
    }
}
