//! Which bound-with parts are added and removed. An item's own holdings record is a part as soon as there is another
//! part, and never the only one.

use uuid::Uuid;

/// Holdings records to add as parts of the item and to remove.
#[derive(Debug, PartialEq, Eq)]
pub struct Decision {
    pub bind: Vec<Uuid>,
    pub release: Vec<Uuid>,
}

/// `main` is the item's own holdings record, `wanted` are the requested parts, `present` the stored ones.
pub fn decide(main: Option<Uuid>, wanted: &[Uuid], present: &[Uuid]) -> Decision {
    let mut bound: Vec<Uuid> = wanted.to_vec();
    if let Some(main) = main
        && !bound.contains(&main)
        && !bound.is_empty()
    {
        bound.push(main);
    }
    if main.is_some_and(|main| bound == [main]) {
        bound.clear();
    }
    Decision {
        bind: bound.iter().copied().filter(|holdings| !present.contains(holdings)).collect(),
        release: present.iter().copied().filter(|holdings| !bound.contains(holdings)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(wanted: &[u128], present: &[u128]) -> (Vec<u128>, Vec<u128>) {
        let ids = |numbers: &[u128]| numbers.iter().copied().map(Uuid::from_u128).collect::<Vec<_>>();
        let Decision { bind, release } = decide(Some(Uuid::from_u128(1)), &ids(wanted), &ids(present));
        let numbers = |ids: Vec<Uuid>| ids.iter().map(Uuid::as_u128).collect();
        (numbers(bind), numbers(release))
    }

    #[test]
    fn the_main_holdings_record_is_added_with_the_first_other() {
        assert_eq!(decided(&[2], &[]), (vec![2, 1], vec![]));
        assert_eq!(decided(&[1, 2], &[]), (vec![1, 2], vec![]));
    }

    #[test]
    fn the_main_holdings_record_is_never_the_only_part() {
        assert_eq!(decided(&[1], &[]), (vec![], vec![]));
        assert_eq!(decided(&[1], &[1, 2]), (vec![], vec![1, 2]));
        assert_eq!(decided(&[], &[1, 2]), (vec![], vec![1, 2]));
    }

    #[test]
    fn a_part_that_is_no_longer_wanted_is_removed() {
        assert_eq!(decided(&[3], &[1, 2]), (vec![3], vec![2]));
    }
}
