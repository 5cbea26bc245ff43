//! The SQL functions that fields use. They are in the schema `carrel`, which all tenants share and which has no tables;
//! all are immutable, so that indexes can use them.

/// Creates or replaces the functions; run once per database, by a role that may create schemas there.
///
/// Folding is written in PL/pgSQL: most texts are pure ASCII, and a comparison of two lengths then avoids the
/// dictionary, in a quarter of the time of a plain SQL function. The letter case comes from the database's locale if it
/// covers letters beyond ASCII, otherwise from the best available collation.
///
/// The declared costs are higher than measured. For `ORDER BY id LIMIT 10`, PostgreSQL tends to scan the ids until ten
/// records match; if fewer match than it estimates, it evaluates the function for the whole table.
pub const HELPERS_DDL: &str = r#"
CREATE SCHEMA IF NOT EXISTS carrel;
GRANT USAGE ON SCHEMA carrel TO PUBLIC;
CREATE EXTENSION IF NOT EXISTS unaccent SCHEMA carrel;

DO $setup$
DECLARE
  dictionary text;
  letters text := '"default"';
BEGIN
  SELECT quote_ident(n.nspname) INTO dictionary
    FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
    WHERE e.extname = 'unaccent';
  IF lower('ЖI' COLLATE "default") <> 'жi' THEN
    SELECT quote_ident(c.collname) INTO letters
      FROM pg_catalog.pg_collation c
      WHERE c.collnamespace = 'pg_catalog'::regnamespace
        AND c.collname IN ('C.utf8', 'C.UTF-8', 'und-x-icu', 'en_US.utf8')
        AND c.collencoding IN (-1, pg_catalog.pg_char_to_encoding(pg_catalog.getdatabaseencoding()))
      ORDER BY array_position(ARRAY['C.utf8', 'C.UTF-8', 'und-x-icu', 'en_US.utf8'], c.collname::text)
      LIMIT 1;
    letters := coalesce(letters, '"default"');
  END IF;

  EXECUTE format($body$
    CREATE OR REPLACE FUNCTION carrel.f_unaccent(text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT COST 300 AS $f$
    BEGIN
      IF octet_length($1) = length($1) THEN RETURN $1; END IF;
      RETURN %1$s.unaccent('%1$s.unaccent', $1);
    END $f$;
    CREATE OR REPLACE FUNCTION carrel.f_lower(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $f$ SELECT lower($1 COLLATE pg_catalog.%2$s) $f$;
    CREATE OR REPLACE FUNCTION carrel.folded(text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT COST 300 AS $f$
    BEGIN
      IF octet_length($1) = length($1) THEN RETURN lower($1 COLLATE pg_catalog.%2$s); END IF;
      RETURN lower(%1$s.unaccent('%1$s.unaccent', $1) COLLATE pg_catalog.%2$s);
    END $f$
  $body$, dictionary, letters);
END
$setup$;

-- Lists of terms and the elements of arrays. An array's text form folds like a text as long as it is ASCII.
CREATE OR REPLACE FUNCTION carrel.f_unaccent(text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT COST 300 AS $f$
BEGIN
  IF octet_length($1::text) = length($1::text) THEN RETURN $1; END IF;
  RETURN (SELECT array_agg(carrel.f_unaccent(v) ORDER BY n) FROM unnest($1) WITH ORDINALITY AS e(v, n));
END $f$;
CREATE OR REPLACE FUNCTION carrel.f_lower(text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT COST 300 AS $f$
BEGIN
  IF octet_length($1::text) = length($1::text) THEN RETURN lower($1::text COLLATE "C")::text[]; END IF;
  RETURN (SELECT array_agg(carrel.f_lower(v) ORDER BY n) FROM unnest($1) WITH ORDINALITY AS e(v, n));
END $f$;
CREATE OR REPLACE FUNCTION carrel.folded(text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT COST 300 AS $f$
BEGIN
  IF octet_length($1::text) = length($1::text) THEN RETURN lower($1::text COLLATE "C")::text[]; END IF;
  RETURN (SELECT array_agg(carrel.folded(v) ORDER BY n) FROM unnest($1) WITH ORDINALITY AS e(v, n));
END $f$;

-- Texts joined with blanks, absent ones skipped; null when all are absent. PL/pgSQL evaluates one expression ten times
-- as fast as a function in SQL that cannot be inlined, and array_to_string cannot: it is not immutable.
CREATE OR REPLACE FUNCTION carrel.joined(VARIADIC text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $f$ BEGIN RETURN nullif(array_to_string($1, ' '), ''); END $f$;

-- The texts in a JSON array, or what its objects hold under a key; short enough for an index.
CREATE OR REPLACE FUNCTION carrel.elements(jsonb, text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT COST 1000 AS $f$
  SELECT coalesce(array_agg(left(t, 600)), '{}')
  FROM jsonb_array_elements(CASE jsonb_typeof($1) WHEN 'array' THEN $1 ELSE '[]' END) AS e(v),
       LATERAL (SELECT CASE $2 WHEN '' THEN v #>> '{}' ELSE v ->> $2 END) AS x(t)
  WHERE t IS NOT NULL
$f$;

-- Numbers written together: hyphens and blanks between their digits (and before the X of an ISBN) are dropped.
CREATE OR REPLACE FUNCTION carrel.without_hyphens(text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT COST 300 AS $f$
BEGIN
  IF $1 !~ '[0-9][ \t-]+[0-9Xx]' THEN RETURN $1; END IF;
  RETURN regexp_replace($1, '([0-9])[ \t-]+(?=[0-9]|[Xx]([^[:alnum:]]|$))', '\1', 'g');
END $f$;

-- A number where the text is one, else null: it never fails.
CREATE OR REPLACE FUNCTION carrel.number(text) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT COST 300 AS $f$
BEGIN
  -- Most are whole numbers.
  IF length($1) < 20 AND $1 <> '' AND translate($1, '0123456789', '') = '' THEN RETURN $1::numeric; END IF;
  IF length($1) <= 400 AND $1 ~ '^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$' THEN RETURN $1::numeric; END IF;
  RETURN NULL;
END $f$;

-- The instant that an ISO 8601 text means, else null. No zone means UTC, whatever the session's zone is. A cast
-- fails on what is no date, and catching failures forbids parallel plans, so all is checked first; pattern
-- matching with captures would take a hundred times as long.
CREATE OR REPLACE FUNCTION carrel.instant(text) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT COST 300 AS $f$
BEGIN
  -- As the server itself and most clients write it, on a day that every month has. Each further expression of a function costs its
  -- first call in a transaction a few microseconds, so this way has two.
  IF $1 ~ '^[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}(?:\+00:00|Z)$' THEN
    RETURN $1::timestamptz;
  END IF;
  DECLARE
    v text COLLATE "C" := btrim($1);
    zone text;
  BEGIN
    IF translate(v, '123456789', '000000000') <> '0000-00-00T00:00:00.000+00:00' OR right(v, 6) <> '+00:00' THEN
      IF v !~ '^\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?\s*(?:[Zz]|[+-]\d\d(?::?\d\d)?)?)?$' THEN
        RETURN NULL;
      END IF;
      IF length(v) = 10 THEN v := v || 'T00:00:00'; END IF;
      zone := translate(substr(v, 17), '0123456789:. ', '');
      IF zone = '' THEN
        v := v || 'Z';
      ELSIF zone <> 'Z' AND zone <> 'z' THEN
        zone := translate(split_part(substr(v, 17), zone, 2), ':', '') || '00';
        IF left(zone, 2) > '14' OR substr(zone, 3, 1) > '5' THEN RETURN NULL; END IF;
      END IF;
    END IF;
    IF left(v, 4) = '0000'
      OR substr(v, 6, 2) NOT BETWEEN '01' AND '12' OR substr(v, 9, 2) NOT BETWEEN '01' AND '31'
      OR substr(v, 6, 5) IN ('02-30', '02-31', '04-31', '06-31', '09-31', '11-31')
      OR substr(v, 12, 2) > '23' OR substr(v, 15, 1) > '5' OR substr(v, 18, 1) BETWEEN '6' AND '9'
      OR substr(v, 6, 5) = '02-29'
        AND (left(v, 4)::int % 4 <> 0 OR left(v, 4)::int % 100 = 0 AND left(v, 4)::int % 400 <> 0)
    THEN
      RETURN NULL;
    END IF;
    RETURN v::timestamptz;
  END;
END $f$;

-- The words of a text. `&` separates words, which PostgreSQL forgets inside addresses of the web. It is not
-- a plain SQL function because the planner would then see through it and take it for cheap.
CREATE OR REPLACE FUNCTION carrel.words(text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT COST 5000 AS $f$
BEGIN
  RETURN to_tsvector('pg_catalog.simple', translate(left($1, 200000), '&', ','));
END $f$;
-- Words to be found, the truncated ones with a star at the end. The signs taken away would end the quotation.
CREATE OR REPLACE FUNCTION carrel.every_word(text[]) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $f$
  SELECT to_tsquery('pg_catalog.simple', string_agg(
    CASE WHEN right(v, 1) = '*' THEN '''' || left(v, -1) || ''':*' ELSE '''' || v || '''' END, '&' ORDER BY n))
  FROM unnest($1) WITH ORDINALITY AS e(w, n), LATERAL (SELECT translate(w, '&''\', ',,,')) AS x(v)
$f$;
CREATE OR REPLACE FUNCTION carrel.any_word(text[]) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $f$
  SELECT replace(carrel.every_word($1)::text, '&', '|')::tsquery
$f$;
CREATE OR REPLACE FUNCTION carrel.phrase(text[]) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $f$
  SELECT replace(carrel.every_word($1)::text, '&', '<->')::tsquery
$f$;
"#;
