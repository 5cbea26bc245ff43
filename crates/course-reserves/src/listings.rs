//! What belongs to a course listing: its courses, instructors and reserves.
//!
//! Routes: `/coursereserves/courselistings/{id}/courses…`, `…/instructors…`, `…/reserves…`, and DELETE of
//! `/coursereserves/courselistings/{id}`, with which its instructors go. A listing shows its instructors
//! (`instructorObjects`), which change in the transaction that changes an instructor.

use crate::records::{COURSE, COURSE_LISTING, INSTRUCTOR, RESERVE};
use crate::reserves;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::record_store::{read, routes, stream};
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tx};
use carrel_records::{Failure, RecordType, Refusal};
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    const LISTING: &str = "/coursereserves/courselistings/{id}";
    router.on("DELETE", LISTING, delete_listing);
    router.on("GET", "/coursereserves/courselistings/{id}/courses", |call| list(&COURSE, call));
    router.on("POST", "/coursereserves/courselistings/{id}/courses", |call| async move {
        refuse_other_listing(&call)?;
        routes::create(&COURSE, call).await
    });
    router
        .on("GET", "/coursereserves/courselistings/{id}/courses/{c_id}", |call| routes::find(&COURSE, call));
    router.on("PUT", "/coursereserves/courselistings/{id}/courses/{c_id}", |call| {
        routes::replace(&COURSE, call)
    });
    router.on("DELETE", "/coursereserves/courselistings/{id}/courses/{c_id}", |call| {
        routes::delete(&COURSE, call)
    });
    router.on("GET", "/coursereserves/courselistings/{id}/instructors", |call| list(&INSTRUCTOR, call));
    router.on("POST", "/coursereserves/courselistings/{id}/instructors", create_instructor);
    router.on("GET", "/coursereserves/courselistings/{id}/instructors/{i_id}", |call| {
        routes::find(&INSTRUCTOR, call)
    });
    router.on("PUT", "/coursereserves/courselistings/{id}/instructors/{i_id}", replace_instructor);
    router.on("DELETE", "/coursereserves/courselistings/{id}/instructors/{i_id}", delete_instructor);
    router.on("GET", "/coursereserves/courselistings/{id}/reserves", |call| list(&RESERVE, call));
    router.on("POST", "/coursereserves/courselistings/{id}/reserves", |call| async move {
        refuse_other_listing(&call)?;
        reserves::create(call).await
    });
    router.on("GET", "/coursereserves/courselistings/{id}/reserves/{r_id}", |call| {
        routes::find(&RESERVE, call)
    });
    router.on("PUT", "/coursereserves/courselistings/{id}/reserves/{r_id}", reserves::replace);
    router.on("DELETE", "/coursereserves/courselistings/{id}/reserves/{r_id}", reserves::delete);
}

/// The records of the listing that the query finds.
async fn list(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let own = format!("courseListingId=={}", call.id(0)?);
    let query = match call.query.get("query").filter(|query| !query.trim().is_empty()) {
        Some(query) => format!("{own} and ({query})"),
        None => own,
    };
    let mut request = read::PageRequest::read(&call.query)?;
    request.query = Some(read::parse(&query)?);
    stream::plain(&call, record, &request).await
}

/// A record is stored below its own listing only.
fn refuse_other_listing(call: &Call) -> Result<(), Failure> {
    let (listing, body) = (call.id(0)?, call.object()?);
    match body.get("courseListingId").and_then(Value::as_str) {
        Some(sent) if Uuid::parse_str(sent).ok() != Some(listing) => {
            Err(Refusal::new(format!("listingId should be {listing}")).with("listingId", sent).into())
        }
        _ => Ok(()),
    }
}

async fn delete_listing(call: Call) -> Result<Answer, Failure> {
    let (id, tenant) = (call.id(0)?, call.tenant()?);
    let mut tx = tenant.begin().await?;
    tx.query("DELETE FROM coursereserves_instructors WHERE course_listing_id = $1", vec![id.into()]).await?;
    match write::delete(tx, tenant, &COURSE_LISTING, id, &call.node.records, call.now).await? {
        true => Ok(Answer::no_content()),
        false => Err(Failure::NotFound("Not found".into())),
    }
}

async fn create_instructor(call: Call) -> Result<Answer, Failure> {
    refuse_other_listing(&call)?;
    let (listing, tenant) = (call.id(0)?, call.tenant()?);
    let mut tx = tenant.begin().await?;
    lock_listing(&mut tx, listing).await?;
    let mut document = call.object()?;
    document.remove("patronGroupObject");
    add_user(&mut tx, &mut document).await?;
    let ready = write::prepare_new(&INSTRUCTOR, document, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &INSTRUCTOR, &ready, call.now);
    pipeline.add(SHOW_INSTRUCTORS, vec![listing.into()]);
    let stored = tx.send_and_commit(pipeline).await;
    stored.map_err(|error| write::constraint_failure(&INSTRUCTOR, error, &ready.document))?;
    let location = format!("/coursereserves/courselistings/{listing}/instructors/{}", ready.id);
    Ok(Answer::created(&ready.document).location(location))
}

async fn replace_instructor(call: Call) -> Result<Answer, Failure> {
    let (listing, id, tenant) = (call.id(0)?, call.id(1)?, call.tenant()?);
    let mut tx = tenant.begin().await?;
    lock_listing(&mut tx, listing).await?;
    let Some(stored) = write::lock(&mut tx, &INSTRUCTOR, id).await? else {
        return Err(Failure::NotFound("Not found".into()));
    };
    let (stored, mut document) = (stored.parse(), call.object()?);
    document.remove("patronGroupObject");
    let ready = write::prepare_replacement(&INSTRUCTOR, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &INSTRUCTOR, &ready, &stored, call.now);
    pipeline.add(SHOW_INSTRUCTORS, vec![listing.into()]);
    let replaced = tx.send_and_commit(pipeline).await;
    replaced.map_err(|error| write::constraint_failure(&INSTRUCTOR, error, &ready.document))?;
    Ok(Answer::no_content())
}

async fn delete_instructor(call: Call) -> Result<Answer, Failure> {
    let (listing, id) = (call.id(0)?, call.id(1)?);
    let mut tx = call.tenant()?.begin().await?;
    lock_listing(&mut tx, listing).await?;
    let gone = tx.query("DELETE FROM coursereserves_instructors WHERE id = $1 RETURNING id", vec![id.into()]);
    if gone.await?.is_empty() {
        return Err(Failure::NotFound("Not found".into()));
    }
    let mut pipeline = Pipeline::new();
    pipeline.add(SHOW_INSTRUCTORS, vec![listing.into()]);
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

/// Changes of the instructors of a listing wait for each other here.
async fn lock_listing(tx: &mut Tx, listing: Uuid) -> Result<(), Failure> {
    let sql = "SELECT 1 FROM coursereserves_courselistings WHERE id = $1 FOR NO KEY UPDATE";
    match tx.query(sql, vec![listing.into()]).await?.is_empty() {
        true => Err(Failure::NotFound(format!("No courselisting exists with id '{listing}'"))),
        false => Ok(()),
    }
}

/// The instructors of a listing, as it shows them.
const SHOW_INSTRUCTORS: &str =
    "UPDATE coursereserves_courselistings SET doc = jsonb_set(doc, '{instructorObjects}', coalesce(
        (SELECT jsonb_agg(instructor.doc - 'metadata' ORDER BY instructor.doc->>'name', instructor.id)
         FROM coursereserves_instructors instructor WHERE instructor.course_listing_id = $1), '[]'))
    WHERE id = $1";

/// Adds barcode and patron group of the user whom the instructor is; FOLIO quirk: an unknown user is no error.
async fn add_user(tx: &mut Tx, instructor: &mut Document) -> Result<(), Failure> {
    let user = instructor.get("userId").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok());
    let Some(user) = user else { return Ok(()) };
    let sql = "SELECT users.doc->>'barcode' AS barcode, groups.doc AS patron_group
        FROM users JOIN groups ON groups.id = users.patron_group WHERE users.id = $1";
    let rows = tx.query(sql, vec![user.into()]).await?;
    let Some(row) = rows.first() else { return Ok(()) };
    let group = row.get::<_, Json>("patron_group").parse();
    instructor.insert("patronGroup".into(), group["id"].clone());
    let shown = json!({"id": group["id"], "group": group["group"], "desc": group["desc"]});
    let shown: Document = shown
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    instructor.insert("patronGroupObject".into(), Value::Object(shown));
    match row.get::<_, Option<String>>("barcode") {
        Some(barcode) => instructor.insert("barcode".into(), barcode.into()),
        None => instructor.remove("barcode"),
    };
    Ok(())
}
