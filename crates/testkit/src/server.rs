//! A server for one test: database, running server, and clients.

use crate::client::{Client, Reply};
use crate::cluster::Cluster;
use carrel_platform::ServerOptions;
use carrel_platform::token::{Claims, TokenKind};
use carrel_platform::{Node, Tenant};
use carrel_server::{first_records, modules, serve};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::oneshot;
use uuid::Uuid;

/// The tenant of every test.
pub const TENANT: &str = "diku";
/// A tenant that a test creates.
pub const OTHER_TENANT: &str = "otherlib";
/// Username of the tenant's administrator.
pub const ADMIN: &str = "diku_admin";
/// Password of the tenant's administrator.
pub const PASSWORD: &str = "admin";

/// A running server with one tenant, which has the reference records and an administrator.
pub struct TestServer {
    pub node: Arc<Node>,
    pub tenant: Arc<Tenant>,
    pub address: SocketAddr,
    /// The administrator, logged in.
    pub admin: Client,
    pub admin_id: Uuid,
    pub cluster: &'static Cluster,
    pub database: String,
    stop: Option<oneshot::Sender<()>>,
}

impl TestServer {
    /// A server as `carrel serve` runs it, on a free port.
    pub async fn start() -> TestServer {
        TestServer::start_in(ServerOptions::default()).await
    }

    /// [`Self::start`] with other options.
    pub async fn start_in(options: ServerOptions) -> TestServer {
        let cluster = Cluster::running().await;
        let (database, admin_id) = cluster.copy_of_template().await;
        let node =
            Node::open(cluster.address(&database), 16, modules::modules(), options, first_records::all())
                .await
                .expect("a copy of the template is a library");
        let tenant = node.tenant(TENANT).expect("the template has the tenant");
        let app = serve::app(&node);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(carrel_platform::http::serve(app, listener, async {
            let _ = stopped.await;
        }));
        let nobody = Client::new(address);
        let mut node = TestServer {
            admin: nobody,
            node,
            tenant,
            address,
            admin_id,
            cluster,
            database,
            stop: Some(stop),
        };
        node.admin = node.client_of(admin_id, ADMIN);
        node
    }

    /// A client without token and tenant.
    pub fn stranger(&self) -> Client {
        Client::new(self.address)
    }

    /// A client with a token of the user, without a login.
    pub fn client_of(&self, user: Uuid, username: &str) -> Client {
        self.client_with(&self.token_of(user, username, TENANT))
    }

    /// A client with any token.
    pub fn client_with(&self, token: &str) -> Client {
        self.stranger().with_header("x-okapi-token", token).with_header("x-okapi-tenant", TENANT)
    }

    /// A token like that of a login.
    pub fn token_of(&self, user: Uuid, username: &str, tenant: &str) -> String {
        let now = Timestamp::now().as_second();
        self.node.keys.sign(&Claims {
            sub: username.to_owned(),
            user_id: user,
            tenant: tenant.to_owned(),
            kind: TokenKind::Access,
            exp: Some(now + 600),
            iat: now,
            generation: 0,
            extra_permissions: Vec::new(),
            jti: None,
        })
    }

    /// A client with a token of a new user with these permissions.
    pub async fn staff_with(&self, permissions: &[&str]) -> Client {
        let id = Uuid::new_v4();
        let username = format!("staff-{}", id.simple());
        let user = json!({"id": id, "username": username, "active": true, "personal": {"lastName": "Staff"}});
        self.post("/users", &user).await.expect(201);
        let held = json!({"userId": id, "permissions": permissions});
        self.post("/perms/users", &held).await.expect(201);
        self.client_of(id, &username)
    }

    /// Another node on the same database, which does not listen.
    pub async fn another_node(&self) -> Arc<Node> {
        let address = self.cluster.address(&self.database);
        Node::open(address, 4, modules::modules(), ServerOptions::default(), first_records::all())
            .await
            .expect("a second node opens the library")
    }

    /// A connection with all rights to the test's database, for checks that bypass the API.
    pub async fn database(&self) -> tokio_postgres::Client {
        let client = self.cluster.connect(&self.database).await;
        client
            .batch_execute(&format!("SET search_path TO {}, carrel", self.tenant.schema))
            .await
            .expect("the tenant's schema stands");
        client
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.admin.get(path).await
    }
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.admin.post(path, body).await
    }
    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        self.admin.put(path, body).await
    }
    pub async fn delete(&self, path: &str) -> Reply {
        self.admin.delete(path).await
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        self.cluster.forget_copy(std::mem::take(&mut self.database));
    }
}
