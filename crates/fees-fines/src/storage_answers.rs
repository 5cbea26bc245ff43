//! Plain records of fees/fines whose answers differ from those of other modules: the texts of 404, the status of a new
//! record that the database refuses, and automatic fee/fine types, which cannot be changed.
//!
//! Routes: POST, and GET, PUT and DELETE by id, of the record types in [`KINDS`].

use crate::log;
use crate::records::accounts::{ACCOUNT, FEEFINEACTION};
use crate::records::blocks::MANUALBLOCK;
use crate::records::charges::{COMMENT, FEEFINE, OWNER, PAYMENT, REFUND, TRANSFER, TRANSFER_CRITERIA, WAIVE};
use carrel_platform::record_store::{routes as plain, write};
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, RecordType, Refusal};
use uuid::{Uuid, uuid};

/// A record type and its answers in FOLIO.
struct Kind {
    record: &'static RecordType,
    /// The record's name in the text of a 404.
    name: &'static str,
    /// FOLIO quirk: a value that another record has is 400 for most types and 422 for these.
    refuses_duplicates_with_422: bool,
}

const fn kind(record: &'static RecordType, name: &'static str) -> Kind {
    Kind { record, name, refuses_duplicates_with_422: false }
}

static KINDS: [Kind; 11] = [
    Kind { record: &ACCOUNT, name: "Account", refuses_duplicates_with_422: true },
    Kind { record: &FEEFINEACTION, name: "Feefineaction", refuses_duplicates_with_422: true },
    kind(&FEEFINE, "Feefine"),
    kind(&OWNER, "Owner"),
    kind(&PAYMENT, "Payment"),
    kind(&REFUND, "Refund"),
    kind(&WAIVE, "Waive"),
    kind(&TRANSFER, "Transfer"),
    kind(&TRANSFER_CRITERIA, "TransferCriteria"),
    kind(&COMMENT, "Comment"),
    kind(&MANUALBLOCK, "Manualblock"),
];

/// Fee/fine types of automatic charges.
const AUTOMATIC_TYPES: [Uuid; 6] = [
    uuid!("9523cb96-e752-40c2-89da-60f3961a488d"),
    uuid!("d20df2fb-45fd-4184-b238-0d25747ffdd9"),
    uuid!("cf238f9f-7018-47b7-b815-bb2db798e19f"),
    uuid!("c7dede15-aa48-45ed-860b-f996540180e0"),
    uuid!("73785370-d3bd-4d92-942d-ae2268e02ded"),
    uuid!("6b830703-f828-4e38-a0bb-ee81deacbd03"),
];

/// Connects the routes.
pub fn routes(router: &mut Router) {
    for kind in &KINDS {
        let path = kind.record.path;
        if let Some(item) = router.item_path("GET", path) {
            router.on("GET", item, move |call| find(kind, call));
        }
        if path == ACCOUNT.path {
            // Changes of accounts are in `charge`.
            continue;
        }
        router.on("POST", path, move |call| create(kind, call));
        if let Some(item) = router.item_path("PUT", path) {
            router.on("PUT", item, move |call| replace(kind, call));
        }
        if let Some(item) = router.item_path("DELETE", path) {
            router.on("DELETE", item, move |call| delete(kind, call));
        }
    }
}

async fn create(kind: &'static Kind, call: Call) -> Result<Answer, Failure> {
    let mut document = call.object()?;
    let id = document.get("id").and_then(|id| id.as_str()).and_then(|id| Uuid::parse_str(id).ok());
    refuse_if_type_is_automatic(kind, &call, id)?;
    let caller = call.caller.clone();
    let created = match kind.name {
        "Manualblock" => log::create_block(call).await,
        "Feefineaction" => log::create_action(call).await,
        _ => plain::create(kind.record, call).await,
    };
    match created {
        Err(Failure::Refused(refusals)) if !kind.refuses_duplicates_with_422 => {
            // Refusals of the shape stay 422.
            write::check(kind.record, &mut document, &caller)?;
            tracing::debug!(refusals = ?refusals, "a new {} was refused by the database", kind.record.name);
            Err(Failure::Invalid("Unable to process request".into()))
        }
        created => created,
    }
}

async fn find(kind: &'static Kind, call: Call) -> Result<Answer, Failure> {
    plain::find(kind.record, call).await.map_err(|failure| match failure {
        // FOLIO quirk: there is no space between name and sentence.
        Failure::NotFound(_) => Failure::NotFound(format!("{}Object does not exist", kind.name)),
        failure => failure,
    })
}

async fn replace(kind: &'static Kind, call: Call) -> Result<Answer, Failure> {
    refuse_if_type_is_automatic(kind, &call, call.id(0).ok())?;
    let replaced = match kind.name {
        "Manualblock" => log::replace_block(call).await,
        _ => plain::replace(kind.record, call).await,
    };
    replaced.map_err(not_found)
}

async fn delete(kind: &'static Kind, call: Call) -> Result<Answer, Failure> {
    refuse_if_type_is_automatic(kind, &call, call.id(0).ok())?;
    let deleted = match kind.name {
        "Manualblock" => log::delete_block(call).await,
        _ => plain::delete(kind.record, call).await,
    };
    deleted.map_err(not_found)
}

fn not_found(failure: Failure) -> Failure {
    match failure {
        Failure::NotFound(_) => Failure::NotFound("Record Not Found".into()),
        failure => failure,
    }
}

fn refuse_if_type_is_automatic(kind: &Kind, call: &Call, id: Option<Uuid>) -> Result<(), Failure> {
    let is_automatic = kind.name == "Feefine"
        && !call.caller.profile.unchecked_records
        && id.is_some_and(|id| AUTOMATIC_TYPES.contains(&id));
    if is_automatic {
        return Err(Refusal::new("Attempt to change an automatic fee/fine type").into());
    }
    Ok(())
}
