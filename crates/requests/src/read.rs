//! Reads requests: one, many by CQL, or a queue; each page with the related records in one round trip.

use super::view::{DisplayContext, extended};
use carrel_circulation::desk::item::{COLUMNS_WITHOUT_TITLE, TITLE, Title};
use carrel_circulation::desk::{ItemAtDesk, Patron};
use carrel_circulation::records::loans::OPEN;
use carrel_circulation::records::requests::REQUEST;
use carrel_circulation::request_snapshot::Related;
use carrel_circulation::settings::CirculationSettings;
use carrel_platform::http::pretty;
use carrel_platform::record_store::read::{PageRequest, numbered};
use carrel_platform::record_store::stream;
use carrel_platform::{Answer, Bind, Call, Connection, Json, Pipeline, Router, Tenant, Tx};
use carrel_records::Failure;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio_postgres::Row;
use uuid::Uuid;

/// Requests in the list of a queue, at most.
const LONGEST_QUEUE: i64 = 1_000;

/// A request with its related records.
pub struct RequestWithRelated {
    pub document: Map<String, Value>,
    pub item: Option<ItemAtDesk>,
    pub title: Option<Title>,
    pub requester: Option<Patron>,
    pub proxy: Option<Patron>,
    pub due_date: Option<String>,
    pub printed_by: Option<Value>,
}

impl RequestWithRelated {
    /// The request in the form of the circulation API.
    pub fn extended(&self, settings: &CirculationSettings) -> Value {
        let context = DisplayContext {
            related: Related {
                item: self.item.as_ref(),
                title: self.title.as_ref(),
                requester: self.requester.as_ref(),
                proxy: self.proxy.as_ref(),
            },
            item_status: None,
            due_date: self.due_date.as_deref(),
            printed_by: self.printed_by.as_ref(),
        };
        extended(&self.document, &context, settings)
    }
}

/// The requests that a statement finds; it selects `request.*` and their order as `place`.
pub async fn found(
    connection: &Connection,
    page: &str,
    binds: Vec<Bind>,
) -> Result<Vec<RequestWithRelated>, Failure> {
    connection.query(found_sql(&format!("({page})")), binds).await?.iter().map(read_row).collect()
}

/// [`found`] within a transaction.
pub async fn found_in(tx: &mut Tx, page: &str, binds: Vec<Bind>) -> Result<Vec<RequestWithRelated>, Failure> {
    tx.query(found_sql(&format!("({page})")), binds).await?.iter().map(read_row).collect()
}

/// FOLIO's shape accepts any text here.
const PRINTED_BY: &str = "page.doc->'printDetails'->>'requesterId'";

fn found_sql(page: &str) -> String {
    format!(
        "SELECT page.doc, requester.doc, proxy.doc, {TITLE}, loan.doc->>'dueDate', printed.doc->'personal',
            {COLUMNS_WITHOUT_TITLE}
         FROM {page} page
         LEFT JOIN item ON item.id = page.item_id
         LEFT JOIN item_state ON item_state.item_id = item.id
         LEFT JOIN holdings_record ON holdings_record.id = item.holdings_record_id
         LEFT JOIN instance ON instance.id = page.instance_id
         LEFT JOIN users requester ON requester.id = page.requester_id
         LEFT JOIN users proxy ON proxy.id = (page.doc->>'proxyUserId')::uuid
         LEFT JOIN users printed ON printed.id = CASE WHEN {PRINTED_BY} ~ '^[0-9a-fA-F]{{8}}(-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}$'
             THEN ({PRINTED_BY})::uuid END
         LEFT JOIN loan ON loan.item_id = page.item_id AND loan.{OPEN}
         ORDER BY page.place"
    )
}

fn read_row(row: &Row) -> Result<RequestWithRelated, Failure> {
    let Value::Object(document) = row.get::<_, Json>(0).parse() else {
        return Err(Failure::internal("a stored request is an object"));
    };
    Ok(RequestWithRelated {
        document,
        requester: Patron::at(row, 1)?,
        proxy: Patron::at(row, 2)?,
        title: Title::at(row, 3)?,
        due_date: row.get(4),
        printed_by: row.get::<_, Option<Json>>(5).map(|json| json.parse()),
        item: ItemAtDesk::read(row, 6)?,
    })
}

/// The requests that a statement finds, with settings that are at least as new: an item may just have been moved to a
/// new location.
async fn found_with_settings(
    tenant: &Tenant,
    connection: Connection,
    page: &str,
    binds: Vec<Bind>,
) -> Result<(Vec<RequestWithRelated>, Arc<CirculationSettings>), Failure> {
    let mut pipeline = Pipeline::new();
    let requests = pipeline.add(found_sql(&format!("({page})")), binds);
    let settings_version = pipeline.add("SELECT value FROM settings_version WHERE id = 1", vec![]);
    let results = connection.send(pipeline).await?;
    drop(connection);
    let found = results.rows(requests).iter().map(read_row).collect::<Result<_, Failure>>()?;
    let settings =
        CirculationSettings::at_least(tenant, results.first(settings_version).map_or(0, |row| row.get(0)))
            .await?;
    Ok((found, settings))
}

/// One request in the form of the circulation API.
async fn one(tenant: &Tenant, connection: Connection, id: Uuid) -> Result<Answer, Failure> {
    let page = "SELECT request.*, 1 AS place FROM request WHERE request.id = $1";
    let (found, settings) = found_with_settings(tenant, connection, page, vec![id.into()]).await?;
    let request = found.first().ok_or_else(|| unknown(&id.to_string()))?;
    Ok(Answer::json_bytes(pretty(&request.extended(&settings))))
}

/// The open requests of an item or of an instance in the order of their positions.
pub async fn queue(
    tenant: &Tenant,
    connection: Connection,
    of: carrel_loan_rules::request_queue::QueueKind,
    id: Uuid,
) -> Result<Answer, Failure> {
    let which = match of {
        carrel_loan_rules::request_queue::QueueKind::Item => {
            "request.item_id = $1 AND coalesce(request.doc->>'requestLevel', 'Item') = 'Item'"
        }
        carrel_loan_rules::request_queue::QueueKind::Instance => "request.instance_id = $1",
    };
    let page = format!(
        "SELECT request.*, row_number() OVER (ORDER BY request.position) AS place FROM request
         WHERE {which} AND request.is_open ORDER BY request.position LIMIT $2"
    );
    let binds = vec![id.into(), LONGEST_QUEUE.into()];
    let (found, settings) = found_with_settings(tenant, connection, &page, binds).await?;
    let shown: Vec<Value> = found.iter().map(|request| request.extended(&settings)).collect();
    Ok(Answer::json_bytes(pretty(&json!({"requests": shown, "totalRecords": shown.len()}))))
}

/// The requests that a CQL query finds.
async fn list(call: Call) -> Result<Answer, Failure> {
    let requested = PageRequest::read(&call.query)?;
    let settings = CirculationSettings::of(call.tenant()?).await?;
    let select = |page: &str| found_sql(&numbered("request.*", page));
    let show = move |row: &Row| Ok(read_row(row)?.extended(&settings));
    stream::shown(&call, &REQUEST, &requested, select, show).await
}

/// The failure for an unknown request.
pub fn unknown(id: &str) -> Failure {
    Failure::NotFound(format!("requests record with ID \"{id}\" cannot be found"))
}

/// The request after a change of it.
pub async fn answer(tenant: &Tenant, id: Uuid) -> Result<Answer, Failure> {
    one(tenant, tenant.writer().await?, id).await
}

pub fn connect(router: &mut Router) {
    router.on("GET", "/circulation/requests", list);
    router.on("GET", "/circulation/requests/{id}", |call| async move {
        let tenant = call.tenant()?;
        let id = call.id(0).map_err(|_| unknown(call.parameter(0)))?;
        one(tenant, tenant.reader().await?, id).await
    });
    router.on("GET", "/circulation/requests/queue/item/{id}", |call| {
        shown_queue(call, carrel_loan_rules::request_queue::QueueKind::Item)
    });
    router.on("GET", "/circulation/requests/queue/instance/{id}", |call| {
        shown_queue(call, carrel_loan_rules::request_queue::QueueKind::Instance)
    });
}

async fn shown_queue(call: Call, of: carrel_loan_rules::request_queue::QueueKind) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    queue(tenant, tenant.reader().await?, of, call.id(0)?).await
}
