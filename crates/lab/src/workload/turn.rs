//! One virtual user: takes the next row of every data column, draws a transaction, plays its calls.

use super::{Call, Transaction, Workload};
use crate::client::{Connection, Session};
use crate::random::RandomSequence;
use crate::samples::Samples;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// What all virtual users share.
pub struct Stage {
    /// What is played.
    pub workload: Workload,
    /// The rows of each variable.
    pub rows: BTreeMap<String, Vec<String>>,
    /// How many turns have begun; each uses up one row of everything, whatever is drawn.
    pub turns: AtomicUsize,
    /// The pauses are multiplied with this.
    pub pause_factor: f64,
    /// Times by transaction.
    pub transactions: Mutex<BTreeMap<String, Samples>>,
    /// Times by method and address.
    pub calls: Mutex<BTreeMap<String, Samples>>,
}

impl Stage {
    fn variables(&self) -> BTreeMap<String, String> {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        let row = |(name, rows): (&String, &Vec<String>)| {
            Some((name.clone(), rows.get(turn % rows.len().max(1))?.clone()))
        };
        self.rows.iter().filter_map(row).collect()
    }

    fn headers(&self, session: &Session) -> HeaderMap {
        let mut headers = (*session.headers()).clone();
        for (name, value) in &self.workload.headers {
            // A header that cannot be written is a mistake in the file that the server would not see either.
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

/// One virtual user with a connection and a login of its own.
pub struct VirtualUser {
    /// The connection.
    pub connection: Connection,
    /// The login.
    pub session: Session,
    /// Decides transactions, pauses and entries.
    pub random: RandomSequence,
}

impl VirtualUser {
    /// Plays turns until `end`; a turn under way is finished.
    pub async fn play(&mut self, stage: &Stage, end: Instant) {
        while Instant::now() < end {
            let transaction = stage.workload.draw(self.random.fraction());
            let (spent, outcome) = self.transact(stage, transaction).await;
            let failed = outcome.is_err();
            record(&stage.transactions, &transaction.name, outcome, spent);
            // The plans send a user whose call failed back to the login.
            let login = if failed {
                self.session.login_again(&mut self.connection).await
            } else {
                self.session.renew(&mut self.connection).await
            };
            if let Err(error) = login {
                record(&stage.calls, "login", Err(error.to_string()), Duration::ZERO);
                // Nothing answers; do not make it worse.
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }

    async fn transact(&mut self, stage: &Stage, transaction: &Transaction) -> (Duration, Result<(), String>) {
        let mut variables = stage.variables();
        let headers = stage.headers(&self.session);
        let mut spent = Duration::ZERO;
        for call in &transaction.calls {
            if let Some((from, to)) = call.pause {
                let pause = (from + (to - from) * self.random.fraction()) * stage.pause_factor;
                tokio::time::sleep(Duration::from_secs_f64(pause)).await;
            }
            let (time, outcome) = self.call(call, &headers, &mut variables).await;
            spent += time;
            let name = format!("{} {}", call.method, call.name);
            record(&stage.calls, &name, outcome.clone(), time);
            if let Err(text) = outcome {
                return (spent, Err(format!("{name}: {text}")));
            }
        }
        (spent, Ok(()))
    }

    async fn call(
        &mut self,
        call: &Call,
        headers: &HeaderMap,
        variables: &mut BTreeMap<String, String>,
    ) -> (Duration, Result<(), String>) {
        set_moment(variables);
        let method = Method::from_bytes(call.method.as_bytes()).expect("a call has one of three methods");
        let (target, body) = (call.target(variables), super::call::fill(&call.body, variables));
        let begun = Instant::now();
        let answer = self.connection.call(method, &target, headers, body.into()).await;
        let time = begun.elapsed();
        // What follows is the tool's own work and belongs to nobody's time.
        let outcome = answer.map_err(|error| error.to_string()).and_then(|answer| {
            if answer.status.as_u16() >= 400 {
                return Err(answer.brief());
            }
            if call.checks.is_empty() {
                return Ok(());
            }
            let json: Value =
                serde_json::from_slice(&answer.body).map_err(|error| format!("no JSON: {error}"))?;
            let random = &mut self.random;
            let mut any = |entries: usize| random.throw(entries as u64) as usize;
            call.checks.iter().try_for_each(|check| check.hold(&json, variables, &mut any))
        });
        (time, outcome)
    }
}

/// A new id and the time for this call.
fn set_moment(variables: &mut BTreeMap<String, String>) {
    let now = jiff::Zoned::now();
    // The public plans write hours 1 to 12 and call them UTC, so a date may lie half a day back.
    let twelve = now.strftime("%Y-%m-%dT%I:%M:%S+0000").to_string();
    variables.insert("now12".into(), twelve);
    variables.insert("now".into(), now.timestamp().to_string());
    variables.insert("uuid".into(), Uuid::new_v4().to_string());
}

fn record(into: &Mutex<BTreeMap<String, Samples>>, name: &str, outcome: Result<(), String>, time: Duration) {
    let mut all = into.lock().expect("recording does not panic");
    if !all.contains_key(name) {
        all.insert(name.to_string(), Samples::default());
    }
    let samples = all.get_mut(name).expect("it has just been made");
    match outcome {
        Ok(()) => samples.succeeded(time, Duration::ZERO),
        Err(text) => samples.failed(text),
    }
}
