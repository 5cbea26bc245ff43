-- Users by department, address type and profile picture, for the checks before one of these is deleted.
CREATE INDEX IF NOT EXISTS users_departments ON users USING gin ((doc->'departments'));
CREATE INDEX IF NOT EXISTS users_addresses ON users USING gin ((doc->'personal'->'addresses') jsonb_path_ops);
-- Users by custom field with a value.
CREATE INDEX IF NOT EXISTS users_custom_fields ON users USING gin ((doc->'customFields'));
-- Sets and users by permission.
CREATE INDEX IF NOT EXISTS permissions_sub_permissions ON permissions USING gin ((doc->'subPermissions'));
CREATE INDEX IF NOT EXISTS permissions_users_permissions ON permissions_users USING gin ((doc->'permissions'));
