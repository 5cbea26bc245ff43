//! Batches calls of one kind into shared transactions.
//!
//! No call waits for others to arrive: while fewer than [`CONCURRENT_BATCHES`] batches run, a call starts at once and
//! alone. Calls that arrive later are queued and run in one batch as soon as a running batch ends. So an idle server
//! delays nothing, and the busier it is, the less a call costs.
//!
//! A batch is one transaction: it locks rows that no other transaction has locked, reads the facts of all its calls,
//! decides for each call separately, and writes the changes of all. A call that would have to wait for a lock leaves
//! the batch and runs in a separate transaction.

use crate::database::DatabaseError;
use crate::meter::{self, Meter};
use crate::{Bind, Tenant, Tx};
use carrel_records::Failure;
use futures_util::FutureExt;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;
use uuid::Uuid;

/// Batches of one kind that run at the same time, at most: while some wait for the disk, others use the processor. With
/// two, calls waited at medium load; with four, the batches of eight callers were too small to save much.
const CONCURRENT_BATCHES: usize = 3;
/// Calls per batch, at most: larger batches save little more, and each call waits for the last one of its batch.
const MAX_BATCH: usize = 16;

/// A call that may share a transaction with others of its kind and tenant.
pub trait Batched: Sized + Send + Sync + 'static {
    /// The facts for the decision of one call.
    type Facts: Send;
    /// The settings for the decisions of a batch.
    type Settings: Send + Sync;
    type Done: Send + Sync + 'static;

    /// Locks the rows that are free, without waiting for a lock, and reads the facts.
    fn gather(
        tenant: &Arc<Tenant>,
        calls: &[Arc<Self>],
    ) -> impl Future<Output = Result<Gathered<Self>, Failure>> + Send;

    /// The decision for this call.
    fn decide(&self, facts: Self::Facts, settings: &Self::Settings) -> Result<Self::Done, Failure>;

    /// Writes the changes of all decisions and commits: all or nothing.
    fn apply(
        tx: Tx,
        tenant: &Tenant,
        decided: &[(&Self, &Self::Done)],
    ) -> impl Future<Output = Result<(), DatabaseError>> + Send;
}

/// The facts of a batch, in the order of its calls.
pub struct Gathered<Call: Batched> {
    pub tx: Tx,
    pub facts: Vec<Result<Call::Facts, RunAlone>>,
    pub settings: Call::Settings,
}

/// A call needs a separate transaction: it has to wait for a lock, or another call of the batch locks the same rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunAlone {
    /// The id of a row that must be locked before all others, if the batch has found one.
    pub lock_first: Option<Uuid>,
}

/// The outcome of a call in a batch.
pub enum Outcome<Done> {
    Decided(Result<Done, Failure>),
    Alone(RunAlone),
}

type QueueOf<Call> = CallQueue<Arc<Call>, Outcome<<Call as Batched>::Done>>;

/// Runs a call in a batch with those that arrive at the same time.
pub async fn run<Call: Batched>(
    tenant: &Arc<Tenant>,
    call: &Arc<Call>,
) -> Result<Outcome<Call::Done>, Failure> {
    let queue = tenant.state.of::<QueueOf<Call>>();
    let tenant = Arc::clone(tenant);
    let batch = move |calls: Vec<Arc<Call>>| {
        let tenant = Arc::clone(&tenant);
        async move { run_batch(&tenant, &calls).await }
    };
    queue.answer(Arc::clone(call), batch).await
}

/// Number of calls of a kind since the start, and of the batches in which they ran.
pub fn figures<Call: Batched>(tenant: &Tenant) -> (u64, u64) {
    tenant.state.of::<QueueOf<Call>>().figures()
}

/// One text for each call of a batch, bound as an array; for a single call, bound as a text.
pub fn bind_texts(mut texts: Vec<String>) -> Bind {
    if texts.len() > 1 { texts.into() } else { texts.pop().into() }
}

async fn run_batch<Call: Batched>(tenant: &Arc<Tenant>, calls: &[Arc<Call>]) -> Vec<Outcome<Call::Done>> {
    let Gathered { tx, facts, settings } = match Call::gather(tenant, calls).await {
        Ok(gathered) => gathered,
        Err(failure) => return calls.iter().map(|_| without_facts(&failure)).collect(),
    };
    let mut outcomes: Vec<_> = facts
        .into_iter()
        .zip(calls)
        .map(|(facts, call)| match facts {
            Ok(facts) => Outcome::Decided(call.decide(facts, &settings)),
            Err(alone) => Outcome::Alone(alone),
        })
        .collect();
    let decided: Vec<_> = outcomes
        .iter()
        .zip(calls)
        .filter_map(|(outcome, call)| match outcome {
            Outcome::Decided(Ok(done)) => Some((&**call, done)),
            _ => None,
        })
        .collect();
    if !decided.is_empty()
        && let Err(error) = Call::apply(tx, tenant, &decided).await
    {
        withdraw(&mut outcomes, error);
    }
    outcomes
}

/// The outcome of each call if the facts could not be read. Nothing is written at this point.
fn without_facts<Done>(failure: &Failure) -> Outcome<Done> {
    match failure {
        Failure::Unavailable(_) => Outcome::Decided(Err(copy_of(failure))),
        // One call may have caused the failure: each is retried alone.
        _ => Outcome::Alone(RunAlone::default()),
    }
}

/// Replaces the outcomes of calls whose changes could not be written.
fn withdraw<Done>(outcomes: &mut [Outcome<Done>], error: DatabaseError) {
    let undone = error.is_refusal();
    let failure = Failure::from(error);
    for outcome in outcomes.iter_mut().filter(|outcome| matches!(outcome, Outcome::Decided(Ok(_)))) {
        // After a refused statement the transaction had no effect: each call is retried alone.
        *outcome = match undone {
            true => Outcome::Alone(RunAlone::default()),
            false => Outcome::Decided(Err(copy_of(&failure))),
        };
    }
}

fn copy_of(failure: &Failure) -> Failure {
    match failure {
        Failure::Unavailable(message) => Failure::Unavailable(message.clone()),
        Failure::Internal { context, cause: Some(cause) } => Failure::internal(format!("{context}: {cause}")),
        other => Failure::internal(other.to_string()),
    }
}

/// Queues calls and runs them in batches.
struct CallQueue<Call, Answer> {
    state: Mutex<QueueState<Call, Answer>>,
    calls: AtomicU64,
    batches: AtomicU64,
}

struct QueueState<Call, Answer> {
    waiting: VecDeque<(Call, oneshot::Sender<BatchAnswer<Answer>>)>,
    /// Number of batches that run.
    running: usize,
}

/// An answer, the cost of its batch, and the number of calls in it.
struct BatchAnswer<Answer> {
    answer: Answer,
    cost: Arc<Meter>,
    calls: usize,
}

impl<Call, Answer> Default for CallQueue<Call, Answer> {
    fn default() -> Self {
        CallQueue {
            state: Mutex::new(QueueState { waiting: VecDeque::new(), running: 0 }),
            calls: AtomicU64::new(0),
            batches: AtomicU64::new(0),
        }
    }
}

impl<Call: Send + 'static, Answer: Send + 'static> CallQueue<Call, Answer> {
    /// Answers a call; `batch` returns one answer for each call, in their order. A batch completes even if one of its
    /// callers disconnects.
    async fn answer<W, F>(self: &Arc<Self>, call: Call, batch: W) -> Result<Answer, Failure>
    where
        W: Fn(Vec<Call>) -> F + Send + Sync + 'static,
        F: Future<Output = Vec<Answer>> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let may_run = {
            let mut state = self.state.lock().expect("no holder of this lock panics");
            state.waiting.push_back((call, sender));
            let may_run = state.running < CONCURRENT_BATCHES;
            state.running += usize::from(may_run);
            may_run
        };
        if may_run {
            tokio::spawn(Arc::clone(self).run_until_empty(batch));
        }
        let answer = receiver.await.map_err(|_| Failure::internal("a batch of calls panicked"))?;
        meter::charge(&answer.cost, answer.calls);
        Ok(answer.answer)
    }

    /// Runs batches until no call waits.
    async fn run_until_empty<W, F>(self: Arc<Self>, batch: W)
    where
        W: Fn(Vec<Call>) -> F + Send + Sync + 'static,
        F: Future<Output = Vec<Answer>> + Send + 'static,
    {
        while let Some((calls, senders)) = self.next_batch() {
            let number = calls.len();
            self.calls.fetch_add(number as u64, Relaxed);
            self.batches.fetch_add(1, Relaxed);
            let cost = Arc::new(Meter::default());
            let answers = meter::metered(Arc::clone(&cost), batch(calls));
            // After a panic, the callers notice that their channels are closed.
            let answers = AssertUnwindSafe(answers).catch_unwind().await.unwrap_or_default();
            for (sender, answer) in senders.into_iter().zip(answers) {
                // The answer of a caller that has disconnected is dropped.
                let _ = sender.send(BatchAnswer { answer, cost: Arc::clone(&cost), calls: number });
            }
        }
    }

    /// The next batch; `None` ends this loop if no call waits.
    #[allow(clippy::type_complexity)]
    fn next_batch(&self) -> Option<(Vec<Call>, Vec<oneshot::Sender<BatchAnswer<Answer>>>)> {
        let mut state = self.state.lock().expect("no holder of this lock panics");
        if state.waiting.is_empty() {
            state.running -= 1;
            return None;
        }
        let size = state.waiting.len().min(MAX_BATCH);
        Some(state.waiting.drain(..size).unzip())
    }
}

impl<Call, Answer> CallQueue<Call, Answer> {
    fn figures(&self) -> (u64, u64) {
        (self.calls.load(Relaxed), self.batches.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::sync::Semaphore;

    type Numbers = CallQueue<u64, (u64, usize)>;

    /// Doubles numbers, and returns the size of its batch; the semaphore decides when a batch may end.
    async fn doubled(
        numbers: &Arc<Numbers>,
        gate: &Arc<Semaphore>,
        number: u64,
    ) -> Result<(u64, usize), Failure> {
        let gate = Arc::clone(gate);
        numbers
            .answer(number, move |jobs| {
                let gate = Arc::clone(&gate);
                async move {
                    let _ = gate.acquire().await;
                    assert!(!jobs.contains(&13), "thirteen is not doubled");
                    let size = jobs.len();
                    jobs.into_iter().map(|number| (2 * number, size)).collect()
                }
            })
            .await
    }

    async fn all(gate: Arc<Semaphore>, calls: Vec<u64>) -> Vec<Result<(u64, usize), String>> {
        let numbers = Arc::new(Numbers::default());
        let mut answers = Vec::new();
        for number in calls {
            let (numbers, gate) = (Arc::clone(&numbers), Arc::clone(&gate));
            answers.push(tokio::spawn(async move { doubled(&numbers, &gate, number).await }));
            // Each call is queued before the next one is created.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        gate.add_permits(100);
        let mut answered = Vec::new();
        for answer in answers {
            answered
                .push(answer.await.expect("a call does not panic").map_err(|failure| failure.to_string()));
        }
        let state = numbers.state.lock().expect("no holder of this lock panics");
        assert_eq!((state.running, state.waiting.len()), (0, 0), "no batch is counted as running afterwards");
        answered
    }

    #[tokio::test]
    async fn a_call_runs_at_once_while_few_batches_run_and_later_calls_share_a_batch() {
        // Above thirteen, which is not doubled.
        let calls: Vec<u64> = (20..).take(CONCURRENT_BATCHES + MAX_BATCH + 2).collect();
        let answered = all(Arc::new(Semaphore::new(0)), calls.clone()).await;
        let sizes: Vec<usize> = answered.iter().flatten().map(|(_, size)| *size).collect();
        assert_eq!(sizes, [vec![1; CONCURRENT_BATCHES], vec![MAX_BATCH; MAX_BATCH], vec![2; 2]].concat());
        let doubles: Vec<u64> = answered.iter().flatten().map(|(double, _)| *double).collect();
        assert_eq!(doubles, calls.iter().map(|number| 2 * number).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_panic_fails_its_batch_and_the_next_batch_runs() {
        let mut calls: Vec<u64> = (20..).take(CONCURRENT_BATCHES + MAX_BATCH + 1).collect();
        calls[CONCURRENT_BATCHES] = 13;
        let answered = all(Arc::new(Semaphore::new(0)), calls).await;
        let failed: Vec<bool> = answered.iter().map(Result::is_err).collect();
        assert_eq!(failed, [vec![false; CONCURRENT_BATCHES], vec![true; MAX_BATCH], vec![false]].concat());
    }

    #[tokio::test]
    async fn a_batch_is_finished_when_its_caller_goes_away() {
        let (numbers, gate) = (Arc::new(Numbers::default()), Arc::new(Semaphore::new(0)));
        let impatient = tokio::time::timeout(Duration::from_millis(5), doubled(&numbers, &gate, 1)).await;
        assert!(impatient.is_err());
        gate.add_permits(100);
        assert_eq!(doubled(&numbers, &gate, 2).await.ok(), Some((4, 1)));
        assert_eq!(numbers.figures(), (2, 2));
    }
}
