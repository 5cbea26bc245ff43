-- The last number given to each kind of record; a missing row is none yet.
CREATE TABLE IF NOT EXISTS hrid_counter (
    kind text PRIMARY KEY,
    last_number bigint NOT NULL
) WITH (fillfactor = 50);
