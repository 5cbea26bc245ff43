//! The destination of a returned item: the requester's pickup service point, a shelf here, or its home location.

use crate::check_in::CheckInRequest;
use crate::desk::{ItemAtDesk, QueuedRequest};
use crate::settings::CirculationSettings;
use carrel_loan_rules::request::RequestStatus;
use carrel_records::{ItemStatus, Refusal};
use uuid::Uuid;

/// The item's new status and destination, and the new status of the request that it fulfills.
pub(super) struct Destination {
    pub status: ItemStatus,
    pub service_point: Option<Uuid>,
    /// `None` where the item is available, as it then fulfills no request.
    pub request_status: Option<RequestStatus>,
}

/// The pickup service point of the request that the item fulfills, else the item's location or a floating collection.
pub(super) fn destination(
    item: &ItemAtDesk,
    request: Option<&QueuedRequest>,
    command: &CheckInRequest,
    settings: &CirculationSettings,
) -> Result<Destination, Refusal> {
    let here = |status, request_status| Destination { status, service_point: None, request_status };
    let to = |service_point| Destination {
        status: ItemStatus::InTransit,
        service_point,
        request_status: Some(RequestStatus::InTransit),
    };
    if let Some(request) = request {
        if request.wants_delivery() {
            return Ok(here(ItemStatus::AwaitingDelivery, Some(RequestStatus::AwaitingDelivery)));
        }
        return match request.pickup_service_point() {
            None => Err(Refusal::new(
                "Failed to check in item due to the highest priority request missing a pickup service point",
            )
            .with_null("pickupServicePointId")),
            Some(pickup) if pickup == command.service_point => {
                Ok(here(ItemStatus::AwaitingPickup, Some(RequestStatus::AwaitingPickup)))
            }
            Some(pickup) => Ok(to(Some(pickup))),
        };
    }
    let location = item.record.effective_location_id;
    if location.is_some_and(|at| settings.serves(command.service_point, at))
        || floats_to(item, command, settings).is_some()
    {
        return Ok(here(ItemStatus::Available, None));
    }
    Ok(to(location.and_then(|at| settings.locations.get(&at)).and_then(|at| at.primary_service_point)))
}

/// The location for an item of a floating collection: its current one if the service point serves it, otherwise the
/// first floating location of the service point by code.
pub(super) fn floats_to(
    item: &ItemAtDesk,
    command: &CheckInRequest,
    settings: &CirculationSettings,
) -> Option<Uuid> {
    let own = item.record.effective_location_id?;
    let floats = |id: &Uuid| {
        settings.locations.get(id).is_some_and(|location| location.is_floating_collection == Some(true))
    };
    if !settings.features.floating_collections || !floats(&own) {
        return None;
    }
    settings
        .locations
        .iter()
        .filter(|(id, location)| floats(id) && location.service_point_ids.contains(&command.service_point))
        .min_by_key(|(id, location)| (**id != own, location.code.clone(), **id))
        .map(|(id, _)| *id)
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::fixtures::*;
    use crate::settings::Location;
    use carrel_records::{ItemStatus, time};
    use uuid::Uuid;

    #[test]
    fn an_item_without_requests_is_available_at_its_own_desk_and_in_transit_from_another() {
        let here = done(facts("Checked out"), MAIN_DESK);
        assert_eq!((here.state.status, here.state.in_transit_destination), (ItemStatus::Available, None));
        let away = done(facts("Checked out"), BRANCH_DESK);
        assert_eq!(
            (away.state.status, away.state.in_transit_destination),
            (ItemStatus::InTransit, Some(MAIN_DESK))
        );
    }

    #[test]
    fn an_item_of_a_floating_collection_stays_where_such_a_collection_is() {
        let branch_shelf = Uuid::from_u128(9);
        let mut settings = library();
        settings.features.floating_collections = true;
        settings.locations.get_mut(&STACKS).expect("the stacks").is_floating_collection = Some(true);
        settings.locations.insert(
            branch_shelf,
            Location {
                name: "Branch shelf".into(),
                primary_service_point: Some(BRANCH_DESK),
                service_point_ids: vec![BRANCH_DESK],
                is_floating_collection: Some(true),
                ..Location::default()
            },
        );
        let now = time::parse(NOW).expect("a time");
        let check_in =
            decide(facts("Checked out"), &at(BRANCH_DESK), &settings, now, Uuid::nil()).expect("a check-in");
        assert_eq!(check_in.state.status, ItemStatus::Available);
        assert_eq!(check_in.floats_to, Some(branch_shelf));
        settings.features.floating_collections = false;
        let check_in =
            decide(facts("Checked out"), &at(BRANCH_DESK), &settings, now, Uuid::nil()).expect("a check-in");
        assert_eq!((check_in.state.status, check_in.floats_to), (ItemStatus::InTransit, None));
    }
}
