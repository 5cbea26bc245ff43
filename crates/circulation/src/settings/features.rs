//! Circulation settings that decisions use.

use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use uuid::Uuid;

/// Whether patrons may place title-level requests, and how.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct TitleLevelRequests {
    pub title_level_requests_feature_enabled: bool,
    pub create_title_level_requests_by_default: bool,
    pub tlr_hold_should_follow_circulation_rules: bool,
    pub confirmation_patron_notice_template_id: Option<Uuid>,
    pub cancellation_patron_notice_template_id: Option<Uuid>,
    pub expiration_patron_notice_template_id: Option<Uuid>,
}

impl TitleLevelRequests {
    /// The two newer settings take precedence over the older one; without any the feature is disabled.
    pub fn read(
        general: Option<&Value>,
        regular: Option<&Value>,
        older: Option<&Value>,
    ) -> TitleLevelRequests {
        let parts: Vec<&Value> = [general, regular].into_iter().flatten().collect();
        let parts = if parts.is_empty() { older.into_iter().collect() } else { parts };
        let mut whole = serde_json::Map::new();
        for part in parts.into_iter().filter_map(Value::as_object) {
            whole.extend(part.clone());
        }
        whole.retain(|_, value| !value.is_null());
        serde_json::from_value(Value::Object(whole)).unwrap_or_default()
    }

    /// Title-level requests are enabled, and queues belong to instances.
    pub fn enabled(&self) -> bool {
        self.title_level_requests_feature_enabled
    }
}

/// How a check-out waits for another one of the same patron.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOutLock {
    /// Returns the refusals of FOLIO's feature; the database locks the patron in any case.
    pub enabled: bool,
    /// The longest wait.
    pub longest_wait: Duration,
}

impl CheckOutLock {
    /// Reads the setting `checkoutLockFeature`: an object, or the text of one.
    pub fn read(setting: Option<&Value>) -> CheckOutLock {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Feature {
            check_out_lock_feature_enabled: bool,
            no_of_retry_attempts: u64,
            retry_interval: u64,
        }
        impl Default for Feature {
            fn default() -> Feature {
                Feature {
                    check_out_lock_feature_enabled: false,
                    no_of_retry_attempts: 30,
                    retry_interval: 250,
                }
            }
        }
        let feature: Feature = match setting {
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
            Some(value) => serde_json::from_value(value.clone()).unwrap_or_default(),
            None => Feature::default(),
        };
        CheckOutLock {
            enabled: feature.check_out_lock_feature_enabled,
            longest_wait: Duration::from_millis(
                feature.no_of_retry_attempts.saturating_mul(feature.retry_interval).clamp(1, 60_000),
            ),
        }
    }
}

/// Features that are enabled by a circulation setting `{"enabled": true}` of their name, otherwise for all tenants by
/// FOLIO's environment variable for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Features {
    /// `floatingCollections`: an item of a floating collection stays where it is checked in.
    pub floating_collections: bool,
    /// `forUseAtLocation`: items are checked out for use in the library and held at the desk.
    pub for_use_at_location: bool,
}

impl Features {
    pub fn read<'a>(setting: impl Fn(&str) -> Option<&'a Value>) -> Features {
        let on = |name: &str, variable: &str| match setting(name).and_then(|value| value.get("enabled")) {
            Some(enabled) => enabled == true || enabled == "true",
            None => std::env::var(variable).is_ok_and(|value| value.eq_ignore_ascii_case("true")),
        };
        Features {
            floating_collections: on("floatingCollections", "ENABLE_FLOATING_COLLECTIONS"),
            for_use_at_location: on("forUseAtLocation", "ENABLE_FOR_USE_AT_LOCATION"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_newer_settings_take_precedence() {
        let on = json!({"titleLevelRequestsFeatureEnabled": true});
        let off = json!({"titleLevelRequestsFeatureEnabled": false});
        assert!(!TitleLevelRequests::read(None, None, None).enabled());
        assert!(TitleLevelRequests::read(None, None, Some(&on)).enabled());
        assert!(!TitleLevelRequests::read(Some(&off), None, Some(&on)).enabled());
    }

    #[test]
    fn the_lock_feature_is_read_from_text_too() {
        let text =
            json!("{\"checkOutLockFeatureEnabled\":true,\"noOfRetryAttempts\":4,\"retryInterval\":100}");
        let lock = CheckOutLock::read(Some(&text));
        assert!(lock.enabled);
        assert_eq!(lock.longest_wait, Duration::from_millis(400));
    }

    #[test]
    fn a_setting_switches_a_feature_on() {
        let enabled = json!({"enabled": true});
        let features = Features::read(|name| (name == "forUseAtLocation").then_some(&enabled));
        assert!(features.for_use_at_location);
        assert!(!features.floating_collections);
    }
}
