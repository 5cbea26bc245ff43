//! Calls of one kind that come while others are under way are answered together: one transaction for many desks.
//!
//! Nobody is made to wait for batch. A call that finds a free place goes at once, and alone; those that come
//! while all places are taken go together as soon as one is free. So a quiet library waits for nothing, and the
//! busier it is the less a call costs.

use crate::meter::{self, Meter};
use carrel_records::Failure;
use futures_util::FutureExt;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// So many batches of one kind are under way at once: while some wait for the disk, others are worked on. Two made
/// calls wait in an hour of middling business, four made the batches of eight desks too small to save much.
const CONCURRENT_BATCHES: usize = 3;
/// So many calls are one batch at most: what more would save is little, and all wait for the last.
const MAX_BATCH: usize = 16;

/// Where calls of one kind meet.
pub struct Batcher<Job, Answer> {
    queue_of_calls: Mutex<Queue<Job, Answer>>,
    /// Calls, and the batches that they went in.
    calls: AtomicU64,
    batches: AtomicU64,
}

struct Queue<Job, Answer> {
    waiting: VecDeque<(Job, oneshot::Sender<Reported<Answer>>)>,
    under_way: usize,
}

/// An answer, what its batch cost, and how many they were.
struct Reported<Answer> {
    answer: Answer,
    cost: Arc<Meter>,
    batch: usize,
}

impl<Job, Answer> Default for Batcher<Job, Answer> {
    fn default() -> Self {
        Batcher {
            queue_of_calls: Mutex::new(Queue { waiting: VecDeque::new(), under_way: 0 }),
            calls: AtomicU64::new(0),
            batches: AtomicU64::new(0),
        }
    }
}

impl<Job: Send + 'static, Answer: Send + 'static> Batcher<Job, Answer> {
    /// Answers a call; `work` gives one answer for each job, in their order. What has begun is finished also where
    /// its caller goes away, as others may be with it.
    pub async fn answer<W, F>(self: &Arc<Self>, job: Job, work: W) -> Result<Answer, Failure>
    where
        W: Fn(Vec<Job>) -> F + Send + Sync + 'static,
        F: Future<Output = Vec<Answer>> + Send + 'static,
    {
        let (tell, reported) = oneshot::channel();
        let has_place = {
            let mut queue_of_calls = self.queue_of_calls.lock().expect("no holder of this lock panics");
            queue_of_calls.waiting.push_back((job, tell));
            let has_place = queue_of_calls.under_way < CONCURRENT_BATCHES;
            queue_of_calls.under_way += usize::from(has_place);
            has_place
        };
        if has_place {
            tokio::spawn(Arc::clone(self).work_off(work));
        }
        let reported = reported.await.map_err(|_| Failure::internal("the work of several calls panicked"))?;
        meter::charge(&reported.cost, reported.batch);
        Ok(reported.answer)
    }

    /// Works until nobody waits, then gives the place back.
    async fn work_off<W, F>(self: Arc<Self>, work: W)
    where
        W: Fn(Vec<Job>) -> F + Send + Sync + 'static,
        F: Future<Output = Vec<Answer>> + Send + 'static,
    {
        while let Some((jobs, callers)) = self.next_batch() {
            let batch = jobs.len();
            self.calls.fetch_add(batch as u64, Relaxed);
            self.batches.fetch_add(1, Relaxed);
            let cost = Arc::new(Meter::default());
            let done = meter::metered(Arc::clone(&cost), work(jobs));
            // After a panic the callers are reported by their closed channels.
            let answers = AssertUnwindSafe(done).catch_unwind().await.unwrap_or_default();
            for (caller, answer) in callers.into_iter().zip(answers) {
                // Who has gone away meanwhile is reported nothing.
                let _ = caller.send(Reported { answer, cost: Arc::clone(&cost), batch });
            }
        }
    }

    /// Those who go next; where nobody waits, the place is free from now on.
    #[allow(clippy::type_complexity)]
    fn next_batch(&self) -> Option<(Vec<Job>, Vec<oneshot::Sender<Reported<Answer>>>)> {
        let mut queue_of_calls = self.queue_of_calls.lock().expect("no holder of this lock panics");
        if queue_of_calls.waiting.is_empty() {
            queue_of_calls.under_way -= 1;
            return None;
        }
        let size = queue_of_calls.waiting.len().min(MAX_BATCH);
        Some(queue_of_calls.waiting.drain(..size).unzip())
    }
}

impl<Job, Answer> Batcher<Job, Answer> {
    /// Calls since the start, and the batches that they went in.
    pub fn figures(&self) -> (u64, u64) {
        (self.calls.load(Relaxed), self.batches.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::sync::Semaphore;

    type Numbers = Batcher<u64, (u64, usize)>;

    /// Doubles numbers, and tells how many went together; the gate says when a batch may end.
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
            // Each is there before the next one comes.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        gate.add_permits(100);
        let mut reported = Vec::new();
        for answer in answers {
            reported
                .push(answer.await.expect("a call does not panic").map_err(|failure| failure.to_string()));
        }
        let queue_of_calls = numbers.queue_of_calls.lock().expect("no holder of this lock panics");
        assert_eq!(
            (queue_of_calls.under_way, queue_of_calls.waiting.len()),
            (0, 0),
            "all places are free afterwards"
        );
        reported
    }

    #[tokio::test]
    async fn who_finds_a_place_goes_alone_and_who_comes_later_goes_with_others() {
        // Above thirteen, which is not doubled.
        let calls: Vec<u64> = (20..).take(CONCURRENT_BATCHES + MAX_BATCH + 2).collect();
        let reported = all(Arc::new(Semaphore::new(0)), calls.clone()).await;
        let sizes: Vec<usize> = reported.iter().flatten().map(|(_, size)| *size).collect();
        assert_eq!(sizes, [vec![1; CONCURRENT_BATCHES], vec![MAX_BATCH; MAX_BATCH], vec![2; 2]].concat());
        let doubles: Vec<u64> = reported.iter().flatten().map(|(double, _)| *double).collect();
        assert_eq!(doubles, calls.iter().map(|number| 2 * number).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_panic_is_reported_to_its_batch_and_the_next_one_goes() {
        let mut calls: Vec<u64> = (20..).take(CONCURRENT_BATCHES + MAX_BATCH + 1).collect();
        calls[CONCURRENT_BATCHES] = 13;
        let reported = all(Arc::new(Semaphore::new(0)), calls).await;
        let failed: Vec<bool> = reported.iter().map(Result::is_err).collect();
        assert_eq!(failed, [vec![false; CONCURRENT_BATCHES], vec![true; MAX_BATCH], vec![false]].concat());
    }

    #[tokio::test]
    async fn what_has_begun_is_finished_where_its_caller_goes_away() {
        let (numbers, gate) = (Arc::new(Numbers::default()), Arc::new(Semaphore::new(0)));
        let impatient = tokio::time::timeout(Duration::from_millis(5), doubled(&numbers, &gate, 1)).await;
        assert!(impatient.is_err());
        gate.add_permits(100);
        assert_eq!(doubled(&numbers, &gate, 2).await.ok(), Some((4, 1)));
        assert_eq!(numbers.figures(), (2, 2));
    }
}
