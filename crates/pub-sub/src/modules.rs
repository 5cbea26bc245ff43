//! Publishers and subscribers of event types.
//!
//! Routes: `POST /pubsub/event-types/declare/publisher` and `…/subscriber`, GET and DELETE of
//! `/pubsub/event-types/{eventTypeName}/publishers` and `…/subscribers`, `DELETE /pubsub/messaging-modules`.

use crate::delivery::{self, address};
use crate::event_types;
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Answer, Bind, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal};
use http::StatusCode;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub const PUBLISHER: &str = "PUBLISHER";
pub const SUBSCRIBER: &str = "SUBSCRIBER";
/// Event types of one declaration, at most.
const MAX_EVENT_TYPES: usize = 500;

pub fn connect(router: &mut Router) {
    router.on("POST", "/pubsub/event-types/declare/publisher", declare_publisher);
    router.on("POST", "/pubsub/event-types/declare/subscriber", declare_subscriber);
    router.on("GET", "/pubsub/event-types/{eventTypeName}/publishers", |call| list(call, PUBLISHER));
    router.on("GET", "/pubsub/event-types/{eventTypeName}/subscribers", |call| list(call, SUBSCRIBER));
    router.on("DELETE", "/pubsub/event-types/{eventTypeName}/publishers", |call| delete(call, PUBLISHER));
    router.on("DELETE", "/pubsub/event-types/{eventTypeName}/subscribers", |call| delete(call, SUBSCRIBER));
    router.on("DELETE", "/pubsub/messaging-modules", delete_module);
}

/// The module's name and the elements of a list, each an object.
fn declared(sent: &Value, list: &str) -> Result<(String, Vec<Value>), Refusal> {
    let wrong =
        |key: &str| Refusal::new(format!("{key} must be given and of the declared type")).with_null(key);
    let module = sent.get("moduleId").and_then(Value::as_str).filter(|name| event_types::is_name(name));
    let module = module.ok_or_else(|| wrong("moduleId"))?;
    let elements = sent.get(list).and_then(Value::as_array).filter(|list| list.len() <= MAX_EVENT_TYPES);
    Ok((module.to_owned(), elements.ok_or_else(|| wrong(list))?.clone()))
}

async fn declare_publisher(call: Call) -> Result<Answer, Failure> {
    let (module, sent) = declared(&call.value()?, "eventDescriptors")?;
    let descriptors: Vec<Map<String, Value>> =
        sent.iter().map(event_types::read).collect::<Result<_, _>>()?;
    let names: Vec<String> = descriptors.iter().map(|one| event_types::name(one).to_owned()).collect();
    let tenant = call.tenant()?;
    let known = event_types::known(&tenant.writer().await?, names.clone()).await?;
    let errors: Vec<Value> = descriptors
        .iter()
        .filter_map(|sent| {
            let name = event_types::name(sent);
            match known.iter().find(|known| event_types::name(known) == name) {
                None => Some(format!("Event type '{name}' does not exist")),
                Some(known) if known != sent => Some(format!(
                    "Publisher descriptor does not match existing descriptor for event type '{name}'. To declare a \
                     publisher one should use the following descriptor: {}",
                    Value::Object(known.clone())
                )),
                Some(_) => None,
            }
        })
        .map(|message| json!({"message": message, "parameters": []}))
        .collect();
    if !errors.is_empty() {
        let body = json!({"errors": errors, "total_records": errors.len()});
        return Ok(Answer::json(&body).status(StatusCode::BAD_REQUEST));
    }
    let mut pipeline = Pipeline::new();
    for name in names {
        pipeline.add(
            "INSERT INTO pubsub_module (id, event_type, module_id, role) VALUES ($1, $2, $3, 'PUBLISHER')
             ON CONFLICT (event_type, module_id, role) DO NOTHING",
            vec![Uuid::new_v7(uuid_time(call.now)).into(), name.into(), module.as_str().into()],
        );
    }
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::text(StatusCode::CREATED, ""))
}

async fn declare_subscriber(call: Call) -> Result<Answer, Failure> {
    let (module, sent) = declared(&call.value()?, "subscriptionDefinitions")?;
    let mut pipeline = Pipeline::new();
    for definition in &sent {
        let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, callback) = (text("eventType"), text("callbackAddress"));
        if !event_types::is_name(name) {
            return Err(Refusal::new("eventType must be given").with("eventType", name).into());
        }
        if !address::is_path(callback) {
            let refusal = Refusal::new("callbackAddress must be a path that begins with a slash");
            return Err(refusal.with("callbackAddress", callback).into());
        }
        let temporary = json!({"eventType": name, "eventTTL": 1, "signed": false, "tmp": true});
        pipeline.add(
            "INSERT INTO pubsub_event_type (name, descriptor) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
            vec![name.into(), Bind::Json(temporary.to_string())],
        );
        // A new subscriber gets later events; one that is declared again continues at its position.
        pipeline.add(
            "INSERT INTO pubsub_module (id, event_type, module_id, role, callback, position)
             VALUES ($1, $2, $3, 'SUBSCRIBER', $4,
                 (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM outbox_id_seq))
             ON CONFLICT (event_type, module_id, role)
                 DO UPDATE SET callback = $4, attempts = 0, next_attempt = '-infinity'",
            vec![
                Uuid::new_v7(uuid_time(call.now)).into(),
                name.into(),
                module.as_str().into(),
                callback.into(),
            ],
        );
    }
    call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    delivery::wake(&call.node, &call.tenant()?.id);
    Ok(Answer::text(StatusCode::CREATED, ""))
}

async fn list(call: Call, role: &'static str) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let rows = tenant
        .reader()
        .await?
        .query(
            "SELECT id, event_type, module_id, callback FROM pubsub_module
             WHERE event_type = $1 AND role = $2 ORDER BY module_id",
            vec![call.parameter(0).into(), role.into()],
        )
        .await?;
    let modules: Vec<Value> = rows
        .iter()
        .map(|row| {
            let mut module = json!({
                "id": row.get::<_, Uuid>("id"),
                "eventType": row.get::<_, String>("event_type"),
                "moduleId": row.get::<_, String>("module_id"),
                "tenantId": tenant.id,
                "moduleRole": role,
                "activated": true,
            });
            if let Some(callback) = row.get::<_, Option<String>>("callback") {
                module["subscriberCallback"] = callback.into();
            }
            module
        })
        .collect();
    Ok(Answer::json(&json!({"messagingModules": modules, "totalRecords": modules.len()})))
}

async fn delete(call: Call, role: &'static str) -> Result<Answer, Failure> {
    let module = call.query.get("moduleId").map(str::to_owned);
    let module = module.ok_or_else(|| Failure::Invalid("moduleId is a required query parameter".into()))?;
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "DELETE FROM pubsub_module WHERE event_type = $1 AND role = $2 AND module_id = $3",
        vec![call.parameter(0).into(), role.into(), module.into()],
    );
    call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

async fn delete_module(call: Call) -> Result<Answer, Failure> {
    let (Some(module), Some(role)) = (call.query.get("moduleId"), call.query.get("moduleRole")) else {
        return Err(Failure::Invalid("ModuleId and moduleRole are required query parameters".into()));
    };
    if ![PUBLISHER, SUBSCRIBER].contains(&role) {
        return Err(Failure::Invalid(format!(
            "Invalid moduleRole was specified: {role}. Acceptable moduleRole values are: PUBLISHER, SUBSCRIBER."
        )));
    }
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "DELETE FROM pubsub_module WHERE module_id = $1 AND role = $2",
        vec![module.into(), role.into()],
    );
    call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}
