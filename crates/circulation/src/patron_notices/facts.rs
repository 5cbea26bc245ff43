//! Loans, requests, fees and people of notices, each kind read in one statement for a whole batch.

use super::policy::ContactPreference;
use crate::desk::item::{self, TITLE, Title};
use crate::desk::{ItemAtDesk, Patron, is_valid_relation};
use crate::document::text_at;
use carrel_fees_fines::patron_notified::is_action;
use carrel_notices::rendering::Templates;
use carrel_platform::{Connection, Json, Pipeline};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;
use tokio_postgres::Row;
use uuid::Uuid;

/// A loan with the values for its notices.
#[derive(Debug, Clone, Default)]
pub struct LoanFacts {
    pub id: Uuid,
    pub document: Map<String, Value>,
    pub item: Option<ItemAtDesk>,
    pub patron: Option<Patron>,
    /// The latest comment for the patron.
    pub patron_info: Option<String>,
    /// Fees for the lost item were charged.
    pub has_lost_item_fees: bool,
}

/// A request with the values for its notices.
#[derive(Debug, Clone, Default)]
pub struct RequestFacts {
    pub id: Uuid,
    pub document: Map<String, Value>,
    pub item: Option<ItemAtDesk>,
    /// The title of the request's instance.
    pub title: Option<Title>,
    pub requester: Option<Patron>,
}

/// A fee/fine action with its account and the action that charged it.
#[derive(Debug, Clone, Default)]
pub struct FeeFacts {
    pub action: Map<String, Value>,
    pub account: Map<String, Value>,
    pub charge: Option<Map<String, Value>>,
    /// The type of the fee/fine.
    pub kind: Option<Map<String, Value>>,
    /// Whom fees/fines of the type are owed.
    pub owner: Option<Map<String, Value>>,
    pub item: Option<ItemAtDesk>,
    pub patron: Option<Patron>,
}

impl FeeFacts {
    /// The record is of an action, such as a payment; else it is of the charge itself.
    pub fn is_action(&self) -> bool {
        is_action(text_at(&self.action, "typeAction"))
    }

    /// The template that type or owner name for charges, or for actions; else why it cannot be known.
    pub fn template(&self) -> Result<Option<Uuid>, String> {
        let (of_kind, of_owner) = match self.is_action() {
            true => ("actionNoticeId", "defaultActionNoticeId"),
            false => ("chargeNoticeId", "defaultChargeNoticeId"),
        };
        let id = |document: &Map<String, Value>, key: &str| {
            document.get(key).and_then(Value::as_str).unwrap_or("null").to_owned()
        };
        let failed = || format!("Failed to find Feefine {}", id(&self.account, "feeFineId"));
        let kind = self.kind.as_ref().ok_or_else(failed)?;
        let own = Uuid::parse_str(text_at(kind, of_kind)).ok();
        if own.is_some() {
            return Ok(own);
        }
        // FOLIO quirk: the owner of the type counts, not that of the fee/fine.
        let owner =
            self.owner.as_ref().ok_or_else(|| format!("Invalid Owner ID: {}", id(kind, "ownerId")))?;
        Ok(Uuid::parse_str(text_at(owner, of_owner)).ok())
    }
}

/// The records of a batch by their ids.
#[derive(Debug, Clone, Default)]
pub struct Records {
    pub loans: HashMap<Uuid, LoanFacts>,
    pub requests: HashMap<Uuid, RequestFacts>,
    /// By the id of the action.
    pub fees: HashMap<Uuid, FeeFacts>,
    /// The open loan of an item.
    pub loan_of_item: HashMap<Uuid, Uuid>,
    /// Sessions at a desk that have not ended, by the client's id.
    pub open_sessions: HashSet<Uuid>,
}

/// Ids of records to read.
#[derive(Debug, Default)]
pub struct Wanted {
    pub loans: Vec<Uuid>,
    pub requests: Vec<Uuid>,
    pub fee_fine_actions: Vec<Uuid>,
    pub sessions: Vec<Uuid>,
}

/// The addresses of a user.
#[derive(Debug, Clone, Default)]
pub struct Contact {
    pub email: Option<String>,
    pub preference: ContactPreference,
}

/// The users of a batch, and the templates of its notices.
pub struct People {
    pub contacts: HashMap<Uuid, Contact>,
    /// Pairs of sponsor and proxy in which the proxy currently gets the notices.
    proxies: HashSet<(Uuid, Uuid)>,
    pub templates: Templates,
}

impl People {
    /// The recipient of the notices of a patron's loan or request: the proxy, if the relationship says so.
    pub fn recipient(&self, patron: Uuid, proxy: Option<Uuid>) -> Uuid {
        proxy.filter(|proxy| self.proxies.contains(&(patron, *proxy))).unwrap_or(patron)
    }
}

/// The loans include the open loans of requested items.
static LOANS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT loan.id AS loan_id, loan.doc AS loan, loan.holds_item, patron.doc AS patron,
             (SELECT history.doc->'loan'->>'actionComment' FROM audit_loan history
                 WHERE history.loan_id = loan.id AND history.doc->'loan'->>'action' = 'patronInfoAdded'
                 ORDER BY history.doc->>'createdDate' DESC LIMIT 1) AS patron_info,
             EXISTS (SELECT FROM accounts WHERE accounts.loan_id = loan.id AND accounts.doc->>'feeFineType' IN
                 ('Lost item fee', 'Lost item fee (actual cost)', 'Lost item processing fee')) AS has_lost_item_fees,
             {}
         FROM loan LEFT JOIN users patron ON patron.id = loan.user_id
         LEFT JOIN ({}) ON item.id = loan.item_id
         WHERE loan.id = ANY (ARRAY(
             SELECT unnest($1::uuid[])
             UNION SELECT l.id FROM request JOIN loan l ON l.item_id = request.item_id AND l.holds_item
                 WHERE request.id = ANY ($2::uuid[])))",
        item::COLUMNS,
        item::TABLES
    )
});

static REQUESTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT request.id AS request_id, request.doc AS request, requester.doc AS requester,
             (SELECT {TITLE} FROM instance WHERE instance.id = request.instance_id) AS title, {}
         FROM request LEFT JOIN users requester ON requester.id = request.requester_id
         LEFT JOIN ({}) ON item.id = request.item_id
         WHERE request.id = ANY ($1::uuid[])",
        item::COLUMNS,
        item::TABLES
    )
});

static FEES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT feefineactions.id, feefineactions.doc AS action, accounts.doc AS account,
        feefines.doc AS kind, owners.doc AS owner, patron.doc AS patron, {},
        (SELECT charge.doc FROM feefineactions charge WHERE charge.account_id = accounts.id
             AND charge.doc->>'typeAction' = accounts.doc->>'feeFineType'
             ORDER BY charge.doc->>'dateAction' LIMIT 1) AS charge
    FROM feefineactions JOIN accounts ON accounts.id = feefineactions.account_id
    LEFT JOIN feefines ON feefines.id::text = accounts.doc->>'feeFineId'
    LEFT JOIN owners ON owners.id = feefines.owner_id
    LEFT JOIN users patron ON patron.id = feefineactions.user_id
    LEFT JOIN ({}) ON item.id = accounts.item_id
    WHERE feefineactions.id = ANY ($1::uuid[])",
        item::COLUMNS,
        item::TABLES
    )
});

const OPEN_SESSIONS: &str = "SELECT DISTINCT doc->>'sessionId' AS id FROM patron_action_session WHERE doc->>'sessionId' = ANY ($1::text[])";

/// Reads the records, on the transaction's connection; one that does not exist is absent.
pub async fn records(connection: &Connection, wanted: Wanted) -> Result<Records, Failure> {
    let mut pipeline = Pipeline::new();
    let loans = pipeline.add(LOANS.as_str(), vec![wanted.loans.into(), wanted.requests.clone().into()]);
    let requests = pipeline.add(REQUESTS.as_str(), vec![wanted.requests.into()]);
    let fees = pipeline.add(FEES.as_str(), vec![wanted.fee_fine_actions.into()]);
    let sessions: Vec<String> = wanted.sessions.iter().map(Uuid::to_string).collect();
    let sessions = pipeline.add(OPEN_SESSIONS, vec![sessions.into()]);
    let results = connection.send(pipeline).await?;
    let mut records = Records::default();
    for row in results.rows(loans) {
        let loan = loan(row)?;
        let item = loan.item.as_ref().filter(|_| row.get::<_, Option<bool>>("holds_item") == Some(true));
        records.loan_of_item.extend(item.map(|item| (item.id, loan.id)));
        records.loans.insert(loan.id, loan);
    }
    for row in results.rows(requests) {
        let id: Uuid = row.get("request_id");
        let title = row.get::<_, Option<Json>>("title").and_then(|title| title.read().ok());
        let request = RequestFacts {
            id,
            document: object(row.get("request")),
            item: ItemAtDesk::of(row)?,
            title,
            requester: Patron::at(row, "requester")?,
        };
        records.requests.insert(id, request);
    }
    for row in results.rows(fees) {
        let document = |column: &str| row.get::<_, Option<Json>>(column).map(object);
        let fee = FeeFacts {
            action: object(row.get("action")),
            account: object(row.get("account")),
            charge: document("charge"),
            kind: document("kind"),
            owner: document("owner"),
            item: ItemAtDesk::of(row)?,
            patron: Patron::at(row, "patron")?,
        };
        records.fees.insert(row.get("id"), fee);
    }
    let open = results.rows(sessions).iter();
    records.open_sessions = open.filter_map(|row| Uuid::parse_str(row.get("id")).ok()).collect();
    Ok(records)
}

fn loan(row: &Row) -> Result<LoanFacts, Failure> {
    Ok(LoanFacts {
        id: row.get("loan_id"),
        document: object(row.get("loan")),
        item: ItemAtDesk::of(row)?,
        patron: Patron::at(row, "patron")?,
        patron_info: row.get("patron_info"),
        has_lost_item_fees: row.get("has_lost_item_fees"),
    })
}

fn object(document: Json) -> Map<String, Value> {
    match document.parse() {
        Value::Object(document) => document,
        _ => Map::new(),
    }
}

/// Reads these users' addresses, their proxies, and the templates.
pub async fn people(
    connection: &Connection,
    users: Vec<Uuid>,
    templates: Vec<Uuid>,
    now: Timestamp,
) -> Result<People, Failure> {
    let mut pipeline = Pipeline::new();
    let known =
        pipeline.add("SELECT id, doc FROM users WHERE id = ANY ($1::uuid[])", vec![users.clone().into()]);
    let relations = pipeline.add(
        "SELECT user_id, proxy_user_id, doc FROM proxyfor
         WHERE user_id = ANY ($1::uuid[])
             AND coalesce(doc->>'notificationsTo', doc->'meta'->>'notificationsTo') = 'Proxy'",
        vec![users.into()],
    );
    let results = connection.send(pipeline).await?;
    let mut contacts = HashMap::new();
    for row in results.rows(known) {
        let (id, user): (Uuid, Json) = (row.get("id"), row.get("doc"));
        let user = user.parse();
        let email = user["personal"]["email"].as_str().map(str::trim).filter(|email| !email.is_empty());
        contacts.insert(
            id,
            Contact { email: email.map(str::to_owned), preference: ContactPreference::of(&user) },
        );
    }
    let mut proxies = HashSet::new();
    for row in results.rows(relations) {
        if is_valid_relation(&row.get::<_, Json>("doc").parse(), now)
            && let (Some(user), Some(proxy)) = (row.get("user_id"), row.get("proxy_user_id"))
        {
            proxies.insert((user, proxy));
        }
    }
    Ok(People { contacts, proxies, templates: Templates::read(connection, templates).await? })
}
