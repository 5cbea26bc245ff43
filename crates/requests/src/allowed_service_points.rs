//! The service points that a patron may choose for pickup, by request type.
//!
//! Routes: `GET /circulation/requests/allowed-service-points`, for a request to be placed, edited or moved.

use super::policy::RequestPolicy;
use carrel_circulation::desk::ItemAtDesk;
use carrel_circulation::desk::item::COLUMNS_WITHOUT_TITLE;
use carrel_circulation::settings::{CirculationSettings, RuleInputs, ServicePoint};
use carrel_loan_rules::request::{self, RequestLevel, RequestType};
use carrel_platform::http::{Query, pretty};
use carrel_platform::{Answer, Connection, Json, Pipeline, Router};
use carrel_records::{Failure, ItemStatus, Refusal};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use uuid::Uuid;

/// The parameters of the route.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedQuery {
    pub operation: Operation,
    pub requester: Option<Uuid>,
    pub group: Option<Uuid>,
    pub instance: Option<Uuid>,
    pub item: Option<Uuid>,
    pub request: Option<Uuid>,
    /// Ignore items: the service points that the patron's group alone allows.
    pub stub_item: bool,
    /// Service points that route requests between libraries, instead of pickup locations.
    pub routing: bool,
}

/// The operation that the client prepares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Operation {
    #[default]
    Create,
    Replace,
    Move,
}

/// Service points by type of request.
pub type Allowed = BTreeMap<RequestType, BTreeSet<Uuid>>;

pub fn connect(router: &mut Router) {
    router.on("GET", "/circulation/requests/allowed-service-points", |call| async move {
        let query = read(&call.query)?;
        let tenant = call.tenant()?;
        let settings = CirculationSettings::of(tenant).await?;
        let allowed = allowed(&tenant.reader().await?, query, &settings).await?;
        Ok(Answer::json_bytes(pretty(&shown(&allowed, &settings))))
    });
}

/// Reads the parameters; all errors are reported together.
fn read(parameters: &Query) -> Result<AllowedQuery, Failure> {
    let mut errors = Vec::new();
    let mut id = |key: &str, name: &str| {
        let text = parameters.get(key)?;
        let id = Uuid::parse_str(text).ok().filter(|_| text.len() == 36);
        if id.is_none() {
            errors.push(format!("{name} ID is not a valid UUID: {text}."));
        }
        // A malformed id still counts as given.
        Some(id.unwrap_or_default())
    };
    let requester = id("requesterId", "Requester");
    let group = id("patronGroupId", "Patron Group");
    let instance = id("instanceId", "Instance");
    let item = id("itemId", "Item");
    let request = id("requestId", "Request");
    let mut flag = |key: &str| match parameters.get(key) {
        Some("true") => true,
        None | Some("false") => false,
        Some(other) => {
            errors.push(format!("{key} is not a valid boolean: {other}."));
            false
        }
    };
    let (stub_item, routing) = (flag("useStubItem"), flag("ecsRequestRouting"));
    let operation = parameters.get("operation").unwrap_or_default().to_ascii_lowercase();
    let somebody = requester.is_some() || group.is_some();
    let operation = match operation.as_str() {
        "create" if somebody && instance.is_some() != item.is_some() && request.is_none() => {
            Some(Operation::Create)
        }
        "replace" if requester.is_none() && instance.is_none() && item.is_none() && request.is_some() => {
            Some(Operation::Replace)
        }
        "move" if requester.is_none() && instance.is_none() && item.is_some() && request.is_some() => {
            Some(Operation::Move)
        }
        _ => None,
    };
    if operation.is_none() {
        errors.push("Invalid combination of query parameters".to_owned());
    }
    match operation {
        Some(operation) if errors.is_empty() => {
            Ok(AllowedQuery { operation, requester, group, instance, item, request, stub_item, routing })
        }
        _ => Err(Failure::Invalid(errors.join(" "))),
    }
}

/// Evaluates items, policy and service points in their current state.
pub async fn allowed(
    connection: &Connection,
    mut query: AllowedQuery,
    settings: &CirculationSettings,
) -> Result<Allowed, Failure> {
    if let Some(id) = query.request {
        let rows = connection.query("SELECT doc FROM request WHERE id = $1", vec![id.into()]).await?;
        let request = match rows.first().map(|row| row.get::<_, Json>(0).parse()) {
            Some(Value::Object(request)) => request,
            _ => return Err(Refusal::new(format!("Request with ID {id} was not found")).into()),
        };
        query.requester = request::id(&request, "requesterId");
        if query.operation == Operation::Replace {
            if request::level(&request) == Some(RequestLevel::Title) {
                query.instance = request::id(&request, "instanceId");
            } else {
                query.item = request::id(&request, "itemId");
            }
        }
    }
    let mut pipeline = Pipeline::new();
    let instance = pipeline.add("SELECT 1 FROM instance WHERE id = $1", vec![query.instance.into()]);
    let user = pipeline.add("SELECT patron_group FROM users WHERE id = $1", vec![query.requester.into()]);
    let which = if query.item.is_some() { "item.id = $1" } else { "holdings_record.instance_id = $1" };
    let items = pipeline.add(
        format!(
            "SELECT {COLUMNS_WITHOUT_TITLE} FROM item JOIN item_state ON item_state.item_id = item.id
             LEFT JOIN holdings_record ON holdings_record.id = item.holdings_record_id WHERE {which}"
        ),
        vec![query.item.or(query.instance).into()],
    );
    let results = connection.send(pipeline).await?;
    if let Some(id) = query.instance
        && results.rows(instance).is_empty()
        && query.operation == Operation::Create
    {
        return Err(Refusal::new(format!("Instance with ID {id} was not found")).into());
    }
    let group = match query.group {
        Some(group) => Some(group),
        None => match results.first(user) {
            Some(row) => row.get(0),
            None => {
                let id = query.requester.map(|id| id.to_string()).unwrap_or_default();
                return Err(Refusal::new(format!("User with ID {id} was not found")).into());
            }
        },
    };
    let items = results
        .rows(items)
        .iter()
        .filter_map(|row| ItemAtDesk::read(row, 0).transpose())
        .collect::<Result<Vec<_>, Failure>>()?;
    if let Some(id) = query.item.filter(|_| items.is_empty()) {
        return Err(Refusal::new(format!("Item with id={id} cannot be found")).into());
    }
    decide(&query, group, &items, settings)
}

/// The service points that the items' policies and statuses allow.
fn decide(
    query: &AllowedQuery,
    group: Option<Uuid>,
    items: &[ItemAtDesk],
    settings: &CirculationSettings,
) -> Result<Allowed, Failure> {
    let usable = |point: &ServicePoint| {
        if query.routing { point.ecs_request_routing } else { point.pickup_location }.unwrap_or(false)
    };
    let points: BTreeSet<Uuid> =
        settings.service_points.iter().filter(|(_, point)| usable(point)).map(|(id, _)| *id).collect();
    if query.stub_item {
        let what = RuleInputs { material_type: None, loan_type: None, patron_group: group, location: None };
        return Ok(by_policy(&RequestPolicy::matching(settings, &what)?, None, &points));
    }
    if items.is_empty() && query.item.is_none() {
        // An instance without items can be requested by a hold if title-level holds do not follow the circulation
        // rules.
        let titles = &settings.title_level_requests;
        let free = titles.enabled() && !titles.tlr_hold_should_follow_circulation_rules;
        let holds = free && query.operation == Operation::Create && !points.is_empty();
        return Ok(if holds { Allowed::from([(RequestType::Hold, points)]) } else { Allowed::new() });
    }
    let mut policies: HashMap<Uuid, (RequestPolicy, Vec<&ItemStatus>)> = HashMap::new();
    for item in items {
        let policy = RequestPolicy::of_item(settings, item, group)?;
        policies.entry(policy.id).or_insert_with(|| (policy, Vec::new())).1.push(&item.status);
    }
    let mut all = Allowed::new();
    for (policy, statuses) in policies.values() {
        let statuses = (query.operation != Operation::Replace).then_some(statuses.as_slice());
        for (kind, points) in by_policy(policy, statuses, &points) {
            all.entry(kind).or_default().extend(points);
        }
    }
    Ok(all)
}

/// What one policy allows for items of these statuses; `None` ignores statuses.
fn by_policy(policy: &RequestPolicy, statuses: Option<&[&ItemStatus]>, points: &BTreeSet<Uuid>) -> Allowed {
    RequestType::FASTEST_FIRST
        .into_iter()
        .filter(|kind| policy.allows(*kind))
        .filter(|kind| {
            statuses.is_none_or(|statuses| statuses.iter().any(|status| kind.is_possible_for(status)))
        })
        .map(|kind| {
            let named = policy.service_points(kind).filter(|named| !named.is_empty());
            let allowed: BTreeSet<Uuid> = match named {
                None => points.clone(),
                Some(named) => {
                    let named: BTreeSet<Uuid> =
                        named.iter().filter_map(|id| Uuid::parse_str(id).ok()).collect();
                    points.intersection(&named).copied().collect()
                }
            };
            (kind, allowed)
        })
        .filter(|(_, points)| !points.is_empty())
        .collect()
}

/// The service points by name, by type.
pub fn shown(allowed: &Allowed, settings: &CirculationSettings) -> Value {
    let mut shown = Map::new();
    for (kind, points) in allowed {
        let mut named: Vec<(&ServicePoint, &Uuid)> =
            points.iter().filter_map(|id| Some((settings.service_points.get(id)?, id))).collect();
        named.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        let named: Vec<Value> = named
            .into_iter()
            .map(|(point, id)| {
                json!({"id": id, "name": point.name, "discoveryDisplayName": point.discovery_display_name})
            })
            .collect();
        shown.insert(kind.to_string(), named.into());
    }
    Value::Object(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal_of(query: &str) -> String {
        read(&Query::read(query)).expect_err("this is refused").to_string()
    }

    #[test]
    fn all_that_is_wrong_with_a_question_is_reported_together() {
        assert_eq!(refusal_of("operation=create"), "Invalid combination of query parameters");
        assert_eq!(
            refusal_of("operation=create&instanceId=x&itemId=y"),
            "Instance ID is not a valid UUID: x. Item ID is not a valid UUID: y. \
             Invalid combination of query parameters"
        );
    }

    #[test]
    fn a_policy_narrows_the_service_points_of_a_type() {
        let (here, there) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let policy = RequestPolicy::for_test(serde_json::json!({
            "requestTypes": ["Hold", "Recall", "Page"],
            "allowedServicePoints": {"Hold": [here], "Recall": [Uuid::from_u128(3)]}
        }));
        let points = BTreeSet::from([here, there]);
        let allowed = by_policy(&policy, Some(&[&ItemStatus::CheckedOut]), &points);
        assert_eq!(allowed, Allowed::from([(RequestType::Hold, BTreeSet::from([here]))]));
        let whatever_the_status = by_policy(&policy, None, &points);
        assert_eq!(whatever_the_status.get(&RequestType::Page), Some(&points));
    }
}
