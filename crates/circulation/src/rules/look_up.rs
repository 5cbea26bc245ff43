//! The policies that the rules select for a material type, a loan type, a patron group and a location.

use crate::settings::{CirculationSettings, Location};
use carrel_circulation_rules::{BlankRules, Facts, Match, PolicyKind, Rules};
use carrel_platform::http::{Query, pretty};
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub(super) fn connect(router: &mut Router) {
    for kind in PolicyKind::ALL {
        let path = format!("/circulation/rules/{}-policy", name_in_path(kind));
        router.on("GET", &path, move |call| chosen(call, kind));
        router.on("GET", &format!("{path}-all"), move |call| all(call, kind));
    }
}

fn name_in_path(kind: PolicyKind) -> &'static str {
    match kind {
        PolicyKind::Loan => "loan",
        PolicyKind::Request => "request",
        PolicyKind::Notice => "notice",
        PolicyKind::Overdue => "overdue-fine",
        PolicyKind::LostItem => "lost-item",
    }
}

/// The key of the policy in the answer of a look-up.
fn key(kind: PolicyKind) -> &'static str {
    match kind {
        PolicyKind::Loan => "loanPolicyId",
        PolicyKind::Request => "requestPolicyId",
        PolicyKind::Notice => "noticePolicyId",
        PolicyKind::Overdue => "overdueFinePolicyId",
        PolicyKind::LostItem => "lostItemPolicyId",
    }
}

/// FOLIO quirk: the look-up of all matches has another key for the overdue fine policy.
fn key_among_all(kind: PolicyKind) -> &'static str {
    match kind {
        PolicyKind::Overdue => "overduePolicyId",
        PolicyKind::Loan | PolicyKind::Request | PolicyKind::Notice | PolicyKind::LostItem => key(kind),
    }
}

async fn chosen(call: Call, kind: PolicyKind) -> Result<Answer, Failure> {
    look_up(call, |rules, facts| {
        let found = rules.matching(facts, kind).ok()?;
        let applied = found.conditions;
        Some(json!({
            key(kind): found.policy,
            "appliedRuleConditions": {
                "materialTypeMatch": applied.material_type,
                "loanTypeMatch": applied.loan_type,
                "patronGroupMatch": applied.patron_group,
            },
        }))
    })
    .await
}

async fn all(call: Call, kind: PolicyKind) -> Result<Answer, Failure> {
    look_up(call, |rules, facts| {
        let line = |found: Match<'_>| -> Value {
            let mut line = Map::new();
            line.insert(key_among_all(kind).into(), found.policy.into());
            line.insert("circulationRuleLine".into(), found.line.into());
            Value::Object(line)
        };
        let matches: Vec<Value> = rules.all_matching(facts, kind).ok()?.into_iter().map(line).collect();
        Some(json!({"circulationRuleMatches": matches}))
    })
    .await
}

async fn look_up(
    call: Call,
    ask: impl FnOnce(&Rules, &Facts<'_>) -> Option<Value>,
) -> Result<Answer, Failure> {
    let requested = LookUpParameters::read(&call.query)?;
    let settings = CirculationSettings::of(call.tenant()?).await?;
    // FOLIO quirk: a location that does not exist is not an error; the rules then have only its id.
    let location = Uuid::parse_str(requested.location).ok().and_then(|id| settings.locations.get(&id));
    let part = |id: fn(&Location) -> Option<Uuid>| {
        location.and_then(id).map(|id| id.to_string()).unwrap_or_default()
    };
    let facts = Facts {
        material_type: requested.item_type,
        loan_type: requested.loan_type,
        patron_group: requested.patron_type,
        location: requested.location,
        library: &part(|location| location.library_id),
        campus: &part(|location| location.campus_id),
        institution: &part(|location| location.institution_id),
    };
    Ok(match ask(&settings.rules, &facts) {
        Some(found) => Answer::json_bytes(pretty(&found)),
        // The cause is in the tenant's data, so the reason is reported.
        None => Answer::text(StatusCode::INTERNAL_SERVER_ERROR, BlankRules.to_string()),
    })
}

/// The four parameters of every look-up.
struct LookUpParameters<'q> {
    item_type: &'q str,
    loan_type: &'q str,
    patron_type: &'q str,
    location: &'q str,
}

impl<'q> LookUpParameters<'q> {
    fn read(query: &'q Query) -> Result<LookUpParameters<'q>, Failure> {
        Ok(LookUpParameters {
            item_type: id(query, "item_type_id")?,
            loan_type: id(query, "loan_type_id")?,
            patron_type: id(query, "patron_type_id")?,
            location: id(query, "location_id")?,
        })
    }
}

fn id<'q>(query: &'q Query, name: &str) -> Result<&'q str, Failure> {
    let text = query
        .get(name)
        .ok_or_else(|| Failure::Invalid(format!("required query parameter missing: {name}")))?;
    if is_id(text) {
        return Ok(text);
    }
    const EXPECTED: &str =
        "^[a-fA-F0-9]{8}-[a-fA-F0-9]{4}-[1-5][a-fA-F0-9]{3}-[89abAB][a-fA-F0-9]{3}-[a-fA-F0-9]{12}$";
    Err(Failure::Invalid(format!("invalid uuid format of {name}, expecting {EXPECTED} but it is {text}")))
}

/// A UUID of any version except 0 and the reserved ones. Carrel's ids have version 7, which FOLIO's text does not list.
fn is_id(text: &str) -> bool {
    text.len() == 36
        && Uuid::parse_str(text).is_ok_and(|id| {
            (1..=8).contains(&id.get_version_num()) && id.get_variant() == uuid::Variant::RFC4122
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "4a10b4e6-5f69-4058-8085-db28dac29e9b";

    fn fault(query: &str) -> String {
        match LookUpParameters::read(&Query::read(query)) {
            Ok(_) => String::new(),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn the_first_missing_parameter_is_named() {
        assert!(fault("").ends_with("required query parameter missing: item_type_id"));
        let query = format!("item_type_id={GOOD}&location_id={GOOD}");
        assert!(fault(&query).ends_with("required query parameter missing: loan_type_id"));
    }

    #[test]
    fn what_is_no_uuid_is_shown_back() {
        for bad in [
            "",
            "0",
            "00000000-0000-0000-8000-000000000000",
            "00000000000010008000000000000000",
            "00000000-0000-1000-8000-00000000000g",
            "00000000-0000-1000-0000-000000000000",
        ] {
            let text = fault(&format!("item_type_id={bad}"));
            assert!(
                text.contains("invalid uuid format of item_type_id, expecting ^[a-fA-F0-9]{8}-"),
                "{bad}"
            );
            assert!(text.ends_with(&format!("but it is {bad}")), "{text}");
        }
    }

    #[test]
    fn ids_of_our_own_making_are_accepted() {
        assert!(is_id(&Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, 1, 0)).to_string()));
        assert!(is_id(GOOD));
    }
}
