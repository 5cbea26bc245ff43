-- The last number assigned for each kind of record; without a row, none has been assigned.
CREATE TABLE IF NOT EXISTS hrid_counter (
    kind text PRIMARY KEY,
    last_number bigint NOT NULL
) WITH (fillfactor = 50);
