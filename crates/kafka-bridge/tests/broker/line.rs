//! The line between the bridge and the broker, which can be cut.

use std::sync::Arc;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Forwards connections; while it is cut, there are none.
pub struct Line {
    pub port: u16,
    is_cut: Arc<watch::Sender<bool>>,
    to: Arc<watch::Sender<u16>>,
}

impl Line {
    pub async fn open() -> Line {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let is_cut = Arc::new(watch::Sender::new(false));
        let to = Arc::new(watch::Sender::new(0));
        let (cut, target) = (Arc::clone(&is_cut), Arc::clone(&to));
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                let mut cut = cut.subscribe();
                let port = *target.borrow();
                tokio::spawn(async move {
                    if *cut.borrow() {
                        return;
                    }
                    let Ok(mut to) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut from, &mut to) => {}
                        _ = cut.wait_for(|is_cut| *is_cut) => {}
                    }
                });
            }
        });
        Line { port, is_cut, to }
    }

    pub fn lead_to(&self, port: u16) {
        self.to.send_replace(port);
    }

    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    pub fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}
