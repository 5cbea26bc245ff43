-- Declared event types with their publishers and subscribers.
CREATE TABLE IF NOT EXISTS pubsub_event_type (name text PRIMARY KEY, descriptor jsonb NOT NULL);
CREATE TABLE IF NOT EXISTS pubsub_module (
    id uuid PRIMARY KEY,
    event_type text NOT NULL REFERENCES pubsub_event_type (name),
    module_id text NOT NULL,
    role text NOT NULL,
    callback text,
    -- Of a subscriber: the number of the last event in the outbox that it does not need any more.
    position bigint NOT NULL DEFAULT 0,
    -- Failed attempts since the last success, and when the next one is due.
    attempts integer NOT NULL DEFAULT 0,
    next_attempt timestamptz NOT NULL DEFAULT '-infinity',
    last_error text,
    -- The node that delivers now, and until when its lease lasts.
    lease uuid,
    leased_until timestamptz,
    UNIQUE (event_type, module_id, role)
);
-- The history of events.
CREATE TABLE IF NOT EXISTS pubsub_audit_message (
    id uuid PRIMARY KEY,
    event_id uuid NOT NULL,
    event_type text NOT NULL,
    correlation_id text,
    created_by text,
    published_by text,
    audit_date timestamptz NOT NULL,
    state text NOT NULL,
    error_message text
);
CREATE INDEX IF NOT EXISTS pubsub_audit_message_date ON pubsub_audit_message (audit_date);
-- Finds the payload of a published event by its id.
CREATE INDEX IF NOT EXISTS outbox_of_published_event ON outbox (key) WHERE topic LIKE 'pubsub.%';
