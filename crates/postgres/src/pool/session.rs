//! What a pool asks of its connections: role, search path and settings.

use super::Work;

/// Settings of every connection. A longer wait for a row lock means that a transaction hangs; the caller gets an error.
/// A statement whose node has died keeps its locks for two seconds.
const ALL: &str = "-c lock_timeout=7500 -c idle_in_transaction_session_timeout=30000 -c jit=off -c timezone=UTC \
    -c client_connection_check_interval=2000";

/// The settings of a pool's connections, which differ between tenants and kinds of work.
pub(super) struct Session {
    work: Work,
    /// As it is shown in `pg_stat_activity`, with the schema's name.
    name: String,
    startup_options: String,
    hand_over_sql: Option<String>,
}

impl Session {
    pub fn new(schema: Option<&str>, work: Work) -> Session {
        let name = schema.map_or_else(|| "carrel".to_owned(), |schema| format!("carrel {schema}"));
        let mut settings = work.settings();
        if let Some(schema) = schema {
            settings.push(("role", schema.to_owned()));
            settings.push(("search_path", format!("{schema},carrel")));
        }
        let mut startup_options = ALL.to_owned();
        for (setting, value) in &settings {
            startup_options.push_str(&format!(" -c {setting}={value}"));
        }
        // The names of schemas need no quotes. All takes effect, or nothing.
        let hand_over_sql = (schema.is_some() && work != Work::Upkeep).then(|| {
            let mut sql = format!("DEALLOCATE ALL; SET application_name = '{name}'");
            for (setting, value) in &settings {
                sql.push_str(&format!("; SET {setting} = {value}"));
            }
            sql
        });
        Session { work, name, startup_options, hand_over_sql }
    }

    pub fn work(&self) -> Work {
        self.work
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The options with which a connection is opened.
    pub fn startup_options(&self) -> &str {
        &self.startup_options
    }

    /// Whether connections are handed over to other such pools, and taken over from them. Upkeep changes settings of its
    /// connections, so it keeps them.
    pub fn hands_over(&self) -> bool {
        self.hand_over_sql.is_some()
    }

    /// Makes a connection of another pool one of this pool.
    pub fn hand_over_sql(&self) -> &str {
        self.hand_over_sql.as_deref().unwrap_or_default()
    }
}

impl Work {
    /// All of them are set for every kind of work, so that a connection can change it.
    fn settings(self) -> Vec<(&'static str, String)> {
        let (plans, sequential_scans) = match self {
            // Planning such a statement takes up to forty times as long as running it, and the plan does not depend on
            // the values: it is planned once per connection. Sequential scans are off, since tables that are empty at
            // planning time grow later.
            Work::Writes | Work::Upkeep => ("force_generic_plan", "off"),
            // A client's query is planned for its values: a generic plan would not consider how rare a status is, and
            // would scan the whole table by id.
            Work::Queries => ("force_custom_plan", "on"),
        };
        // A longer statement would delay others.
        let timeout = self.statement_timeout().map_or(0, |longest| longest.as_millis());
        vec![
            ("plan_cache_mode", plans.to_owned()),
            ("enable_seqscan", sequential_scans.to_owned()),
            ("statement_timeout", timeout.to_string()),
        ]
    }

    /// Sets the statement time-out of this kind of work.
    pub(super) fn statement_timeout_sql(self) -> String {
        let timeout = self.statement_timeout().map_or(0, |longest| longest.as_millis());
        format!("SET statement_timeout = {timeout}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_gets_the_same_settings_when_it_is_opened_and_when_it_is_handed_over() {
        for work in [Work::Writes, Work::Queries] {
            let session = Session::new(Some("library_a"), work);
            for (setting, value) in work
                .settings()
                .into_iter()
                .chain([("role", "library_a".into()), ("search_path", "library_a,carrel".into())])
            {
                assert!(session.startup_options().contains(&format!("-c {setting}={value}")), "{setting}");
                assert!(session.hand_over_sql().contains(&format!("SET {setting} = {value}")), "{setting}");
            }
        }
    }

    #[test]
    fn connections_of_upkeep_and_of_the_node_are_not_handed_over() {
        assert!(!Session::new(Some("library_a"), Work::Upkeep).hands_over());
        assert!(!Session::new(None, Work::Writes).hands_over());
    }
}
