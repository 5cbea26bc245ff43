//! Division of an amount among several accounts.

use carrel_records::Money;

/// Divides `amount` among accounts, each of which accepts at most its entry in `limits`, in the order of `limits`.
///
/// Each gets an even part; accounts with a smaller limit are filled first, in ascending order, and the rest is divided
/// among the others. Cents that cannot be divided are assigned to the accounts one by one. An amount beyond the sum of
/// the limits is not assigned.
pub fn split(amount: Money, limits: &[Money]) -> Vec<Money> {
    let mut parts = vec![Money::ZERO; limits.len()];
    let mut ascending: Vec<usize> = (0..limits.len()).collect();
    ascending.sort_by_key(|index| limits[*index]);
    let mut left = amount;
    let mut even = left.split_evenly(limits.len());
    for (done, index) in ascending.iter().enumerate() {
        let limit = limits[*index].max(Money::ZERO);
        let part = even.min(limit).min(left);
        parts[*index] = part;
        left -= part;
        if limit < even {
            even = left.split_evenly(limits.len() - done - 1);
        }
    }
    let cent = Money::of_cents(1);
    loop {
        let before = left;
        for index in &ascending {
            if left >= cent && parts[*index] + cent <= limits[*index] {
                parts[*index] += cent;
                left -= cent;
            }
        }
        if left == before {
            return parts;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cents(amounts: &[i64]) -> Vec<Money> {
        amounts.iter().map(|cents| Money::of_cents(*cents)).collect()
    }

    #[test]
    fn an_amount_is_split_evenly_and_small_accounts_are_filled() {
        for (amount, limits, expected) in [
            (900, vec![500, 500, 500], vec![300, 300, 300]),
            (1000, vec![500, 500, 500], vec![334, 333, 333]),
            (1000, vec![100, 900, 400], vec![100, 500, 400]),
            (1, vec![100, 100], vec![1, 0]),
            (1500, vec![500, 500, 500], vec![500, 500, 500]),
            (700, vec![700], vec![700]),
            (200, vec![0, 300], vec![0, 200]),
        ] {
            let parts = split(Money::of_cents(amount), &cents(&limits));
            assert_eq!(parts, cents(&expected), "{amount} among {limits:?}");
        }
    }

    #[test]
    fn no_cent_is_lost_and_no_limit_passed() {
        for seed in 0..2_000_i64 {
            let limits: Vec<i64> = (0..1 + seed % 5).map(|n| (seed * 7919 + n * 104_729) % 1_000).collect();
            let sum: i64 = limits.iter().sum();
            let amount = if sum == 0 { 0 } else { seed * 31 % (sum + 1) };
            let parts = split(Money::of_cents(amount), &cents(&limits));
            assert_eq!(
                parts.iter().copied().sum::<Money>(),
                Money::of_cents(amount),
                "{amount} of {limits:?}"
            );
            for (part, limit) in parts.iter().zip(cents(&limits)) {
                assert!(*part <= limit && *part >= Money::ZERO, "{amount} of {limits:?}");
            }
        }
    }
}
