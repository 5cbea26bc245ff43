-- What every tenant has besides its declared records.
CREATE TABLE IF NOT EXISTS stamp (
    id integer PRIMARY KEY CHECK (id = 1),
    value bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO stamp (id, value) VALUES (1, 1) ON CONFLICT (id) DO NOTHING;
CREATE TABLE IF NOT EXISTS outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic text NOT NULL,
    key text NOT NULL,
    payload jsonb NOT NULL,
    created timestamptz NOT NULL
);
