-- A source record is deleted with its instance.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'instance_source_marc'::regclass
                       AND conname = 'instance_source_marc_id_fkey') THEN
        ALTER TABLE instance_source_marc ADD CONSTRAINT instance_source_marc_id_fkey
            FOREIGN KEY (id) REFERENCES instance (id) ON DELETE CASCADE;
    END IF;
END $$;
