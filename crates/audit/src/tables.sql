-- An entry of the circulation log. Columns instead of a document: every scan writes one or two entries, and a document
-- would be four times as long. `doc` has the values that few entries have: further items and further links.
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS at timestamptz NOT NULL DEFAULT 'epoch';
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS object text;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS action text;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS user_id uuid;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS user_barcode text;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS item_id uuid;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS item_barcode text;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS holdings_id uuid;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS instance_id uuid;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS loan_id uuid;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS request_id uuid;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS service_point_id uuid;
-- The actor: a user, whose name is read with the entry, or a name.
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS by_user_id uuid;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS source text;
ALTER TABLE circulation_log ADD COLUMN IF NOT EXISTS description text;
CREATE INDEX IF NOT EXISTS circulation_log_at ON circulation_log (at);
CREATE INDEX IF NOT EXISTS circulation_log_user_barcode ON circulation_log
    ((left(carrel.f_lower(user_barcode), 600) COLLATE "C")) WHERE user_barcode IS NOT NULL;
-- For anonymization, which finds the entries of a loan or a request.
CREATE INDEX IF NOT EXISTS circulation_log_loan ON circulation_log (loan_id) WHERE loan_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS circulation_log_request ON circulation_log (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS circulation_log_more_items ON circulation_log
    USING gin ((doc->'items') jsonb_path_ops) WHERE doc ? 'items';
-- Changes of instances, holdings records, items and users.
CREATE TABLE IF NOT EXISTS audit_change (
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    entity_id uuid NOT NULL,
    at timestamptz NOT NULL,
    action text NOT NULL,
    by_user_id uuid,
    diff jsonb
);
CREATE INDEX IF NOT EXISTS audit_change_of_entity ON audit_change (entity_id, at);
CREATE INDEX IF NOT EXISTS audit_change_at ON audit_change (at);
-- The number of the last event in the outbox that has been processed.
CREATE TABLE IF NOT EXISTS audit_position (id integer PRIMARY KEY CHECK (id = 1), position bigint NOT NULL);
INSERT INTO audit_position (id, position) VALUES (1, 0) ON CONFLICT (id) DO NOTHING;
-- Settings that differ from the default.
CREATE TABLE IF NOT EXISTS audit_setting (id text PRIMARY KEY, value jsonb NOT NULL, metadata jsonb NOT NULL);
