//! Positions in a request queue, 1..n: the changes when a request leaves, moves, or all are reordered. Values only.

use crate::request::{RequestStatus, RequestType};
use carrel_records::Refusal;
use std::collections::HashMap;
use uuid::Uuid;

/// A request in a queue, with the values that its position depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueEntry {
    pub id: Uuid,
    pub position: Option<i64>,
    pub item_id: Option<Uuid>,
    pub requester_id: Option<Uuid>,
    pub kind: Option<RequestType>,
    pub status: Option<RequestStatus>,
    pub is_title_level: bool,
}

impl QueueEntry {
    /// An item is in transit to the pickup service point or awaits the patron.
    pub fn fulfillment_has_begun(&self) -> bool {
        self.status != Some(RequestStatus::NotYetFilled)
    }
}

/// Requests with their new positions.
pub type PositionChanges = Vec<(Uuid, i64)>;

/// The changes that number the requests 1..n in this order.
pub fn renumbered<'a>(order: impl IntoIterator<Item = &'a QueueEntry>) -> PositionChanges {
    order
        .into_iter()
        .zip(1..)
        .filter(|(request, position)| request.position != Some(*position))
        .map(|(request, position)| (request.id, position))
        .collect()
}

/// The changes when a request leaves the queue.
pub fn without(queue: &[QueueEntry], leaver: Uuid) -> PositionChanges {
    renumbered(queue.iter().filter(|request| request.id != leaver))
}

/// The changes when a request moves to the end of its queue.
pub fn with_last(queue: &[QueueEntry], mover: Uuid) -> PositionChanges {
    let (moved, stay): (Vec<_>, Vec<_>) = queue.iter().partition(|request| request.id == mover);
    renumbered(stay.into_iter().chain(moved))
}

/// The changes when a request moves ahead of all unfilled requests.
pub fn ahead_of_unfilled(queue: &[QueueEntry], mover: Uuid) -> PositionChanges {
    let Some(index) = queue.iter().position(|entry| entry.id == mover) else { return Vec::new() };
    let Some(first) = queue[..index].iter().position(|entry| !entry.fulfillment_has_begun()) else {
        return Vec::new();
    };
    let mut order: Vec<&QueueEntry> = queue.iter().collect();
    let moved = order.remove(index);
    order.insert(first, moved);
    renumbered(order)
}

/// The position of a request that joins the queue.
pub fn next_position(queue: &[QueueEntry]) -> i64 {
    queue.iter().filter_map(|request| request.position).max().unwrap_or(0).max(queue.len() as i64) + 1
}

/// Whether a queue belongs to an item or an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueKind {
    Item,
    Instance,
}

/// The changes of a new order; refused if it is not an order of this queue, or displaces requests whose fulfillment has
/// begun.
pub fn reordered(
    queue: &[QueueEntry],
    wanted: &[(Uuid, i64)],
    of: QueueKind,
) -> Result<PositionChanges, Refusal> {
    let mut positions: Vec<i64> = wanted.iter().map(|(_, position)| *position).collect();
    positions.sort_unstable();
    if positions.iter().zip(1..).any(|(position, expected)| *position != expected) {
        return Err(Refusal::new("Positions must have sequential order.").with_null("newPosition"));
    }
    let position_of: HashMap<Uuid, i64> = wanted.iter().copied().collect();
    if wanted.len() != queue.len() || queue.iter().any(|request| !position_of.contains_key(&request.id)) {
        return Err(Refusal {
            // FOLIO quirk: a parameter without key and value.
            parameters: vec![(String::new(), None)],
            ..Refusal::new("There is inconsistency between provided reordered queue and existing queue.")
        });
    }
    let displaced = |text: &str| Err(Refusal::new(text).with_null("newPosition"));
    let mut new_order: Vec<&QueueEntry> = queue.iter().collect();
    new_order.sort_by_key(|request| position_of[&request.id]);
    match of {
        QueueKind::Item => {
            let behind = || new_order.iter().skip(1);
            if behind().any(|request| request.kind == Some(RequestType::Page)) {
                return displaced("Page requests can not be displaced from position 1.");
            }
            if behind().any(|request| request.fulfillment_has_begun()) {
                return displaced("Requests can not be displaced from position 1 when fulfillment begun.");
            }
        }
        QueueKind::Instance => {
            let begun = queue.iter().filter(|request| request.fulfillment_has_begun()).count();
            if new_order.iter().skip(begun).any(|request| request.fulfillment_has_begun()) {
                return displaced("Requests can not be displaced from top positions when fulfillment begun.");
            }
        }
    }
    Ok(renumbered(new_order))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn waiting(number: u128, position: i64) -> QueueEntry {
        QueueEntry {
            id: Uuid::from_u128(number),
            position: Some(position),
            item_id: None,
            requester_id: None,
            kind: Some(RequestType::Hold),
            status: Some(RequestStatus::NotYetFilled),
            is_title_level: true,
        }
    }

    fn three() -> Vec<QueueEntry> {
        vec![waiting(1, 1), waiting(2, 2), waiting(3, 3)]
    }

    fn wanted_order(numbers: &[u128]) -> Vec<(Uuid, i64)> {
        numbers.iter().map(|number| Uuid::from_u128(*number)).zip(1..).collect()
    }

    #[test]
    fn those_behind_move_up_when_a_request_leaves() {
        assert_eq!(without(&three(), Uuid::from_u128(2)), [(Uuid::from_u128(3), 2)]);
        assert_eq!(without(&three(), Uuid::from_u128(3)), []);
    }

    #[test]
    fn an_order_that_is_not_of_this_queue_is_refused() {
        let text =
            |wanted: &[(Uuid, i64)]| reordered(&three(), wanted, QueueKind::Instance).unwrap_err().message;
        assert!(text(&wanted_order(&[1, 2])).starts_with("There is inconsistency"));
        assert!(text(&wanted_order(&[1, 2, 4])).starts_with("There is inconsistency"));
        assert_eq!(
            text(&[(Uuid::from_u128(1), 1), (Uuid::from_u128(2), 3), (Uuid::from_u128(3), 4)]),
            "Positions must have sequential order."
        );
    }

    #[test]
    fn a_request_whose_fulfillment_has_begun_stays_in_front() {
        let mut queue = three();
        queue[0].status = Some(RequestStatus::AwaitingPickup);
        assert!(reordered(&queue, &wanted_order(&[2, 1, 3]), QueueKind::Item).is_err());
        assert!(reordered(&queue, &wanted_order(&[2, 1, 3]), QueueKind::Instance).is_err());
        let moves =
            reordered(&queue, &wanted_order(&[1, 3, 2]), QueueKind::Instance).expect("the front stays");
        assert_eq!(moves, [(Uuid::from_u128(3), 2), (Uuid::from_u128(2), 3)]);
    }

    #[test]
    fn a_page_stays_in_front_of_its_item() {
        let mut queue = three();
        queue[0].kind = Some(RequestType::Page);
        let refusal = reordered(&queue, &wanted_order(&[2, 1, 3]), QueueKind::Item).unwrap_err();
        assert_eq!(refusal.message, "Page requests can not be displaced from position 1.");
        assert!(reordered(&queue, &wanted_order(&[2, 1, 3]), QueueKind::Instance).is_ok());
    }

    #[derive(Debug, Clone)]
    enum Event {
        Placed,
        Cancelled(usize),
        SentToTheEnd(usize),
        Reordered(Vec<usize>),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            3 => Just(Event::Placed),
            2 => any::<usize>().prop_map(Event::Cancelled),
            2 => any::<usize>().prop_map(Event::SentToTheEnd),
            1 => proptest::collection::vec(any::<usize>(), 0..12).prop_map(Event::Reordered),
        ]
    }

    fn write(queue: &mut [QueueEntry], moves: &PositionChanges) {
        for (id, position) in moves {
            let request =
                queue.iter_mut().find(|request| request.id == *id).expect("moves are of this queue");
            request.position = Some(*position);
        }
        queue.sort_by_key(|request| request.position);
    }

    proptest! {
        #[test]
        fn positions_are_one_to_n_after_any_history(
            start in proptest::collection::vec(0i64..6, 0..5), history in proptest::collection::vec(event(), 0..40)
        ) {
            // Whatever the positions were, the first change renumbers the queue.
            let mut queue: Vec<QueueEntry> =
                start.iter().zip(1000..).map(|(position, number)| waiting(number, *position)).collect();
            queue.sort_by_key(|request| request.position);
            let healed = renumbered(&queue);
            write(&mut queue, &healed);
            let mut next = 0;
            for event in history {
                match event {
                    Event::Placed => {
                        next += 1;
                        let position = next_position(&queue);
                        queue.push(waiting(next, position));
                    }
                    Event::Cancelled(which) if !queue.is_empty() => {
                        let leaver = queue[which % queue.len()].id;
                        let moves = without(&queue, leaver);
                        queue.retain(|request| request.id != leaver);
                        write(&mut queue, &moves);
                    }
                    Event::SentToTheEnd(which) if !queue.is_empty() => {
                        let mover = queue[which % queue.len()].id;
                        let moves = with_last(&queue, mover);
                        write(&mut queue, &moves);
                    }
                    Event::Reordered(keys) => {
                        let mut order: Vec<Uuid> = queue.iter().map(|request| request.id).collect();
                        for (place, key) in keys.iter().enumerate().take(order.len()) {
                            let other = key % order.len();
                            order.swap(place, other);
                        }
                        let wanted: Vec<(Uuid, i64)> = order.into_iter().zip(1..).collect();
                        let moves = reordered(&queue, &wanted, QueueKind::Instance).expect("nothing has begun");
                        write(&mut queue, &moves);
                    }
                    Event::Cancelled(_) | Event::SentToTheEnd(_) => {}
                }
                let positions: Vec<i64> = queue.iter().filter_map(|request| request.position).collect();
                prop_assert_eq!(positions, (1..=queue.len() as i64).collect::<Vec<_>>());
            }
        }
    }
}
