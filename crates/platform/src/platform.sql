CREATE SCHEMA IF NOT EXISTS platform;
CREATE SCHEMA IF NOT EXISTS carrel;
CREATE TABLE IF NOT EXISTS platform.tenant (
    id text PRIMARY KEY,
    name text NOT NULL,
    description text NOT NULL,
    -- Fingerprint of the declarations that the schema was last brought up to.
    declarations text NOT NULL,
    -- Takes incomplete records and refers to nothing: for public test suites.
    lenient boolean NOT NULL DEFAULT false
);
ALTER TABLE platform.tenant ADD COLUMN IF NOT EXISTS lenient boolean NOT NULL DEFAULT false;
CREATE TABLE IF NOT EXISTS platform.signing_key (
    id integer PRIMARY KEY CHECK (id = 1),
    secret text NOT NULL
);
