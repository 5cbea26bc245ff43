CREATE TABLE IF NOT EXISTS item_state (
    item_id uuid PRIMARY KEY REFERENCES item (id) ON DELETE CASCADE,
    status text NOT NULL,
    -- ISO 8601, as the item shows it.
    status_date text,
    in_transit_destination uuid,
    last_check_in jsonb,
    -- How often the state has changed; part of the item's version.
    version integer NOT NULL
) WITH (fillfactor = 60);
-- Most items are available: the others are what people ask for.
CREATE INDEX IF NOT EXISTS item_state_status ON item_state (status) WHERE status <> 'Available';
