//! Chooses the item of a title-level request: the nearest available one to page, or the one whose loan ends first to
//! recall.

use crate::candidate::Candidate;
use crate::policy::RequestPolicy;
use carrel_circulation::settings::{CirculationSettings, Location};
use carrel_loan_rules::request::RequestType;
use carrel_records::{Failure, ItemStatus, Refusal};
use std::collections::HashSet;
use uuid::Uuid;

/// An item of the instance with the requester's policy for it.
pub struct Choice<'a> {
    pub candidate: &'a Candidate,
    pub policy: RequestPolicy,
}

/// The items with the policies for a patron group.
pub fn choices<'a>(
    candidates: &'a [Candidate],
    group: Option<Uuid>,
    settings: &CirculationSettings,
) -> Result<Vec<Choice<'a>>, Failure> {
    candidates
        .iter()
        .map(|candidate| {
            let policy = RequestPolicy::of_item(settings, &candidate.item, group)?;
            Ok(Choice { candidate, policy })
        })
        .collect()
}

/// The items that can be paged now.
pub fn pageable<'a>(choices: &'a [Choice<'a>]) -> impl Iterator<Item = &'a Candidate> {
    choices
        .iter()
        .filter(|choice| {
            choice.candidate.item.status == ItemStatus::Available && choice.policy.allows(RequestType::Page)
        })
        .map(|choice| choice.candidate)
}

/// The available item nearest to the pickup service point.
pub fn to_page<'a>(
    choices: &'a [Choice<'a>],
    instance: Option<&str>,
    location_code: Option<&str>,
    pickup: Option<Uuid>,
    settings: &CirculationSettings,
) -> Result<&'a Candidate, Refusal> {
    const NONE: &str = "Cannot create page TLR for this instance ID - no pageable available items found";
    let mut available: Vec<&Candidate> = pageable(choices).collect();
    if available.is_empty() {
        let refusal = Refusal::new(NONE);
        return Err(match instance {
            Some(instance) => refusal.with("instanceId", instance),
            None => refusal.with_null("instanceId"),
        });
    }
    if let Some(code) = location_code {
        available.retain(|candidate| is_at(candidate, code, settings));
        if available.is_empty() {
            return Err(Refusal::new(format!("{NONE} in requested location")).with("itemLocationCode", code));
        }
    }
    Ok(nearest(&available, pickup, settings).unwrap_or(available[0]))
}

/// Whether the code is that of the item's location, library, campus or institution.
fn is_at(candidate: &Candidate, code: &str, settings: &CirculationSettings) -> bool {
    let Some(location) = location(candidate, settings) else { return false };
    let part_of =
        |id: Option<Uuid>, named: &std::collections::HashMap<Uuid, carrel_circulation::settings::Named>| {
            id.and_then(|id| named.get(&id)).is_some_and(|named| named.code.as_deref() == Some(code))
        };
    location.code.as_deref() == Some(code)
        || part_of(location.library_id, &settings.libraries)
        || part_of(location.campus_id, &settings.campuses)
        || part_of(location.institution_id, &settings.institutions)
}

fn location<'a>(candidate: &Candidate, settings: &'a CirculationSettings) -> Option<&'a Location> {
    candidate.item.record.effective_location_id.and_then(|id| settings.locations.get(&id))
}

/// In a location that the pickup service point serves, else in the library, campus or institution of one.
fn nearest<'a>(
    available: &[&'a Candidate],
    pickup: Option<Uuid>,
    settings: &CirculationSettings,
) -> Option<&'a Candidate> {
    let pickup = pickup?;
    let served: Vec<(&Uuid, &Location)> =
        settings.locations.iter().filter(|(id, _)| settings.serves(pickup, **id)).collect();
    let parts: [fn(&Location) -> Option<Uuid>; 3] =
        [|location| location.library_id, |location| location.campus_id, |location| location.institution_id];
    let same_location = available.iter().find(|candidate| {
        let here = candidate.item.record.effective_location_id;
        served.iter().any(|(id, _)| here == Some(**id))
    });
    same_location.copied().or_else(|| {
        parts.iter().find_map(|part| {
            let near: HashSet<Uuid> = served.iter().filter_map(|(_, location)| part(location)).collect();
            available
                .iter()
                .find(|candidate| {
                    location(candidate, settings).and_then(part).is_some_and(|id| near.contains(&id))
                })
                .copied()
        })
    })
}

/// The item to recall: of the loans not recalled yet the one that ends first, otherwise the one recalled least often,
/// otherwise an item without loan.
pub fn to_recall<'a>(choices: &'a [Choice<'a>]) -> Result<&'a Candidate, Refusal> {
    let due = |candidate: &Candidate| candidate.loan.as_ref().and_then(|loan| loan.instant_at("dueDate"));
    let fitting =
        || choices.iter().filter(|choice| RequestType::Recall.is_possible_for(&choice.candidate.item.status));
    let not_recalled = fitting()
        .filter(|choice| choice.policy.allows(RequestType::Recall))
        .map(|choice| choice.candidate)
        .filter(|candidate| candidate.loan.is_some() && candidate.recalls == 0)
        .min_by_key(|candidate| due(candidate));
    let least_recalled = || {
        fitting()
            .map(|choice| choice.candidate)
            .filter(|candidate| candidate.loan.is_some() && candidate.recalls > 0)
            .min_by_key(|candidate| (candidate.recalls, due(candidate)))
    };
    not_recalled
        .or_else(least_recalled)
        .or_else(|| fitting().map(|choice| choice.candidate).next())
        .ok_or_else(|| Refusal::new("Request has no loan or recallable item").with_null("loan"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::*;

    fn paged(copies: &[Candidate], code: Option<&str>, pickup: Uuid) -> Result<Uuid, String> {
        let settings = settings_with(true);
        let choices = choices(copies, Some(GROUP), &settings).expect("policies");
        to_page(&choices, Some("t"), code, Some(pickup), &settings)
            .map(|item_as| item_as.item.id)
            .map_err(|refusal| refusal.message)
    }

    fn recalled(copies: &[Candidate]) -> Result<Uuid, String> {
        let settings = settings_with(true);
        let choices = choices(copies, Some(GROUP), &settings).expect("policies");
        to_recall(&choices).map(|item_as| item_as.item.id).map_err(|refusal| refusal.message)
    }

    #[test]
    fn the_item_nearest_to_its_pickup_is_fetched() {
        let copies = [item_as(ITEM, "Available"), at(BRANCH_STACKS, item_as(OTHER_ITEM, "Available"))];
        assert_eq!(paged(&copies, None, BRANCH_DESK), Ok(OTHER_ITEM));
        assert_eq!(paged(&copies, None, MAIN_DESK), Ok(ITEM));
        assert_eq!(paged(&copies[1..], None, MAIN_DESK), Ok(OTHER_ITEM), "rather far than none");
    }

    #[test]
    fn an_item_of_the_same_library_is_nearer_than_another() {
        let mut settings = settings_with(true);
        let annex = Uuid::from_u128(50);
        let place = Location { library_id: Some(LIBRARY), ..Location::default() };
        settings.locations.insert(annex, place);
        let copies =
            [at(BRANCH_STACKS, item_as(ITEM, "Available")), at(annex, item_as(OTHER_ITEM, "Available"))];
        let choices = choices(&copies, Some(GROUP), &settings).expect("policies");
        let nearest = to_page(&choices, Some("t"), None, Some(MAIN_DESK), &settings).expect("a copy");
        assert_eq!(nearest.item.id, OTHER_ITEM);
    }

    #[test]
    fn a_place_that_was_asked_for_holds_for_all_its_parts() {
        let copies = [at(BRANCH_STACKS, item_as(ITEM, "Available")), item_as(OTHER_ITEM, "Available")];
        for code in ["STACKS", "LIB"] {
            assert_eq!(paged(&copies, Some(code), BRANCH_DESK), Ok(OTHER_ITEM), "{code}");
        }
        assert_eq!(
            paged(&copies, Some("ATTIC"), MAIN_DESK),
            Err("Cannot create page TLR for this instance ID - no pageable available items found in requested \
                 location"
                .to_owned())
        );
    }

    #[test]
    fn what_the_policy_does_not_give_out_is_not_on_the_shelf() {
        let copies = [for_reference(item_as(ITEM, "Available")), item_as(OTHER_ITEM, "Paged")];
        assert_eq!(
            paged(&copies, None, MAIN_DESK),
            Err("Cannot create page TLR for this instance ID - no pageable available items found".to_owned())
        );
    }

    #[test]
    fn the_loan_that_ends_first_is_recalled() {
        assert_eq!(
            recalled(&[on_loan(ITEM, NEIGHBOR, "20"), on_loan(OTHER_ITEM, NEIGHBOR, "19")]),
            Ok(OTHER_ITEM)
        );
    }

    #[test]
    fn a_loan_not_yet_recalled_goes_before_one_that_was_and_that_before_one_recalled_more_often() {
        let recalled_times = |recalls: i64, item_as: Candidate| Candidate { recalls, ..item_as };
        let first = recalled_times(1, on_loan(ITEM, NEIGHBOR, "11"));
        assert_eq!(recalled(&[first.clone(), on_loan(OTHER_ITEM, NEIGHBOR, "19")]), Ok(OTHER_ITEM));
        assert_eq!(recalled(&[recalled_times(2, on_loan(OTHER_ITEM, NEIGHBOR, "10")), first]), Ok(ITEM));
    }

    #[test]
    fn without_loans_any_item_that_can_be_recalled_will_do() {
        assert_eq!(
            recalled(&[item_as(ITEM, "Available"), item_as(OTHER_ITEM, "In transit")]),
            Ok(OTHER_ITEM)
        );
        assert_eq!(
            recalled(&[item_as(ITEM, "Available")]),
            Err("Request has no loan or recallable item".to_owned())
        );
    }
}
