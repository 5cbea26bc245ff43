//! The workloads that come with the program.

/// Name and text of each shipped workload.
pub const SHIPPED: &[(&str, &str)] = &[
    ("checkout-lock-off", include_str!("../../../../lab/workloads/checkout-lock-off.toml")),
    ("checkout-lock-on", include_str!("../../../../lab/workloads/checkout-lock-on.toml")),
    ("cico-beside-logins", include_str!("../../../../lab/workloads/cico-beside-logins.toml")),
    ("cico-fameflower", include_str!("../../../../lab/workloads/cico-fameflower.toml")),
    ("cico-november-2020", include_str!("../../../../lab/workloads/cico-november-2020.toml")),
    ("cico-orchid", include_str!("../../../../lab/workloads/cico-orchid.toml")),
    ("holds-instance", include_str!("../../../../lab/workloads/holds-instance.toml")),
    ("holds-item", include_str!("../../../../lab/workloads/holds-item.toml")),
    ("holds-patron", include_str!("../../../../lab/workloads/holds-patron.toml")),
    ("lists-refresh", include_str!("../../../../lab/workloads/lists-refresh.toml")),
    ("logins-400", include_str!("../../../../lab/workloads/logins-400.toml")),
    ("mixed", include_str!("../../../../lab/workloads/mixed.toml")),
];
