//! Reproducible random numbers: the same seed gives the same numbers on every machine and with every version of every
//! crate, which a random-number crate does not guarantee.

/// A sequence of random numbers that depends on its seed only.
#[derive(Debug, Clone)]
pub struct RandomSequence(u64);

impl RandomSequence {
    /// The random numbers of record `number` of the kind `kind` (a constant of the caller's) under `seed`.
    pub fn new(seed: u64, kind: u64, number: u64) -> RandomSequence {
        RandomSequence(mix(mix(seed ^ 0x5851_F42D_4C95_7F2D).wrapping_add(kind)).wrapping_add(number))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number from 0 to one less than `sides`, which is at least 1.
    pub fn throw(&mut self, sides: u64) -> u64 {
        // The high half of the product is evenly spread without the bias of a remainder.
        ((u128::from(self.next()) * u128::from(sides)) >> 64) as u64
    }

    /// A number from `from` to `to`, both included.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.throw(to - from + 1)
    }

    /// A fraction from 0 up to, but not including, 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of the given elements.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.throw(things.len() as u64) as usize]
    }
}

/// The finalizer of SplitMix64.
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_throws() {
        let throws = |seed| {
            let mut random = RandomSequence::new(seed, 1, 7);
            (0..20).map(|_| random.throw(1000)).collect::<Vec<_>>()
        };
        assert_eq!(throws(42), throws(42));
        assert_ne!(throws(42), throws(43));
    }

    #[test]
    fn throws_stay_in_range_and_reach_every_side() {
        let mut random = RandomSequence::new(1, 1, 1);
        let mut seen = [0; 6];
        for _ in 0..600 {
            seen[random.throw(6) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 60), "{seen:?}");
        assert!((0..100).all(|_| (0.0..1.0).contains(&random.fraction())));
        assert!((0..100).all(|_| (5..=7).contains(&random.between(5, 7))));
    }
}
