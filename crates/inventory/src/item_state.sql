CREATE TABLE IF NOT EXISTS item_state (
    item_id uuid PRIMARY KEY REFERENCES item (id) ON DELETE CASCADE,
    status text NOT NULL,
    -- ISO 8601, as the item shows it.
    status_date text,
    in_transit_destination uuid,
    last_check_in jsonb,
    -- Number of changes of the state; part of the item's version.
    version integer NOT NULL
) WITH (fillfactor = 60);
-- The status, unless it is one of the two between which nearly all scans change it. An index on the status itself would
-- keep PostgreSQL from updating these rows in place (HOT).
ALTER TABLE item_state ADD COLUMN IF NOT EXISTS rare_status text
    GENERATED ALWAYS AS (CASE WHEN status NOT IN ('Available', 'Checked out') THEN status END) STORED;
DROP INDEX IF EXISTS item_state_status;
-- The key is the expression of the CQL field `status.name` over this column.
CREATE INDEX IF NOT EXISTS item_state_rare_status
    ON item_state ((left(carrel.f_lower(rare_status), 600) COLLATE "C")) WHERE rare_status IS NOT NULL;
-- The planner needs to know how few of the items have each status.
CREATE STATISTICS IF NOT EXISTS item_state_of_status
    ON (left(carrel.f_lower(status), 600) COLLATE "C") FROM item_state;
-- The order number of the last item within its holdings record.
CREATE TABLE IF NOT EXISTS item_order (
    holdings_id uuid PRIMARY KEY,
    last_place integer NOT NULL
);
