//! How long a run measures, at how many users, and the arrival rate: the same for the floor and for the scans,
//! otherwise the ratios would compare different loads.
//!
//! "N users" are N workers with a connection each, so at most N actions are under way. First both sides are saturated
//! with N workers. Then both get the same arrivals: by default 45 % of what the slowest of them did, the "mid load" of
//! FOLIO's performance strategy (low, mid, high: 10, 45, 80 % of capacity). That rate can be sustained by all, so the
//! percentiles show the time of the work and not of a growing queue; and it is the slower side that sets it, so that
//! the floor is never made slow on purpose. Real workers scan once every few seconds; at such a rate every percentile
//! would be that of a machine asleep.

use std::time::Duration;

/// The numbers of users at which the reference reports were made and at which the bars hold.
pub const LEVELS: [usize; 3] = [1, 8, 20];
/// The numbers of users at which the reference report on placing holds was made.
pub const HOLD_LEVELS: [usize; 4] = [1, 5, 8, 20];
/// Mid load in FOLIO's strategy, as a share of capacity.
pub const MID_LOAD: f64 = 0.45;

/// Arrivals per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// A share, between 0 and 1, of what the slowest side did when saturated with as many workers.
    ShareOfCapacity(f64),
    /// A given number per second, at every number of users.
    PerSecond(f64),
}

/// Length and order of the measurements.
#[derive(Debug, Clone)]
pub struct Timing {
    /// Numbers of users.
    pub levels: Vec<usize>,
    /// How long each side is saturated in each round.
    pub saturated: Duration,
    /// How long arrivals go on for each side in each round.
    pub paced: Duration,
    /// How often each level is measured; samples are added up. Many short rounds expose all sides to the same
    /// disturbances: a disk that is slow for two seconds must not affect one side only.
    pub rounds: usize,
    /// The arrival rate.
    pub pace: Pace,
}

impl Timing {
    /// All three levels within about a minute.
    pub fn quick() -> Timing {
        Timing {
            levels: LEVELS.to_vec(),
            saturated: Duration::from_millis(500),
            paced: Duration::from_millis(700),
            rounds: 4,
            pace: Pace::ShareOfCapacity(MID_LOAD),
        }
    }

    /// The figures to publish, within about six minutes.
    pub fn thorough() -> Timing {
        Timing {
            saturated: Duration::from_secs(5),
            paced: Duration::from_secs(6),
            rounds: 3,
            ..Timing::quick()
        }
    }

    /// The same for the ways of placing a hold. There are more of them, and all requests are cancelled between the
    /// phases, which takes longer than placing them; so the phases are shorter.
    pub fn for_holds(self) -> Timing {
        Timing {
            levels: HOLD_LEVELS.to_vec(),
            saturated: self.saturated * 4 / 5,
            paced: self.paced * 4 / 5,
            rounds: self.rounds.min(3),
            ..self
        }
    }

    /// The arrival rate, given what each side did when saturated.
    pub fn rate(&self, saturated: &[f64]) -> f64 {
        match self.pace {
            Pace::PerSecond(rate) => rate,
            // At least one per second, even if every call of a side failed.
            Pace::ShareOfCapacity(share) => {
                (share * saturated.iter().copied().fold(f64::INFINITY, f64::min)).max(1.0)
            }
        }
    }

    /// The largest number of users.
    pub fn most_users(&self) -> usize {
        self.levels.iter().copied().max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_side_sets_the_rate() {
        let timing = Timing::quick();
        assert_eq!(timing.rate(&[6000.0, 2000.0, 3000.0]), 900.0);
        assert_eq!(timing.rate(&[6000.0, 0.0]), 1.0);
    }

    #[test]
    fn a_given_rate_stands() {
        let timing = Timing { pace: Pace::PerSecond(250.0), ..Timing::quick() };
        assert_eq!(timing.rate(&[100.0]), 250.0);
    }
}
