-- The next number of an authority of a file of the library's own.
CREATE TABLE IF NOT EXISTS authority_source_file_number (
    id uuid PRIMARY KEY REFERENCES authority_source_file (id) ON DELETE CASCADE,
    next bigint NOT NULL
);
