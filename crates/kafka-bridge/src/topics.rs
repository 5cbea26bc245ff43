//! Topics of the outbox that FOLIO's modules publish to Kafka. A Kafka topic is `{prefix}.{tenant}.{topic}`.
//!
//! Source: `InventoryKafkaTopic` of mod-inventory-storage, `CirculationStorageKafkaTopic` of mod-circulation-storage and
//! `UsersKafkaTopic` of mod-users, with their default numbers of partitions. What mod-pubsub carries (`pubsub.…`,
//! `feesfines.…`) goes to its subscribers by HTTP and not to Kafka.

/// Name in the outbox, and partitions of a topic that is made here.
const TOPICS: [(&str, i32); 29] = [
    ("circulation.check-in", 10),
    ("circulation.circulation-settings", 10),
    ("circulation.loan", 10),
    ("circulation.request", 10),
    ("circulation.request-queue-reordering", 10),
    ("circulation.rules", 10),
    ("inventory.bound-with", 50),
    ("inventory.call-number-type", 1),
    ("inventory.campus", 1),
    ("inventory.classification-type", 1),
    ("inventory.holdings-record", 50),
    ("inventory.instance", 50),
    ("inventory.instance-contribution", 50),
    ("inventory.instance-date-type", 1),
    ("inventory.institution", 1),
    ("inventory.item", 50),
    ("inventory.library", 1),
    ("inventory.loan-type", 1),
    ("inventory.location", 1),
    ("inventory.material-type", 1),
    ("inventory.reindex-records", 16),
    ("inventory.reindex.file-ready", 16),
    ("inventory.service-point", 50),
    ("inventory.setting", 1),
    ("inventory.subject-source", 1),
    ("inventory.subject-type", 1),
    ("inventory.async-migration", 50),
    ("users.userGroup", 10),
    ("users.users", 10),
];

/// Names in the outbox of what is sent.
pub fn sent() -> Vec<String> {
    TOPICS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// Partitions for a topic of the outbox that the cluster does not have yet.
pub fn partitions(topic: &str) -> i32 {
    TOPICS.iter().find(|(name, _)| *name == topic).map_or(1, |(_, partitions)| *partitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_those_of_folio() {
        assert_eq!(partitions("circulation.loan"), 10);
        assert_eq!(partitions("inventory.item"), 50);
        assert_eq!(partitions("inventory.location"), 1);
    }

    #[test]
    fn events_of_subscribers_are_not_sent() {
        assert!(sent().iter().all(|topic| !topic.starts_with("pubsub.") && !topic.starts_with("feesfines.")));
    }
}
