//! Conflicts between the openings of a calendar.

use super::record::{ExceptionOpening, NormalOpening};

/// Whether an opening of an exception overlaps another one, or ends before it starts.
///
/// mod-calendar fails with 500 on the latter; here it is reported as a conflict.
pub(super) fn conflicts_with_another_or_itself(
    n: usize,
    opening: &ExceptionOpening,
    all: &[ExceptionOpening],
) -> bool {
    opening.start() > opening.end()
        || all.iter().enumerate().any(|(other, another)| {
            other != n && opening.start() <= another.end() && another.start() <= opening.end()
        })
}

/// Whether two weekly openings share a minute; the end is an open minute, so adjoining openings overlap.
pub(super) fn normal_openings_overlap(a: &NormalOpening, b: &NormalOpening) -> bool {
    a.start_day.cycle_forward().take(7).any(|day| {
        let theirs = b.on(day);
        a.on(day).iter().any(|ours| {
            theirs.iter().any(|their| ours.start_time <= their.end_time && their.start_time <= ours.end_time)
        })
    })
}

/// The elements of a list that overlap another one of the list.
pub(super) fn overlapping<T>(all: &[T], overlap: impl Fn(&T, &T) -> bool) -> Vec<&T> {
    let meets_another = |n: usize| all.iter().enumerate().any(|(other, b)| other != n && overlap(&all[n], b));
    (0..all.len()).filter(|n| meets_another(*n)).map(|n| &all[n]).collect()
}
