-- Several items that a patron requested at once, and the state of each.
CREATE TABLE IF NOT EXISTS patron_batch (
    id uuid PRIMARY KEY, requester_id uuid NOT NULL, doc jsonb NOT NULL, is_done boolean NOT NULL);
CREATE INDEX IF NOT EXISTS patron_batch_waiting ON patron_batch (id) WHERE NOT is_done;
CREATE TABLE IF NOT EXISTS patron_batch_line (
    batch_id uuid NOT NULL REFERENCES patron_batch (id), place integer NOT NULL, item_id uuid NOT NULL,
    pickup_id uuid NOT NULL, request_id uuid NOT NULL, status text NOT NULL, error text,
    PRIMARY KEY (batch_id, place));
CREATE INDEX IF NOT EXISTS patron_batch_line_request ON patron_batch_line (request_id);
