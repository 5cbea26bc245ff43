//! FOLIO's timers: routes that its modules call regularly. Each timer is implemented by a job; if no module declares
//! one, a job calls the route.

use super::declaration::Job;
use super::timing::Timing;
use crate::surface::TIMER_ROUTES;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;
use uuid::Uuid;

/// A timer of a module.
#[derive(Debug, Clone)]
pub struct Timer {
    pub module: &'static str,
    /// Its index among the timers of its module.
    pub number: usize,
    pub method: &'static str,
    pub path: &'static str,
    /// The declared timing.
    pub timing: Timing,
    /// The name of its job. If no module declares a job with this name, the timer calls the route.
    pub job: String,
}

impl Timer {
    /// The route to call, if none of these jobs implements the timer.
    pub fn call(&self, jobs: &[&Job]) -> Option<RouteCall> {
        let is_backed = jobs.iter().any(|job| job.name == self.job);
        (!is_backed).then(|| RouteCall {
            method: self.method.into(),
            path: self.path.into(),
            user_timer: None,
        })
    }
}

/// All timers of FOLIO's modules.
pub static TIMERS: LazyLock<Vec<Timer>> = LazyLock::new(|| {
    let jobs: HashMap<&str, &str> = include_str!("../../surface/timer-jobs.tsv")
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once('\t'))
        .collect();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut timers = Vec::new();
    for route in TIMER_ROUTES.iter() {
        let next = numbers.entry(&route.module).or_default();
        let job = jobs.get(&*route.path);
        timers.push(Timer {
            module: &route.module,
            number: *next,
            method: &route.method,
            path: &route.path,
            timing: Timing::of_cell(&route.timing),
            job: job.map_or_else(|| route.path.trim_matches('/').replace('/', "-"), |job| (*job).to_owned()),
        });
        *next += 1;
    }
    timers
});

/// Settings of a job's row: changes to its declaration, and the route that it calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimerSetting {
    /// Replaces the declared timing unless it is empty.
    #[serde(default, skip_serializing_if = "Timing::is_empty")]
    pub timing: Timing,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Time and user of the last change.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<RouteCall>,
}

/// The route that a timer calls, and the user whose permissions apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteCall {
    pub method: String,
    pub path: String,
    /// Present for a timer created by a user: it calls with the user's permissions; a module's timer has all
    /// permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_timer: Option<UserTimer>,
}

/// A timer created by a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserTimer {
    pub id: Uuid,
    pub user_id: Uuid,
    pub module_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module_id: Option<String>,
    /// Whether the path was sent as `pathPattern`.
    #[serde(default)]
    pub is_pattern: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_numbered_within_their_module() {
        let of_users: Vec<_> = TIMERS.iter().filter(|timer| timer.module == "mod-users").collect();
        assert_eq!(of_users[0].number, 0);
        assert_eq!(of_users[1].number, 1);
        assert_eq!((of_users[0].path, &*of_users[0].job), ("/users/expire/timer", "users-expire-timer"));
    }

    #[test]
    fn every_timer_says_when_it_is_due() {
        for timer in TIMERS.iter() {
            timer
                .timing
                .next(jiff::Timestamp::UNIX_EPOCH)
                .unwrap_or_else(|reason| panic!("{}: {reason}", timer.path));
        }
    }

    #[test]
    fn every_job_of_a_timer_has_a_route() {
        for line in include_str!("../../surface/timer-jobs.tsv").lines().skip(1) {
            let path = line.split('\t').next().unwrap_or_default();
            assert!(TIMERS.iter().any(|timer| timer.path == path), "{path} is not a timer");
        }
    }

    #[test]
    fn a_setting_is_stored_without_absent_values() {
        assert_eq!(serde_json::to_string(&TimerSetting::default()).expect("JSON"), "{}");
        assert_eq!(serde_json::from_str::<TimerSetting>("{}").expect("a setting"), TimerSetting::default());
    }
}
