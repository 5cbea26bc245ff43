//! The SQL functions behind fields. They live in the schema `carrel`, shared by all tenants and without tables;
//! all are immutable, so that indexes can stand on them.

/// Makes or renews the functions; to be run once per database, by a role that may create schemas there.
///
/// Folding is written in PL/pgSQL because most texts are pure ASCII, where a comparison of two lengths saves
/// the dictionary: a quarter of the time of a plain SQL function. The letter case comes from the database's
/// own locale if that knows letters beyond ASCII, else from the best collation that there is.
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
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $f$
    BEGIN
      IF octet_length($1) = length($1) THEN RETURN $1; END IF;
      RETURN %1$s.unaccent('%1$s.unaccent', $1);
    END $f$;
    CREATE OR REPLACE FUNCTION carrel.f_lower(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $f$ SELECT lower($1 COLLATE pg_catalog.%2$s) $f$;
    CREATE OR REPLACE FUNCTION carrel.folded(text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $f$
    BEGIN
      IF octet_length($1) = length($1) THEN RETURN lower($1 COLLATE pg_catalog.%2$s); END IF;
      RETURN lower(%1$s.unaccent('%1$s.unaccent', $1) COLLATE pg_catalog.%2$s);
    END $f$
  $body$, dictionary, letters);
END
$setup$;

CREATE OR REPLACE FUNCTION carrel.f_unaccent(text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $f$
  SELECT coalesce(array_agg(carrel.f_unaccent(v) ORDER BY n), '{}') FROM unnest($1) WITH ORDINALITY AS e(v, n)
$f$;
CREATE OR REPLACE FUNCTION carrel.f_lower(text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $f$
  SELECT coalesce(array_agg(carrel.f_lower(v) ORDER BY n), '{}') FROM unnest($1) WITH ORDINALITY AS e(v, n)
$f$;
CREATE OR REPLACE FUNCTION carrel.folded(text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $f$
  SELECT coalesce(array_agg(carrel.folded(v) ORDER BY n), '{}') FROM unnest($1) WITH ORDINALITY AS e(v, n)
$f$;

-- Texts joined with blanks, absent ones skipped; null when all are absent.
CREATE OR REPLACE FUNCTION carrel.joined(VARIADIC text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $f$ SELECT nullif(array_to_string($1, ' '), '') $f$;

-- The texts in a JSON array, or what its objects hold under a key; short enough for an index.
CREATE OR REPLACE FUNCTION carrel.elements(jsonb, text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $f$
  SELECT coalesce(array_agg(left(t, 600)), '{}')
  FROM jsonb_array_elements(CASE jsonb_typeof($1) WHEN 'array' THEN $1 ELSE '[]' END) AS e(v),
       LATERAL (SELECT CASE $2 WHEN '' THEN v #>> '{}' ELSE v ->> $2 END) AS x(t)
  WHERE t IS NOT NULL
$f$;

-- A number where the text is one, else null: it never fails.
CREATE OR REPLACE FUNCTION carrel.number(text) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $f$
BEGIN
  IF $1 ~ '^[+-]?(\d{1,200}(\.\d{0,200})?|\.\d{1,200})([eE][+-]?\d{1,3})?$' THEN RETURN $1::numeric; END IF;
  RETURN NULL;
END $f$;

-- The instant that an ISO 8601 text means, else null. No zone means UTC, whatever the session's zone is.
CREATE OR REPLACE FUNCTION carrel.instant(text) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $f$
DECLARE p text[];
BEGIN
  -- Most are of this form and need no look at the calendar.
  IF $1 ~ '^[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-](0\d|1[0-4]):?[0-5]\d)$'
    THEN RETURN $1::timestamptz;
  END IF;
  p := regexp_match($1, '^\s*((?!0000)\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])'
    || '(?:[Tt ]((?:[01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:\.\d{1,9})?)?))?'
    || '\s*([Zz]|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)?\s*$');
  IF p IS NULL OR p[3]::int > extract(day FROM make_date(p[1]::int, p[2]::int, 1) + interval '1 month -1 day') THEN
    RETURN NULL;
  END IF;
  RETURN (p[1] || '-' || p[2] || '-' || p[3] || 'T' || coalesce(p[4], '00:00:00') || coalesce(p[5], 'Z'))::timestamptz;
END $f$;

-- The words of a text. `&` separates words, which PostgreSQL forgets inside addresses of the web.
CREATE OR REPLACE FUNCTION carrel.words(text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $f$
  SELECT to_tsvector('pg_catalog.simple', translate(left($1, 200000), '&', ','))
$f$;
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
