-- Columns that scans and constraints need beside the documents.
ALTER TABLE loan ADD COLUMN IF NOT EXISTS is_open boolean
    GENERATED ALWAYS AS (coalesce(doc->'status'->>'name' = 'Open', false)) STORED;
CREATE INDEX IF NOT EXISTS loan_open_of_user ON loan (user_id) WHERE is_open;
ALTER TABLE request ADD COLUMN IF NOT EXISTS is_open boolean
    GENERATED ALWAYS AS (coalesce(doc->>'status' LIKE 'Open%', false)) STORED;
ALTER TABLE request ADD COLUMN IF NOT EXISTS position integer
    GENERATED ALWAYS AS ((doc->>'position')::integer) STORED;
CREATE INDEX IF NOT EXISTS request_queue_of_instance ON request (instance_id, position) WHERE is_open;
CREATE INDEX IF NOT EXISTS request_queue_of_item ON request (item_id, position) WHERE is_open;
-- When a lock on a patron's check-outs that somebody holds from outside ends by itself.
ALTER TABLE check_out_lock ADD COLUMN IF NOT EXISTS expires timestamptz;
