//! A Postgres cluster of the tests' own: in a temporary folder, on a free port of
//! this machine only, as an ordinary user because Postgres refuses root. It is
//! stopped and removed when the test process ends, however that happens.

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::Mutex;
use tokio_postgres::{Client, NoTls};
use tribunal::journal::postgres::{PostgresAddress, migrate};

/// The superuser of the cluster.
const OWNER: &str = "tribunal";
/// The database that others are copied from: migrated once.
const TEMPLATE: &str = "template_tribunal";

/// A running cluster; stopped when it is dropped or its process dies.
pub(crate) struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    user: Option<(u32, u32)>,
    port: u16,
    databases: AtomicU32,
    template: Mutex<bool>,
    /// Closed at the end of this process: the watchdog waits for that.
    _lifeline: ChildStdin,
    _watchdog: Child,
}

impl Cluster {
    /// The cluster that the tests of this process share.
    pub(crate) fn shared() -> &'static Cluster {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(Cluster::new)
    }

    /// A cluster that a test may stop.
    pub(crate) fn new() -> Cluster {
        let programs = programs();
        let user = ordinary_user();
        let folder = tempfile::Builder::new().prefix("tribunal-postgres-").tempdir().expect("a folder").keep();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("our own folder");
        if let Some((uid, gid)) = user {
            chown(&folder, Some(uid), Some(gid)).expect("root may give a folder away");
        }
        let (watchdog, lifeline) = watchdog(&programs, &folder, user);
        let port = free_port();
        let cluster = Cluster {
            folder,
            programs,
            user,
            port,
            databases: AtomicU32::new(0),
            template: Mutex::new(false),
            _lifeline: lifeline,
            _watchdog: watchdog,
        };
        let data = cluster.data();
        let encoding = ["-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync", "-U", OWNER, "-D"];
        cluster.succeeds(cluster.command("initdb").args(encoding).arg(&data));
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{}'\n\
             max_connections = 300\nlogging_collector = off\n",
            cluster.folder.display()
        );
        let file = data.join("postgresql.auto.conf");
        std::fs::write(file, settings).expect("the cluster's folder can be written");
        cluster.start();
        cluster
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Starts the server and waits until it takes connections.
    pub(crate) fn start(&self) {
        let log = self.folder.join("log");
        self.succeeds(self.command("pg_ctl").args(["-w", "-s", "-D"]).arg(self.data()).arg("-l").arg(log).arg("start"));
    }

    /// Stops the server as a power cut does.
    pub(crate) fn stop_immediately(&self) {
        self.succeeds(self.command("pg_ctl").args(["-w", "-s", "-m", "immediate", "-D"]).arg(self.data()).arg("stop"));
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn succeeds(&self, command: &mut Command) {
        let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let log = || std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        assert!(status.success(), "{command:?} ended with {status}\n{}", log());
    }

    /// The port it listens on.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// The address of a database.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://{OWNER}@127.0.0.1:{}/{database}", self.port)
    }

    /// A fresh database without anything in it.
    pub(crate) async fn empty_database(&self) -> String {
        self.create("template1").await
    }

    /// A fresh database with a journal.
    pub(crate) async fn database(&self) -> String {
        let mut is_made = self.template.lock().await;
        if !*is_made {
            self.admin().await.batch_execute(&format!("CREATE DATABASE {TEMPLATE}")).await.expect("a template");
            let address: PostgresAddress = self.url(TEMPLATE).parse().expect("an address");
            migrate(&address).await.expect("a journal");
            *is_made = true;
        }
        // Copied by one at a time: a template that somebody is connected to cannot be copied.
        self.create(TEMPLATE).await
    }

    async fn create(&self, template: &str) -> String {
        let name = format!("t{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let admin = self.admin().await;
        let mut tries = 0;
        // The session of the migration may take a moment to be gone.
        while let Err(error) = admin.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await {
            tries += 1;
            assert!(tries < 100, "{error}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        self.url(&name)
    }

    /// A session of the superuser.
    pub(crate) async fn admin(&self) -> Client {
        client(&self.url("postgres")).await
    }
}

/// A session of the tests' own, beside the adapter.
pub(crate) async fn client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the cluster runs");
    // It ends when the client is dropped or the server goes.
    tokio::spawn(connection);
    client
}

/// A shell that waits for the end of this process and then stops the server and removes its folder.
fn watchdog(programs: &Path, folder: &Path, user: Option<(u32, u32)>) -> (Child, ChildStdin) {
    let script =
        r#"cat >/dev/null; "$1/pg_ctl" -s -m immediate -D "$2/data" stop 2>/dev/null; rm -rf "$2"/* ; rmdir "$2""#;
    let mut command = Command::new("sh");
    command.args(["-c", script, "watchdog"]).arg(programs).arg(folder).current_dir("/");
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().expect("a shell");
    let lifeline = child.stdin.take().expect("stdin is piped");
    (child, lifeline)
}

/// Where the server's programs are.
fn programs() -> PathBuf {
    let mut folders: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.filter_map(|version| Some(version.ok()?.path().join("bin"))).collect())
        .unwrap_or_default();
    folders.sort();
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let has_all = |folder: &PathBuf| ["initdb", "pg_ctl", "postgres"].iter().all(|name| folder.join(name).is_file());
    folders
        .into_iter()
        .rev()
        .find(has_all)
        .expect("the tests need Postgres. On Debian: sudo apt-get install postgresql")
}

/// Whom root runs the server as.
fn ordinary_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").expect("there are users");
    let named = |name: &str| {
        let fields: Vec<&str> = users.lines().find(|line| line.split(':').next() == Some(name))?.split(':').collect();
        Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
    };
    Some(named("postgres").or_else(|| named("nobody")).expect("every system has nobody"))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it listens").port()
}
