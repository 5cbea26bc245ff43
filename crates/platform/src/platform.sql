CREATE SCHEMA IF NOT EXISTS platform;
CREATE SCHEMA IF NOT EXISTS carrel;
CREATE TABLE IF NOT EXISTS platform.tenant (
    id text PRIMARY KEY,
    name text NOT NULL,
    description text NOT NULL,
    -- Fingerprint of the declarations that the schema was last upgraded to.
    declarations text NOT NULL,
    -- Accepts incomplete records and has no foreign keys: for public test suites.
    lenient boolean NOT NULL DEFAULT false
);
ALTER TABLE platform.tenant ADD COLUMN IF NOT EXISTS lenient boolean NOT NULL DEFAULT false;
-- The newest release that has upgraded the schema: an older one does not change it.
ALTER TABLE platform.tenant ADD COLUMN IF NOT EXISTS release text NOT NULL DEFAULT '';
-- Until when the tenant accepts calls without a token, so that its first administrator can be created.
ALTER TABLE platform.tenant ADD COLUMN IF NOT EXISTS open_until timestamptz;
-- The address of the database that holds the tenant's schema; null is this one.
ALTER TABLE platform.tenant ADD COLUMN IF NOT EXISTS database text;
-- Tenants that are moving from one database to another, or are being dropped there. The program that does it holds an
-- advisory lock of this database; where it has died, a node finishes: the copy at which the tenant's line points stays.
CREATE TABLE IF NOT EXISTS platform.tenant_move (
    tenant text PRIMARY KEY,
    source text,
    target text
);
CREATE TABLE IF NOT EXISTS platform.signing_key (
    id integer PRIMARY KEY CHECK (id = 1),
    secret text NOT NULL
);
-- Work that comes due again and again, a row per tenant and job. Whoever takes a row owns it until the lease ends.
-- The database's clock says what is due, so that nodes need not agree on the time.
CREATE TABLE IF NOT EXISTS platform.job (
    tenant text NOT NULL,
    name text NOT NULL,
    due timestamptz NOT NULL,
    -- The node at work, and until when its word holds; both absent while nobody works.
    owner uuid,
    lease_ends timestamptz,
    started timestamptz,
    ended timestamptz,
    -- Somebody wants the run at hand to stop.
    cancelled boolean NOT NULL DEFAULT false,
    runs bigint NOT NULL DEFAULT 0,
    failures bigint NOT NULL DEFAULT 0,
    -- What the last run said of itself, and whether it failed.
    outcome text,
    failed boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, name)
);
-- What somebody has set in place of the declared timing, and the route that is called instead of a declared job. A
-- job whose timer is switched off is due at infinity.
ALTER TABLE platform.job ADD COLUMN IF NOT EXISTS timer jsonb;
CREATE INDEX IF NOT EXISTS job_due ON platform.job (due);
-- What the health page writes to see that writing works.
CREATE TABLE IF NOT EXISTS platform.health (
    id integer PRIMARY KEY CHECK (id = 1),
    checked timestamptz NOT NULL
);
-- Grows within a transaction that is rolled back, to see that the disk has room; always empty.
CREATE TABLE IF NOT EXISTS platform.disk_check (filling text NOT NULL);
ALTER TABLE platform.disk_check ALTER COLUMN filling SET STORAGE EXTERNAL;
