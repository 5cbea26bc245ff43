-- Whose departments, addresses and portraits are which: asked before one of them is deleted.
CREATE INDEX IF NOT EXISTS users_departments ON users USING gin ((doc->'departments'));
CREATE INDEX IF NOT EXISTS users_addresses ON users USING gin ((doc->'personal'->'addresses') jsonb_path_ops);
-- Who has a value in which field that the library has added.
CREATE INDEX IF NOT EXISTS users_custom_fields ON users USING gin ((doc->'customFields'));
-- Which sets contain a permission, and who holds it.
CREATE INDEX IF NOT EXISTS permissions_sub_permissions ON permissions USING gin ((doc->'subPermissions'));
CREATE INDEX IF NOT EXISTS permissions_users_permissions ON permissions_users USING gin ((doc->'permissions'));
