-- Tables of every tenant besides those of its declared records. `settings_version` is the version of the slow records
-- (settings, policies, rules), with which nodes compare their caches. Under the former name `stamp`, older programs
-- that still run see and change the same row.
DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM pg_class WHERE oid = to_regclass('stamp') AND relkind = 'r') THEN
        ALTER TABLE stamp RENAME TO settings_version;
        CREATE VIEW stamp AS SELECT id, value FROM settings_version;
        COMMENT ON VIEW stamp IS 'former name';
    END IF;
END $$;
CREATE TABLE IF NOT EXISTS settings_version (
    id integer PRIMARY KEY CHECK (id = 1),
    value bigint NOT NULL
) WITH (fillfactor = 50);
-- The version of a new tenant starts above all versions of a dropped one with the same name, which a node may have
-- cached.
INSERT INTO settings_version (id, value) VALUES (1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
ON CONFLICT (id) DO NOTHING;
CREATE TABLE IF NOT EXISTS outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic text NOT NULL,
    key text NOT NULL,
    -- Not jsonb: no query reads parts of an event, and parsing it would cost every scan.
    payload json NOT NULL,
    created timestamptz NOT NULL
);
DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = 'outbox'::regclass AND attname = 'payload'
               AND atttypid = 'jsonb'::regtype) THEN
        ALTER TABLE outbox ALTER COLUMN payload TYPE json USING payload::text::json;
    END IF;
END $$;
-- The position in the outbox of each external program that reads its events.
CREATE TABLE IF NOT EXISTS outbox_reader (
    name text PRIMARY KEY,
    -- The number of the last event that was sent.
    position bigint NOT NULL DEFAULT 0,
    -- Failed attempts since the last success, and when the next one is due.
    attempts integer NOT NULL DEFAULT 0,
    next_attempt timestamptz NOT NULL DEFAULT '-infinity',
    last_error text,
    -- The node that reads now, for as long as it renews this.
    lease uuid,
    leased_until timestamptz
);
-- Documents that a public test suite has written to simulated modules; only lenient tenants have rows.
CREATE TABLE IF NOT EXISTS stand_in (
    kind text NOT NULL,
    id uuid NOT NULL,
    doc jsonb NOT NULL,
    PRIMARY KEY (kind, id)
);
-- The parts of the schema created from declarations, with their definitions, and the upgrade steps that have run. Under
-- the former name `made`, older programs that still run see and change the same rows, until `carrel tenant upgrade`
-- drops the view.
DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM pg_class WHERE oid = to_regclass('made') AND relkind = 'r') THEN
        ALTER TABLE made RENAME TO schema_part;
        CREATE VIEW made AS SELECT kind, on_table, name, definition FROM schema_part;
        COMMENT ON VIEW made IS 'former name';
    END IF;
END $$;
CREATE TABLE IF NOT EXISTS schema_part (
    kind text NOT NULL,
    on_table text NOT NULL,
    name text NOT NULL,
    definition text NOT NULL,
    PRIMARY KEY (kind, on_table, name)
);
