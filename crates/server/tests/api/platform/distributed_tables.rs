//! What Citus' schema-based sharding asks of a tenant's tables, looked up in the catalog of a new tenant.

use carrel_testkit::TestServer;

/// Names that a query of the catalog finds in the tenant's schema.
async fn found(sql: &str) -> Vec<String> {
    let server = TestServer::start().await;
    let connection = server.tenant.writer().await.expect("a connection");
    let rows = connection.query(sql.to_owned(), vec![]).await.expect("the catalog can be read");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn every_table_of_a_tenant_has_a_primary_key() {
    let without = "SELECT relname::text FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
            AND NOT EXISTS (SELECT 1 FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary)";
    assert_eq!(
        found(without).await,
        Vec::<String>::new(),
        "a move follows changes by the key, and Citus needs it"
    );
}

#[tokio::test]
async fn no_table_of_a_tenant_has_what_cannot_be_distributed() {
    let odd = "SELECT 'trigger ' || tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal
        UNION ALL
        SELECT 'heir ' || inhrelid::regclass::text FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
        UNION ALL
        SELECT 'unlogged ' || relname FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relpersistence <> 'p'
        UNION ALL
        SELECT 'deferred ' || conname FROM pg_constraint
        WHERE connamespace = current_schema()::regnamespace AND condeferred
        UNION ALL
        SELECT 'reference out of the schema ' || conname FROM pg_constraint
            JOIN pg_class ON pg_class.oid = confrelid
        WHERE connamespace = current_schema()::regnamespace AND contype = 'f'
            AND relnamespace <> connamespace";
    assert_eq!(found(odd).await, Vec::<String>::new());
}
