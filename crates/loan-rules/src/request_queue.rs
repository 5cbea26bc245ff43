//! The queue as a row of requests with positions 1..n: what leaving, moving and reordering make of it. Values
//! only; the changes that come out are written by one statement.

use crate::request::{Kind, NOT_YET_FILLED};
use carrel_records::Refusal;
use std::collections::HashMap;
use uuid::Uuid;

/// A request in a queue, with what its place depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub id: Uuid,
    pub position: Option<i64>,
    pub item_id: Option<Uuid>,
    pub requester_id: Option<Uuid>,
    pub kind: Option<Kind>,
    pub status: String,
    pub is_title_level: bool,
}

impl Waiting {
    /// An item is on its way to the patron or waits for him.
    pub fn fulfillment_has_begun(&self) -> bool {
        self.status != NOT_YET_FILLED
    }
}

/// Positions that change.
pub type Moves = Vec<(Uuid, i64)>;

/// The moves that number the requests 1..n in this order.
pub fn numbered<'a>(order: impl IntoIterator<Item = &'a Waiting>) -> Moves {
    order
        .into_iter()
        .zip(1..)
        .filter(|(request, position)| request.position != Some(*position))
        .map(|(request, position)| (request.id, position))
        .collect()
}

/// Those behind move up when a request leaves.
pub fn left_by(queue: &[Waiting], leaver: Uuid) -> Moves {
    numbered(queue.iter().filter(|request| request.id != leaver))
}

/// A request goes to the end of its own queue.
pub fn to_the_end(queue: &[Waiting], mover: Uuid) -> Moves {
    let (moved, stay): (Vec<_>, Vec<_>) = queue.iter().partition(|request| request.id == mover);
    numbered(stay.into_iter().chain(moved))
}

/// The position behind everybody.
pub fn last(queue: &[Waiting]) -> i64 {
    queue.iter().filter_map(|request| request.position).max().unwrap_or(0).max(queue.len() as i64) + 1
}

/// Whose queue it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    Item,
    Instance,
}

/// Staff put the queue into another order: refused where it is not an order of this queue, or displaces
/// requests whose fulfillment has begun.
pub fn reordered(queue: &[Waiting], wishes: &[(Uuid, i64)], of: Of) -> Result<Moves, Refusal> {
    let mut positions: Vec<i64> = wishes.iter().map(|(_, position)| *position).collect();
    positions.sort_unstable();
    if positions.iter().zip(1..).any(|(position, expected)| *position != expected) {
        return Err(Refusal::new("Positions must have sequential order.").with_null("newPosition"));
    }
    let wished: HashMap<Uuid, i64> = wishes.iter().copied().collect();
    if wishes.len() != queue.len() || queue.iter().any(|request| !wished.contains_key(&request.id)) {
        return Err(Refusal {
            // FOLIO quirk: a parameter without key and value.
            parameters: vec![(String::new(), None)],
            ..Refusal::new("There is inconsistency between provided reordered queue and existing queue.")
        });
    }
    let displaced = |text: &str| Err(Refusal::new(text).with_null("newPosition"));
    let mut new_order: Vec<&Waiting> = queue.iter().collect();
    new_order.sort_by_key(|request| wished[&request.id]);
    match of {
        Of::Item => {
            let behind = || new_order.iter().skip(1);
            if behind().any(|request| request.kind == Some(Kind::Page)) {
                return displaced("Page requests can not be displaced from position 1.");
            }
            if behind().any(|request| request.fulfillment_has_begun()) {
                return displaced("Requests can not be displaced from position 1 when fulfillment begun.");
            }
        }
        Of::Instance => {
            let begun = queue.iter().filter(|request| request.fulfillment_has_begun()).count();
            if new_order.iter().skip(begun).any(|request| request.fulfillment_has_begun()) {
                return displaced("Requests can not be displaced from top positions when fulfillment begun.");
            }
        }
    }
    Ok(numbered(new_order))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::AWAITING_PICKUP;
    use proptest::prelude::*;

    fn waiting(number: u128, position: i64) -> Waiting {
        Waiting {
            id: Uuid::from_u128(number),
            position: Some(position),
            item_id: None,
            requester_id: None,
            kind: Some(Kind::Hold),
            status: NOT_YET_FILLED.into(),
            is_title_level: true,
        }
    }

    fn three() -> Vec<Waiting> {
        vec![waiting(1, 1), waiting(2, 2), waiting(3, 3)]
    }

    fn wish(numbers: &[u128]) -> Vec<(Uuid, i64)> {
        numbers.iter().map(|number| Uuid::from_u128(*number)).zip(1..).collect()
    }

    #[test]
    fn those_behind_move_up_when_a_request_leaves() {
        assert_eq!(left_by(&three(), Uuid::from_u128(2)), [(Uuid::from_u128(3), 2)]);
        assert_eq!(left_by(&three(), Uuid::from_u128(3)), []);
    }

    #[test]
    fn an_order_that_is_not_of_this_queue_is_refused() {
        let text = |wishes: &[(Uuid, i64)]| reordered(&three(), wishes, Of::Instance).unwrap_err().message;
        assert!(text(&wish(&[1, 2])).starts_with("There is inconsistency"));
        assert!(text(&wish(&[1, 2, 4])).starts_with("There is inconsistency"));
        assert_eq!(
            text(&[(Uuid::from_u128(1), 1), (Uuid::from_u128(2), 3), (Uuid::from_u128(3), 4)]),
            "Positions must have sequential order."
        );
    }

    #[test]
    fn a_request_whose_fulfillment_has_begun_stays_in_front() {
        let mut queue = three();
        queue[0].status = AWAITING_PICKUP.into();
        assert!(reordered(&queue, &wish(&[2, 1, 3]), Of::Item).is_err());
        assert!(reordered(&queue, &wish(&[2, 1, 3]), Of::Instance).is_err());
        let moves = reordered(&queue, &wish(&[1, 3, 2]), Of::Instance).expect("the front stays");
        assert_eq!(moves, [(Uuid::from_u128(3), 2), (Uuid::from_u128(2), 3)]);
    }

    #[test]
    fn a_page_stays_in_front_of_its_item() {
        let mut queue = three();
        queue[0].kind = Some(Kind::Page);
        let refusal = reordered(&queue, &wish(&[2, 1, 3]), Of::Item).unwrap_err();
        assert_eq!(refusal.message, "Page requests can not be displaced from position 1.");
        assert!(reordered(&queue, &wish(&[2, 1, 3]), Of::Instance).is_ok());
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

    fn write(queue: &mut [Waiting], moves: &Moves) {
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
            // Whatever was there before, the first change brings order.
            let mut queue: Vec<Waiting> =
                start.iter().zip(1000..).map(|(position, number)| waiting(number, *position)).collect();
            queue.sort_by_key(|request| request.position);
            let healed = numbered(&queue);
            write(&mut queue, &healed);
            let mut next = 0;
            for event in history {
                match event {
                    Event::Placed => {
                        next += 1;
                        let position = last(&queue);
                        queue.push(waiting(next, position));
                    }
                    Event::Cancelled(which) if !queue.is_empty() => {
                        let leaver = queue[which % queue.len()].id;
                        let moves = left_by(&queue, leaver);
                        queue.retain(|request| request.id != leaver);
                        write(&mut queue, &moves);
                    }
                    Event::SentToTheEnd(which) if !queue.is_empty() => {
                        let mover = queue[which % queue.len()].id;
                        let moves = to_the_end(&queue, mover);
                        write(&mut queue, &moves);
                    }
                    Event::Reordered(keys) => {
                        let mut order: Vec<Uuid> = queue.iter().map(|request| request.id).collect();
                        for (place, key) in keys.iter().enumerate().take(order.len()) {
                            let other = key % order.len();
                            order.swap(place, other);
                        }
                        let wishes: Vec<(Uuid, i64)> = order.into_iter().zip(1..).collect();
                        let moves = reordered(&queue, &wishes, Of::Instance).expect("nothing has begun");
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
