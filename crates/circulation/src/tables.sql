-- Columns for scans and constraints, besides the documents.
ALTER TABLE loan ADD COLUMN IF NOT EXISTS is_open boolean
    GENERATED ALWAYS AS (coalesce(doc->'status'->>'name' = 'Open', false)) STORED;
-- True while the item is on loan, otherwise null. Nulls do not collide, so one unique index finds the loans of an item
-- and its open loan, and prevents a second open one.
ALTER TABLE loan ADD COLUMN IF NOT EXISTS holds_item boolean
    GENERATED ALWAYS AS (CASE WHEN doc->'status'->>'name' = 'Open' THEN true END) STORED;
CREATE UNIQUE INDEX IF NOT EXISTS loan_of_item ON loan (item_id, holds_item);
-- There is no index of the open loans alone: if a library has few at the moment, the planner estimates it as empty and
-- uses it to find the loan of an item.
CREATE INDEX IF NOT EXISTS loan_of_user ON loan (user_id, is_open);
DROP INDEX IF EXISTS loan_open_of_user;
-- Loans of items aged to lost that wait for their bill; other loans are not in it, so scans need not update it.
CREATE INDEX IF NOT EXISTS loan_to_bill ON loan
    ((carrel.instant(doc->'agedToLostDelayedBilling'->>'dateLostItemShouldBeBilled')), id)
    WHERE doc->'agedToLostDelayedBilling'->>'lostItemHasBeenBilled' = 'false';
-- Actual costs that are not billed yet, by their expiration date.
CREATE INDEX IF NOT EXISTS actual_cost_record_ends ON actual_cost_record ((carrel.instant(doc->>'expirationDate')), id)
    WHERE doc->>'status' = 'Open';
ALTER TABLE request ADD COLUMN IF NOT EXISTS is_open boolean
    GENERATED ALWAYS AS (coalesce(doc->>'status' LIKE 'Open%', false)) STORED;
-- A closed request has left its queue, whatever position its document has.
ALTER TABLE request ADD COLUMN IF NOT EXISTS position integer
    GENERATED ALWAYS AS (CASE WHEN doc->>'status' LIKE 'Open%' THEN (doc->>'position')::integer END) STORED;
-- The queue in which the request was placed: its instance's if title-level requests are enabled, otherwise its item's.
ALTER TABLE request ADD COLUMN IF NOT EXISTS queue_id uuid;
-- Checked at the end of each statement, so that one UPDATE may exchange positions.
DO $$ BEGIN
    ALTER TABLE request ADD CONSTRAINT request_queue_id_position_key UNIQUE (queue_id, position)
        DEFERRABLE INITIALLY IMMEDIATE;
EXCEPTION WHEN duplicate_table OR duplicate_object THEN NULL; END $$;
-- One row per queue; a transaction that changes the queue locks it.
CREATE TABLE IF NOT EXISTS request_queue (id uuid PRIMARY KEY);
-- One index for all requests of an instance or item and for their queues, as for loans.
CREATE INDEX IF NOT EXISTS request_of_instance ON request (instance_id, is_open, position);
CREATE INDEX IF NOT EXISTS request_of_item ON request (item_id, is_open, position);
DROP INDEX IF EXISTS request_queue_of_instance, request_queue_of_item;
CREATE INDEX IF NOT EXISTS request_of_proxy ON request ((doc->>'proxyUserId'))
    WHERE is_open AND doc->>'proxyUserId' IS NOT NULL;
-- When a lock of another program on a patron's check-outs expires.
ALTER TABLE check_out_lock ADD COLUMN IF NOT EXISTS expires timestamptz;
-- For anonymization, which finds the events of a loan or a request.
CREATE INDEX IF NOT EXISTS outbox_of_loan ON outbox (key) WHERE topic = 'circulation.loan';
CREATE INDEX IF NOT EXISTS outbox_of_request ON outbox (key) WHERE topic = 'circulation.request';
-- The position of a synchronization of patron blocks: the last processed patron.
ALTER TABLE synchronization_jobs ADD COLUMN IF NOT EXISTS synchronized_to uuid;
-- Causes of patron notices. A row is deleted in the transaction that plans its notices.
CREATE TABLE IF NOT EXISTS notice_event (
    id uuid PRIMARY KEY,
    event text NOT NULL,
    loan_id uuid,
    request_id uuid,
    fee_fine_action_id uuid,
    session_id uuid,
    -- Causes of one session at the desk, which become one notice.
    group_id uuid,
    happened timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS notice_event_group_id_idx ON notice_event (group_id) WHERE group_id IS NOT NULL;
-- The outcome of each notice, and why it was not sent.
CREATE TABLE IF NOT EXISTS patron_notice (
    id uuid PRIMARY KEY,
    doc jsonb NOT NULL,
    created timestamptz NOT NULL,
    loan_id uuid GENERATED ALWAYS AS ((doc->>'loanId')::uuid) STORED,
    request_id uuid GENERATED ALWAYS AS ((doc->>'requestId')::uuid) STORED,
    account_id uuid GENERATED ALWAYS AS ((doc->>'accountId')::uuid) STORED
);
CREATE INDEX IF NOT EXISTS patron_notice_loan_id_idx ON patron_notice (loan_id) WHERE loan_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS patron_notice_request_id_idx ON patron_notice (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS patron_notice_account_id_idx ON patron_notice (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS patron_notice_created_idx ON patron_notice (created);
-- Texts of notices that the library prints and mails.
CREATE TABLE IF NOT EXISTS printed_notice (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    doc jsonb NOT NULL,
    planned timestamptz NOT NULL,
    printed timestamptz
);
CREATE INDEX IF NOT EXISTS printed_notice_user_id_idx ON printed_notice (user_id);
CREATE INDEX IF NOT EXISTS printed_notice_planned_idx ON printed_notice (planned);
-- Scans with an idempotency key, with their answers, so that a repetition gets the stored answer.
CREATE TABLE IF NOT EXISTS idempotency_key (
    id uuid PRIMARY KEY,
    action text NOT NULL,
    loan_id uuid,
    answer jsonb NOT NULL,
    created timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS idempotency_key_of_loan ON idempotency_key (loan_id) WHERE loan_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS idempotency_key_created ON idempotency_key (created);
