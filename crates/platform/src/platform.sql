CREATE SCHEMA IF NOT EXISTS platform;
CREATE SCHEMA IF NOT EXISTS carrel;
CREATE TABLE IF NOT EXISTS platform.tenant (
    id text PRIMARY KEY,
    name text NOT NULL,
    description text NOT NULL,
    -- Fingerprint of the declarations that the schema was last brought up to.
    declarations text NOT NULL
);
CREATE TABLE IF NOT EXISTS platform.signing_key (
    id integer PRIMARY KEY CHECK (id = 1),
    secret text NOT NULL
);
