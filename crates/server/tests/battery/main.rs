//! The battery: checks of every declared record type through the API. A new record type needs no change here.
//!
//! Each pair of record type and check is a separate test: `item::a_stale_version_is_refused`.

mod bounds;
mod checks;
mod exceptions;

use carrel_records::{RecordType, Routes};
use carrel_testkit::TestServer;
use checks::{CHECKS, Check, Outcome};
use exceptions::EXCEPTIONS;
use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, OnceCell};

/// One server for all checks of a record type, which run one at a time, because records can change with others of their
/// type: for instance the order of custom fields after a deletion.
struct Subject {
    record: &'static RecordType,
    server: OnceCell<TestServer>,
    turn: Mutex<()>,
}

fn main() {
    let arguments = Arguments::from_args();
    let runtime = Arc::new(
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime can be started"),
    );
    let router = carrel_server::modules::router();
    let mut trials = Vec::new();
    let mut known = Vec::new();
    for module in carrel_server::modules::modules() {
        for record in module.records.iter().copied().filter(|record| record.routes == Routes::Collection) {
            known.push(record.name);
            let subject = Arc::new(Subject { record, server: OnceCell::new(), turn: Mutex::new(()) });
            for check in CHECKS.iter().filter(|check| (check.concerns)(record, &router)) {
                let (subject, runtime) = (Arc::clone(&subject), Arc::clone(&runtime));
                let name = format!("{}::{}", record.name, check.name);
                trials.push(Trial::test(name, move || run(&runtime, &subject, check)));
            }
        }
    }
    trials.push(Trial::test("every_exception_names_a_record_type_and_a_check", move || {
        for (record, check, _) in EXCEPTIONS {
            if !known.contains(record) || !CHECKS.iter().any(|known| known.name == *check) {
                return Err(format!("exceptions.rs names {record}::{check}, which is not there").into());
            }
        }
        Ok(())
    }));
    libtest_mimic::run(&arguments, trials).exit();
}

fn run(runtime: &Runtime, subject: &Arc<Subject>, check: &'static Check) -> Result<(), Failed> {
    let record = subject.record;
    let subject = Arc::clone(subject);
    // As a separate task, so that a failed assertion becomes an error here.
    let outcome = runtime.block_on(async move {
        tokio::spawn(async move {
            let _turn = subject.turn.lock().await;
            let server = subject.server.get_or_init(TestServer::start).await;
            (check.run)(server, subject.record).await
        })
        .await
    });
    let outcome: Outcome = outcome.unwrap_or_else(|panic| {
        let panic = panic.into_panic();
        Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "it panicked".into()))
    });
    let exception = EXCEPTIONS.iter().find(|(name, of, _)| *name == record.name && *of == check.name);
    match (outcome, exception) {
        (Ok(()), None) => Ok(()),
        (Err(_), Some(_)) => Ok(()),
        (Err(words), None) => Err(words.into()),
        (Ok(()), Some(_)) => Err(format!(
            "this passes now: take {}::{} out of tests/battery/exceptions.rs, a list that only shrinks",
            record.name, check.name
        )
        .into()),
    }
}
