//! The account: a patron's loans, holds and charges, in one round trip.

use super::bad_request;
use super::batch::{self, BatchStatus};
use super::response::{ItemSummary, charge, hold, loan, money, names, text};
use carrel_circulation::records::loans::LOAN;
use carrel_circulation::records::requests::REQUEST;
use carrel_fees_fines::records::accounts::ACCOUNT;
use carrel_platform::database::Results;
use carrel_platform::http::Query;
use carrel_platform::record_store::{Records, read};
use carrel_platform::{Answer, Call, Json, Pipeline, Router};
use carrel_records::{Failure, RecordType, Refusal, RefusalCode};
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use serde_json::{Value, json};
use uuid::Uuid;

pub(super) fn connect(router: &mut Router) {
    router.on("GET", "/patron/account/{accountId}", account);
}

/// Which parts of the account the client includes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AccountParameters {
    loans: bool,
    holds: bool,
    charges: bool,
    batches: bool,
    sort_by: String,
    limit: i64,
    offset: i64,
}

impl AccountParameters {
    fn read(url: &Query) -> Result<AccountParameters, Failure> {
        let flag = |name: &str| url.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let most = i64::from(i32::MAX);
        Ok(AccountParameters {
            loans: flag("includeLoans"),
            holds: flag("includeHolds"),
            charges: flag("includeCharges"),
            batches: flag("includeBatches"),
            sort_by: url.get("sortBy").unwrap_or_default().trim().to_owned(),
            limit: url.number("limit", most, 0, most)?,
            offset: url.number("offset", 0, 0, most)?,
        })
    }

    /// The CQL of the patron's open records.
    fn query(&self, owner: &str, patron: Uuid, open: &str) -> String {
        let sort = if self.sort_by.is_empty() { String::new() } else { format!(" sortBy {}", self.sort_by) };
        format!("({owner}=={patron} and {open}){sort}")
    }
}

async fn account(call: Call) -> Result<Answer, Failure> {
    let patron = call.id(0)?;
    let requested = AccountParameters::read(&call.query)?;
    let all = &call.node.records;
    let mut pipeline = Pipeline::new();
    let user = pipeline.add("SELECT 1 FROM users WHERE id = $1", vec![patron.into()]);
    let locale = pipeline.add("SELECT doc->>'currency' FROM locale ORDER BY id LIMIT 1", vec![]);
    let setting = pipeline.add(
        "SELECT doc FROM patron_settings WHERE lower(doc->>'key') = lower($1) LIMIT 1",
        vec![BATCHES.into()],
    );
    let loans = Part::add(
        &mut pipeline,
        &LOAN,
        &requested.query("userId", patron, "status.name==Open"),
        &requested,
        requested.loans,
        all,
    )?;
    let holds = Part::add(
        &mut pipeline,
        &REQUEST,
        &requested.query("requesterId", patron, "status==Open*"),
        &requested,
        requested.holds || requested.batches,
        all,
    )?;
    let charges = Part::add(
        &mut pipeline,
        &ACCOUNT,
        &requested.query("userId", patron, "status.name==Open"),
        &requested,
        true,
        all,
    )?;
    let results = call.tenant()?.reader().await?.send(pipeline).await?;
    if results.rows(user).is_empty() {
        return Err(Failure::NotFound("Not found".into()));
    }
    if requested.batches {
        refuse_batches(results.document(setting).map(|setting| setting.parse()).as_ref())?;
    }
    let currency = results.first(locale).and_then(|row| row.get::<_, Option<String>>(0));
    let currency = currency.unwrap_or_else(|| "USD".to_owned());
    let owed = charges.rows(&results);
    // FOLIO quirk: the sum is that of the page, the count that of all.
    let sum: Decimal =
        owed.iter().filter_map(|(account, _)| Decimal::from_f64(account["remaining"].as_f64()?)).sum();
    let shown_loans: Vec<Value> =
        loans.rows(&results).iter().map(|(lent, thing)| loan(lent, thing, call.now)).collect();
    let requests = holds.rows(&results);
    let batches = if requested.batches { batches_of(&call, &requests).await? } else { Vec::new() };
    let shown_holds: Vec<Value> = requests
        .iter()
        .filter(|_| requested.holds)
        .map(|(request, thing)| with_batch(hold(request, thing), request, &batches))
        .collect();
    let shown_batches: Vec<Value> = batches
        .iter()
        .map(|(batch, (instance, title))| batch::status(batch, instance, title.as_deref()))
        .collect();
    let shown_charges: Vec<Value> = owed
        .iter()
        .filter(|_| requested.charges)
        .map(|(account, thing)| charge(account, thing.instance_id.is_some().then_some(thing), &currency))
        .collect();
    Ok(Answer::json(&json!({
        "totalCharges": money(sum.to_f64().unwrap_or(0.0), &currency),
        "totalChargesCount": charges.total(&results),
        "totalLoans": loans.total(&results),
        "totalHolds": holds.total(&results),
        "charges": shown_charges,
        "holds": shown_holds,
        "batches": shown_batches,
        "loans": shown_loans,
    })))
}

/// The statements of one part of the account in a pipeline: the page and the number of all.
struct Part {
    page: Option<usize>,
    count: usize,
}

impl Part {
    fn add(
        pipeline: &mut Pipeline,
        record: &'static RecordType,
        query: &str,
        requested: &AccountParameters,
        wanted: bool,
        all: &Records,
    ) -> Result<Part, Failure> {
        let understood = || {
            let query = read::parse(query)?;
            read::condition(Some(&query), record, all)
        };
        let condition = understood().map_err(|failure| match failure {
            Failure::Invalid(request) => bad_request(request),
            other => other,
        })?;
        let page = (wanted && requested.limit > 0).then(|| {
            let (page, binds) = read::page_of(&condition, requested.limit, requested.offset);
            let columns = format!("{table}.doc, {table}.item_id", table = record.table);
            // If the item was deleted, the title comes from the request's instance.
            pipeline.add(
                format!(
                    "SELECT page.doc, page.item_id, item.id, instance.id, instance.doc->>'title',
                         instance.doc->'contributors'
                     FROM {} page
                     LEFT JOIN item ON item.id = page.item_id
                     LEFT JOIN holdings_record ON holdings_record.id = item.holdings_record_id
                     LEFT JOIN instance ON instance.id
                         = coalesce(holdings_record.instance_id, (page.doc->>'instanceId')::uuid)
                     ORDER BY page.place",
                    read::numbered(&columns, &page)
                ),
                binds,
            )
        });
        let count = pipeline.add(
            format!("SELECT count(*) FROM {} WHERE {}", condition.from, condition.conditions),
            read::binds(&condition.arguments),
        );
        Ok(Part { page, count })
    }

    fn total(&self, results: &Results) -> i64 {
        results.first(self.count).map_or(0, |row| row.get(0))
    }

    fn rows(&self, results: &Results) -> Vec<(Value, ItemSummary)> {
        let rows = self.page.map_or(&[][..], |page| results.rows(page));
        rows.iter()
            .map(|row| {
                let document = row.get::<_, Json>(0).parse();
                let id = |place: usize| row.get::<_, Option<Uuid>>(place).map(|id| id.to_string());
                let contributors = row.get::<_, Option<Json>>(5).map_or(Value::Null, |json| json.parse());
                let thing = ItemSummary {
                    instance_id: id(3).or_else(|| text(&document["instanceId"])),
                    item_id: id(1),
                    title: row.get::<_, Option<String>>(4).or_else(|| text(&document["instance"]["title"])),
                    authors: names(&contributors),
                };
                (document, thing)
            })
            .collect()
    }
}

/// The batches that created these requests, each with the id and title of its instance.
async fn batches_of(
    call: &Call,
    requests: &[(Value, ItemSummary)],
) -> Result<Vec<(BatchStatus, Titled)>, Failure> {
    let ids: Vec<Uuid> = requests.iter().filter_map(|(request, _)| id_at(request)).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let batches = batch::of_requests(&call.tenant()?.reader().await?, ids).await?;
    let titled = batches.into_iter().map(|batch| {
        let of_batch = |request: &Value| batch.lines.iter().any(|line| Some(line.request) == id_at(request));
        let thing = requests.iter().find(|(request, _)| of_batch(request)).map(|(_, thing)| thing);
        let instance = thing.and_then(|thing| thing.instance_id.clone()).unwrap_or_default();
        let title = thing.and_then(|thing| thing.title.clone());
        (batch, (instance, title))
    });
    Ok(titled.collect())
}

/// Id and title of an instance.
type Titled = (String, Option<String>);

fn id_at(request: &Value) -> Option<Uuid> {
    request["id"].as_str().and_then(|id| Uuid::parse_str(id).ok())
}

/// A hold with the batch that created it.
fn with_batch(mut hold: Value, request: &Value, batches: &[(BatchStatus, Titled)]) -> Value {
    let batch =
        batches.iter().find(|(batch, _)| batch.lines.iter().any(|line| Some(line.request) == id_at(request)));
    if let Some((batch, _)) = batch {
        hold["batchRequestInfo"] = json!({"batchRequestId": batch.id,
            "batchRequestSubmittedAt": batch.document["requestDate"]});
    }
    hold
}

/// The setting that enables requests for several items at once.
const BATCHES: &str = "isMultiItemRequestingFeatureEnabled";

/// Batches are reported only if the library has enabled them.
fn refuse_batches(setting: Option<&Value>) -> Result<(), Refusal> {
    let Some(setting) = setting else {
        return Err(Refusal::new(format!("Setting entity not found by key: {BATCHES}"))
            .with("key", BATCHES)
            .code(RefusalCode::SettingNotFound));
    };
    let value = &setting["value"];
    let enabled = match &value["enabled"] {
        Value::Bool(enabled) => Some(*enabled),
        Value::String(text) => Some(text.eq_ignore_ascii_case("true")),
        _ => None,
    };
    match enabled {
        Some(true) => Ok(()),
        Some(false) => {
            Err(Refusal::new(format!("Patron setting {BATCHES} is not enabled")).with(BATCHES, "false"))
        }
        None => Err(Refusal::new(format!("Invalid setting value: {value} for key: {BATCHES}"))
            .with("value", value.to_string())
            .code(RefusalCode::InvalidSettingValue)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_limit_everything_is_reported_and_by_default_only_totals() {
        let requested =
            AccountParameters::read(&Query::read("includeLoans=true&sortBy=item.title/sort.ascending"));
        let requested = requested.expect("fits");
        assert_eq!((requested.loans, requested.holds, requested.charges), (true, false, false));
        assert_eq!((requested.limit, requested.offset), (i64::from(i32::MAX), 0));
        let query = requested.query("userId", Uuid::nil(), "status.name==Open");
        assert!(query.ends_with(" and status.name==Open) sortBy item.title/sort.ascending"), "{query}");
        assert!(AccountParameters::read(&Query::read("limit=-1")).is_err());
    }

    #[test]
    fn batches_are_reported_only_if_enabled() {
        let refusal_for = |setting: Option<Value>| {
            refuse_batches(setting.as_ref()).err().map(|refusal| (refusal.message, refusal.code))
        };
        assert_eq!(refusal_for(Some(json!({"value": {"enabled": true}}))), None);
        assert_eq!(
            refusal_for(None),
            Some((format!("Setting entity not found by key: {BATCHES}"), Some(RefusalCode::SettingNotFound)))
        );
        let off = refusal_for(Some(json!({"value": {"enabled": false}})));
        assert_eq!(off, Some((format!("Patron setting {BATCHES} is not enabled"), None)));
        assert_eq!(
            refusal_for(Some(json!({"value": 5}))).and_then(|(_, code)| code),
            Some(RefusalCode::InvalidSettingValue)
        );
    }
}
