//! One virtual user: takes the next row of every data column, draws a transaction, plays its calls.

use super::call::Call;
use super::check::{Check, find};
use super::engine::{PartStage, Stop, TenantStage};
use super::template::{Variables, target};
use super::{AfterFailure, Login, Mode, Transaction};
use crate::client::{Connection, ErrorKind, Failed, Session};
use crate::random::RandomSequence;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Time between two polls whether an operation has finished.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// An operation that takes longer counts as failed.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// One virtual user with a connection of its own.
pub struct VirtualUser {
    /// The connection.
    pub connection: Connection,
    /// The login of a user that does not share the tenant's.
    pub own_session: Option<Session>,
    /// Decides transactions, pauses and entries.
    pub random: RandomSequence,
    /// The tenant.
    pub tenant: Arc<TenantStage>,
}

impl VirtualUser {
    /// A user of a tenant.
    pub fn new(part: &PartStage, tenant: &Arc<TenantStage>, number: u64) -> VirtualUser {
        VirtualUser {
            connection: Connection::new(part.address.clone()),
            own_session: None,
            random: RandomSequence::new(part.seed, part.number, number),
            tenant: tenant.clone(),
        }
    }

    /// Plays one turn that was planned for `due`; its time counts from then.
    pub async fn turn(&mut self, part: &PartStage, due: Instant) {
        let wait = due.elapsed();
        let transaction = part.workload.draw(self.random.fraction());
        part.recorder.began();
        let (spent, outcome) = self.transact(part, transaction).await;
        let named_tenant = format!("{} @ {}", transaction.name, self.tenant.name);
        let names = [transaction.name.as_str(), &named_tenant];
        let names = if part.tenants.len() > 1 { &names[..] } else { &names[..1] };
        part.recorder.transaction(names, &outcome, wait + spent, wait);
        if outcome.is_err() {
            self.recover(part).await;
        }
    }

    async fn recover(&mut self, part: &PartStage) {
        part.stop.pause(part.workload.load.failure_pause).await;
        if part.workload.load.after_failure != AfterFailure::Login || part.workload.load.mode == Mode::Open {
            return;
        }
        if let Some(session) = &mut self.own_session {
            let begun = Instant::now();
            let outcome = session.login_again(&mut self.connection).await;
            let failed =
                |error: crate::error::LabError| Failed { kind: ErrorKind::Login, text: error.to_string() };
            let outcome = outcome.map_err(failed);
            part.recorder.call("login after a failure", &outcome, begun.elapsed());
            if outcome.is_err() {
                // The server does not respond; wait instead of adding load.
                part.stop.pause(Duration::from_secs(1)).await;
            }
        }
    }

    /// The time of a transaction's timed calls, and how it ended.
    pub async fn transact(
        &mut self,
        part: &PartStage,
        transaction: &Transaction,
    ) -> (Duration, Result<(), Failed>) {
        let mut variables = self.tenant.next_row();
        let mut spent = Duration::ZERO;
        for call in &transaction.calls {
            if let Some((from, to)) = call.pause {
                let pause = (from + (to - from) * self.random.fraction()) / part.pace;
                part.stop.pause(Duration::from_secs_f64(pause)).await;
            }
            part.cap.wait().await;
            let (time, outcome) = self.call(part, call, &mut variables).await;
            if call.is_timed {
                spent += time;
            }
            let name = call.label();
            part.recorder.call(&name, &outcome, time);
            if let Err(failed) = outcome {
                return (spent, Err(Failed { text: format!("{name}: {}", failed.text), ..failed }));
            }
        }
        (spent, Ok(()))
    }

    /// Sends a call, repeats it if a check requires it, and applies its checks.
    pub async fn call(
        &mut self,
        part: &PartStage,
        call: &Call,
        variables: &mut Variables,
    ) -> (Duration, Result<(), Failed>) {
        set_moment(variables);
        let headers = self.headers(part).await;
        let check = |text: String| Failed { kind: ErrorKind::Check, text };
        let body = match call.body.filled(variables) {
            Ok(body) => body,
            Err(text) => return (Duration::ZERO, Err(check(text))),
        };
        let target = target(&call.address, variables);
        let method = Method::from_bytes(call.method.as_bytes()).expect("a call has a known method");
        let repeats = call.checks.iter().find_map(|check| match check {
            Check::While(path) => Some(path),
            _ => None,
        });
        let begun = Instant::now();
        let (answer, time) = loop {
            let sent = self.connection.call(method.clone(), &target, &headers, body.clone().into()).await;
            let time = begun.elapsed();
            let answer = match sent {
                Ok(answer) => answer,
                Err(failed) => return (time, Err(failed)),
            };
            let Some(path) = repeats.filter(|_| time < LONGEST_WAIT && !part.stop.is_asked()) else {
                break (answer, time);
            };
            let is_there = serde_json::from_slice::<Value>(&answer.body)
                .is_ok_and(|body| find(&body, path, &mut |_| 0).is_some());
            if !is_there {
                break (answer, time);
            }
            tokio::time::sleep(ASK_AGAIN).await;
        };
        // The rest is the generator's work and is not measured.
        let status = answer.status.as_u16();
        let good = call.checks.iter().find_map(|check| match check {
            Check::Status(good) => Some(good),
            _ => None,
        });
        if !good.map_or(status < 400, |good| good.contains(&status)) {
            return (time, Err(Failed { kind: ErrorKind::Status(status), text: answer.brief() }));
        }
        if !call.checks.iter().any(Check::reads_body) {
            return (time, Ok(()));
        }
        let json: Value = match serde_json::from_slice(&answer.body) {
            Ok(json) => json,
            Err(error) => return (time, Err(check(format!("no JSON: {error}")))),
        };
        let random = &mut self.random;
        let mut any = |entries: usize| random.throw(entries as u64) as usize;
        let mut collected = Vec::new();
        let held =
            call.checks.iter().try_for_each(|check| check.hold(&json, variables, &mut collected, &mut any));
        self.tenant.collect(collected);
        (time, held.map_err(check))
    }

    async fn headers(&mut self, part: &PartStage) -> HeaderMap {
        let shared = match (&mut self.own_session, part.workload.load.login) {
            (_, Login::None) => self.tenant.without_login.clone(),
            (Some(session), _) => {
                // If the login fails, the call is refused and counted.
                let _ = session.renew(&mut self.connection).await;
                session.headers()
            }
            (None, _) => self.tenant.session().await,
        };
        let mut headers = (*shared).clone();
        for (name, value) in &part.workload.headers {
            // An invalid header is an error of the workload file, which the server would not see either.
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

impl TenantStage {
    /// The variables of the next turn; each turn consumes one row of each source, whichever transaction is drawn.
    fn next_row(&self) -> Variables {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        let mut variables = self.constants(turn);
        for (name, rows) in &self.rows {
            if let Some(value) = rows.get(turn % rows.len().max(1)) {
                variables.insert(name.clone(), value.clone());
            }
        }
        variables
    }

    /// The variables that have the same value in every turn, and the turn's number.
    pub fn constants(&self, turn: usize) -> Variables {
        Variables::from([
            ("tenant".to_string(), self.credentials.tenant.clone()),
            ("username".to_string(), self.credentials.username.clone()),
            ("password".to_string(), self.credentials.password.clone()),
            ("turn".to_string(), turn.to_string()),
        ])
    }
}

/// Sets a new id and the time for this call.
fn set_moment(variables: &mut Variables) {
    let now = jiff::Zoned::now();
    // The public plans write hours 1 to 12 and call them UTC, so a date may lie half a day back.
    let twelve = now.strftime("%Y-%m-%dT%I:%M:%S+0000").to_string();
    variables.insert("now12".into(), twelve);
    variables.insert("now".into(), format!("{:.3}", now.timestamp()));
    variables.insert("uuid".into(), Uuid::new_v4().to_string());
}

impl Stop {
    /// Waits this long, or until the run is stopped.
    pub async fn pause(&self, length: Duration) {
        if !length.is_zero() && !self.is_asked() {
            tokio::select! {
                () = tokio::time::sleep(length) => {}
                () = self.asked() => {}
            }
        }
    }
}
