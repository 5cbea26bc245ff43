//! Desks beside another measurement: each checks an item out and in again, with a pause after each scan.

use super::scan::{Scan, WorkQueue};
use super::test_data::{TestData, TestDataFiles};
use crate::client::{Address, Connection, Session};
use crate::error::{LabError, Result};
use crate::samples::Samples;
use http::Method;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Between two scans of a desk.
const PAUSE: Duration = Duration::from_millis(100);
/// Items that one desk scans in turn.
const ITEMS_EACH: usize = 50;

/// Desks, each with items of its own.
pub struct Desks {
    address: Address,
    session: Session,
    data: TestData,
    number: usize,
}

impl Desks {
    /// Finds available items and users.
    pub async fn find(address: Address, session: Session, number: usize) -> Result<Desks> {
        let mut connection = Connection::new(address.clone());
        let files = TestDataFiles::default();
        let data =
            TestData::find(&mut connection, &session, &files, number * ITEMS_EACH, number * ITEMS_EACH)
                .await?;
        if data.items.len() < number {
            return Err(LabError::new("there are fewer available items than desks"));
        }
        Ok(Desks { address, session, data, number })
    }

    /// Scans while the other work lasts; what that gave, and how long each check-out took.
    pub async fn beside<T>(&self, work: impl Future<Output = Result<T>>) -> Result<(T, Samples)> {
        let stop = Arc::new(AtomicBool::new(false));
        let users = Arc::new(self.data.users.clone());
        let each = self.data.items.len() / self.number;
        let desks: Vec<_> = self
            .data
            .items
            .chunks(each)
            .take(self.number)
            .enumerate()
            .map(|(desk, items)| {
                let queue = |scan| WorkQueue {
                    scan,
                    items: items.to_vec(),
                    users: Arc::clone(&users),
                    first_user: desk * ITEMS_EACH,
                    service_point: self.data.service_point.clone(),
                    headers: self.session.headers(),
                };
                let queues = [queue(Scan::CheckOut), queue(Scan::CheckIn)];
                tokio::spawn(scans(Connection::new(self.address.clone()), queues, Arc::clone(&stop)))
            })
            .collect();
        let done = work.await;
        stop.store(true, Relaxed);
        let mut all = Samples::default();
        for desk in desks {
            let samples = desk.await.map_err(|error| LabError::new(format!("a desk panicked: {error}")))?;
            all.merge(samples);
        }
        match all.failure_texts().first() {
            Some(text) => Err(LabError::new(format!("a scan beside the refreshes failed: {text}"))),
            None => Ok((done?, all)),
        }
    }
}

/// Scans until it is stopped; an item that was checked out is checked in before. The times are those of check-outs.
async fn scans(mut connection: Connection, queues: [WorkQueue; 2], stop: Arc<AtomicBool>) -> Samples {
    let mut samples = Samples::default();
    for turn in (0..queues[0].items.len()).cycle() {
        if stop.load(Relaxed) {
            break;
        }
        for queue in &queues {
            let (target, body) = queue.request(turn);
            let begun = Instant::now();
            match connection.call(Method::POST, target, &queue.headers, body).await {
                Ok(answer) if answer.status.is_success() => {
                    if queue.scan == Scan::CheckOut {
                        samples.succeeded(begun.elapsed(), Duration::ZERO)
                    }
                }
                Ok(answer) => samples.failed(answer.brief()),
                Err(error) => samples.failed(error.to_string()),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    samples
}
