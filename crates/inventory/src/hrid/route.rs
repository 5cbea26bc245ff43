//! The HRID settings: prefixes, leading zeros, next numbers.

use super::Kind;
use crate::records::settings::HRID_SETTINGS;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Bind, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal};
use serde_json::{Value, json};

const PATH: &str = "/hrid-settings-storage/hrid-settings";
/// FOLIO's id of the only settings record.
const ID: &str = "a501f2a8-5b31-48b2-874d-2191e48db8cd";

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("GET", PATH, show);
    router.on("PUT", PATH, replace);
}

async fn show(call: Call) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    let mut pipeline = Pipeline::new();
    let settings = pipeline.add("SELECT doc FROM hrid_settings LIMIT 1", vec![]);
    let counters = pipeline.add("SELECT kind, last_number FROM hrid_counter", vec![]);
    let results = connection.send(pipeline).await?;
    let mut settings = results.document(settings).map_or_else(default_settings, |stored| stored.parse());
    for kind in Kind::ALL {
        let last: i64 = results
            .rows(counters)
            .iter()
            .find(|row| row.get::<_, &str>("kind") == kind.name())
            .map_or(0, |row| row.get("last_number"));
        settings[kind.name()]["currentNumber"] = last.into();
    }
    Ok(Answer::json(&settings))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let mut document = call.object()?;
    write::check(&HRID_SETTINGS, &mut document, &call.caller)?;
    document.insert("id".into(), ID.into());
    let mut pipeline = Pipeline::new();
    for kind in Kind::ALL {
        let Some(Value::Object(of_kind)) = document.get_mut(kind.name()) else { continue };
        of_kind.remove("currentNumber");
        let start = of_kind.get("startNumber").and_then(Value::as_i64).unwrap_or(1);
        if start < 1 {
            return Err(Refusal::new("must be greater than or equal to 1")
                .with(format!("{}.startNumber", kind.name()), start.to_string())
                .into());
        }
        pipeline.add(
            "INSERT INTO hrid_counter (kind, last_number) VALUES ($1, $2)
             ON CONFLICT (kind) DO UPDATE SET last_number = $2",
            vec![kind.name().into(), (start - 1).into()],
        );
    }
    pipeline.add(
        "INSERT INTO hrid_settings (id, doc) VALUES ($1::text::uuid, $2)
         ON CONFLICT (id) DO UPDATE SET doc = $2",
        vec![ID.into(), Bind::from(&Value::Object(document))],
    );
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

fn default_settings() -> Value {
    json!({
        "id": ID,
        "instances": {"prefix": "in", "startNumber": 1},
        "holdings": {"prefix": "ho", "startNumber": 1},
        "items": {"prefix": "it", "startNumber": 1},
        "commonRetainLeadingZeroes": true
    })
}
