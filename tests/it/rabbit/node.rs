//! A RabbitMQ node of the tests' own: in a temporary folder, on free ports of this
//! machine only, with an epmd of its own, so that it meets no other node. It is
//! killed and removed when the test process ends, however that happens.

use std::collections::HashMap;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// Where Debian and most others keep the programs. The ones on the PATH change the user.
const PROGRAMS: &str = "/usr/lib/rabbitmq/bin";

/// How a queue looks from the broker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    pub(crate) ready: usize,
    pub(crate) unacked: usize,
    pub(crate) consumers: usize,
}

/// A node; killed when its process dies.
pub(crate) struct Node {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    distribution_port: u16,
    epmd_port: u16,
    server: Mutex<Option<Child>>,
    /// Closed at the end of this process: the watchdog waits for that.
    _lifeline: ChildStdin,
    _watchdog: Child,
}

impl Node {
    /// The running node that the tests of this process share.
    pub(crate) fn shared() -> &'static Node {
        static SHARED: OnceLock<Node> = OnceLock::new();
        SHARED.get_or_init(|| {
            let node = Node::not_started();
            node.start();
            node
        })
    }

    /// A node that a test may kill; its port is known, and nothing listens there yet.
    pub(crate) fn not_started() -> Node {
        let programs = programs();
        let folder = tempfile::Builder::new().prefix("tribunal-rabbit-").tempdir().expect("a folder").keep();
        let (port, distribution_port, epmd_port) = (free_port(), free_port(), free_port());
        let settings = format!(
            "listeners.tcp.1 = 127.0.0.1:{port}\nlog.console = false\nlog.file.level = info\n\
             disk_free_limit.absolute = 10MB\n"
        );
        std::fs::write(folder.join("rabbitmq.conf"), settings).expect("our own folder");
        std::fs::write(folder.join("plugins"), "[].\n").expect("our own folder");
        let (watchdog, lifeline) = watchdog(&folder, epmd_port);
        Node {
            folder,
            programs,
            port,
            distribution_port,
            epmd_port,
            server: Mutex::new(None),
            _lifeline: lifeline,
            _watchdog: watchdog,
        }
    }

    /// Starts the node, on the data it may have, and waits until it takes connections.
    pub(crate) fn start(&self) {
        let pid_file = self.folder.join("pid");
        // What a killed node left would be waited for.
        let _ = std::fs::remove_file(&pid_file);
        let log = std::fs::File::create(self.folder.join("out")).expect("our own folder");
        let mut command = self.command("rabbitmq-server");
        command.process_group(0).stderr(log.try_clone().expect("an open file")).stdout(log);
        let server = command.spawn().expect("rabbitmq-server can be run");
        std::fs::write(self.folder.join("group"), server.id().to_string()).expect("our own folder");
        *self.server.lock().expect("no test panics here") = Some(server);
        self.wait_until_started(&pid_file.to_string_lossy());
    }

    /// The first question may come before the node can be asked; only a node that ended has failed.
    fn wait_until_started(&self, pid_file: &str) {
        while let Err(words) = self.try_ctl(&["--timeout", "120", "wait", pid_file]) {
            let mut server = self.server.lock().expect("no test panics here");
            let ended = server.as_mut().expect("it was started").try_wait().expect("it is our child");
            assert!(ended.is_none(), "the node ended: {words}");
        }
    }

    /// Ends it as a power cut does: the node and all its children at once.
    pub(crate) fn kill(&self) {
        let mut server = self.server.lock().expect("no test panics here").take().expect("it runs");
        let group = rustix::process::Pid::from_child(&server);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).expect("it is our own");
        server.wait().expect("it is our child");
    }

    /// Stops it where it is (nothing is closed, nothing answers), or lets it go on.
    pub(crate) fn hang(&self, hangs: bool) {
        use rustix::process::Signal;
        let server = self.server.lock().expect("no test panics here");
        let group = rustix::process::Pid::from_child(server.as_ref().expect("it runs"));
        let signal = if hangs { Signal::STOP } else { Signal::CONT };
        rustix::process::kill_process_group(group, signal).expect("it is our own");
    }

    /// Has the queues' registrations written to disk. RabbitMQ does so a while after a quorum queue is
    /// declared; one that is younger when the node is killed stays without a leader for ever.
    pub(crate) fn settle(&self) {
        self.ctl(&["eval", "[ok = dets:sync(Table) || Table <- dets:all()]."]);
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        let of = |name: &str| self.folder.join(name);
        command
            .env("HOME", &self.folder)
            .env("RABBITMQ_NODENAME", format!("tribunal{}@localhost", self.port))
            .env("RABBITMQ_CONFIG_FILE", of("rabbitmq.conf"))
            .env("RABBITMQ_CONF_ENV_FILE", of("none"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", of("plugins"))
            .env("RABBITMQ_MNESIA_BASE", of("data"))
            .env("RABBITMQ_LOG_BASE", of("log"))
            .env("RABBITMQ_PID_FILE", of("pid"))
            .env("RABBITMQ_DIST_PORT", self.distribution_port.to_string())
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1}")
            .env("ERL_EPMD_PORT", self.epmd_port.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        command
    }

    /// What `rabbitmqctl` prints; it must succeed.
    pub(crate) fn ctl(&self, arguments: &[&str]) -> String {
        self.try_ctl(arguments).unwrap_or_else(|words| panic!("{words}"))
    }

    fn try_ctl(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = self.command("rabbitmqctl");
        let Output { status, stdout, stderr } = command.arg("-q").args(arguments).output().expect("it can be run");
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        if status.success() {
            return Ok(stdout.into_owned());
        }
        let server = std::fs::read_to_string(self.folder.join("out")).unwrap_or_default();
        Err(format!("rabbitmqctl {arguments:?}: {status}\n{stdout}{stderr}\n{server}"))
    }

    /// Every queue of a virtual host, as the broker itself counts.
    pub(crate) fn queues(&self, virtual_host: &str) -> HashMap<String, Queue> {
        let columns = ["name", "messages_ready", "messages_unacknowledged", "consumers"];
        let asked = [&["list_queues", "-p", virtual_host, "--no-table-headers"][..], &columns].concat();
        self.ctl(&asked)
            .lines()
            .filter_map(|line| {
                let mut words = line.split('\t');
                let name = words.next()?.to_owned();
                let mut number = || words.next()?.trim().parse().ok();
                Some((name, Queue { ready: number()?, unacked: number()?, consumers: number()? }))
            })
            .collect()
    }

    /// Waits until the broker says that a queue looks so.
    pub(crate) async fn until(&self, virtual_host: &str, queue: &str, wanted: Queue) {
        for _ in 0..200 {
            if tokio::task::block_in_place(|| self.queues(virtual_host)).get(queue) == Some(&wanted) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{queue} never was {wanted:?}: {:?}", self.queues(virtual_host));
    }

    /// The address of a virtual host, for a user who may do everything.
    pub(crate) fn url(&self, virtual_host: &str) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/{}", self.port, virtual_host.trim_start_matches('/'))
    }

    /// The port it listens on.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// A virtual host of a test's own.
    pub(crate) fn virtual_host(&self, name: &str) {
        self.ctl(&["add_vhost", name]);
        self.ctl(&["set_permissions", "-p", name, "guest", ".*", ".*", ".*"]);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.server.lock().is_ok_and(|server| server.is_some()) {
            self.kill();
        }
    }
}

/// A shell that waits for the end of this process, then kills the node with its epmd and removes its folder.
fn watchdog(folder: &Path, epmd_port: u16) -> (Child, ChildStdin) {
    // epmd refuses to end while it still thinks that the node lives.
    let script = r#"cat >/dev/null
        kill -KILL "-$(cat "$1/group" 2>/dev/null)" 2>/dev/null
        tries=0
        until ERL_EPMD_PORT=$2 epmd -kill || [ "$tries" = 50 ]; do tries=$((tries + 1)); sleep 0.1; done
        rm -rf "$1""#;
    let mut command = Command::new("sh");
    command.args(["-c", script, "watchdog"]).arg(folder).arg(epmd_port.to_string()).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().expect("a shell");
    let lifeline = child.stdin.take().expect("stdin is piped");
    (child, lifeline)
}

/// Where the programs are.
fn programs() -> PathBuf {
    let mut folders = vec![PathBuf::from(PROGRAMS)];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let has_all = |folder: &PathBuf| ["rabbitmq-server", "rabbitmqctl"].iter().all(|name| folder.join(name).is_file());
    folders.into_iter().find(has_all).expect("the tests need RabbitMQ. On Debian: sudo apt-get install rabbitmq-server")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it listens").port()
}
