//! The server of `space-profiles inspector`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;
use space_profiles_inspector::{CONTENT_SECURITY_POLICY, FILES};

use crate::bench::Bench;

/// A server that ends with the test.
struct Server {
    child: Child,
    port: u16,
    bench: Bench,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the server answered.
struct Reply {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Reply {
    #[track_caller]
    fn header(&self, wanted: &str) -> &str {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value)
            .unwrap_or_else(|| panic!("no {wanted} in {}", self.head))
    }
}

impl Server {
    fn start() -> Self {
        let bench = Bench::new();
        let mut child = bench.command(&["--json", "inspector"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let document: Value = serde_json::from_str(&line).unwrap();
        let url = document["url"].as_str().unwrap();
        let port = url.strip_prefix("http://127.0.0.1:").unwrap().strip_suffix('/').unwrap().parse().unwrap();
        Self { child, port, bench }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends a request as it is written here, as no well-behaved client would.
    fn send(&self, request: &str) -> Reply {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply { status, head, body: bytes[end + 4..].to_vec() }
    }

    fn ask(&self, method: &str, path: &str, host: &str) -> Reply {
        self.send(&format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    }

    fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &self.host())
    }
}

#[track_caller]
fn assert_hardened(reply: &Reply) {
    for (header, value) in [
        ("content-security-policy", CONTENT_SECURITY_POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(reply.header(header), value);
    }
    assert!(!reply.head.to_ascii_lowercase().contains("access-control-"), "no other origin may read this");
}

#[test]
fn every_file_is_served_with_its_type_and_the_headers_that_harden_it() {
    let server = Server::start();
    for file in FILES {
        let reply = server.get(&format!("/{}", file.path));
        assert_eq!((reply.status, reply.header("content-type")), (200, file.media_type), "{}", file.path);
        assert!(reply.body == file.content, "{}", file.path);
        assert_hardened(&reply);
    }
    assert_eq!(server.get("/").body, server.get("/index.html").body);
    assert!(!server.bench.database().exists(), "the page needs no store");
}

#[test]
fn a_head_request_gets_the_headers_alone() {
    let server = Server::start();
    let (head, get) = (server.ask("HEAD", "/", &server.host()), server.get("/"));
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), get.body.len().to_string());
}

#[test]
fn only_names_of_this_machine_are_served() {
    let server = Server::start();
    let port = server.port;
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("LOCALHOST:{port}")] {
        assert_eq!(server.ask("GET", "/", &host).status, 200, "{host}");
    }
    for host in [
        format!("rebound.example:{port}"),
        "rebound.example".to_owned(),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
        format!("127.0.0.1.rebound.example:{port}"),
        format!("localhost@rebound.example:{port}"),
        format!("user@localhost:{port}"),
        format!("0.0.0.0:{port}"),
        String::new(),
    ] {
        let reply = server.ask("GET", "/", &host);
        assert_eq!(reply.status, 421, "`{host}`");
        assert_hardened(&reply);
    }
    let ours = format!("Host: 127.0.0.1:{port}\r\n");
    for request in [
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
        format!("GET / HTTP/1.1\r\n{ours}{ours}Connection: close\r\n\r\n"),
        format!("GET http://rebound.example/ HTTP/1.1\r\n{ours}Connection: close\r\n\r\n"),
    ] {
        assert_eq!(server.send(&request).status, 421, "{request}");
    }
}

#[test]
fn nothing_but_reading_is_allowed() {
    let server = Server::start();
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"] {
        let reply = server.ask(method, "/", &server.host());
        assert_eq!((reply.status, reply.header("allow")), (405, "GET, HEAD"), "{method}");
        assert_hardened(&reply);
    }
}

#[test]
fn nothing_else_is_there() {
    let server = Server::start();
    for path in [
        "/nothing",
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "//index.html",
        "/index.html/",
        "/package",
        "/INDEX.HTML",
    ] {
        let reply = server.get(path);
        assert_eq!((reply.status, reply.body.as_slice()), (404, &b"Not Found"[..]), "{path}");
        assert_hardened(&reply);
    }
}

#[test]
fn a_port_that_is_taken_is_said() {
    let server = Server::start();
    let bench = Bench::new();
    let port = server.port.to_string();
    let answer = bench.json(&["inspector", "--port", &port]);
    assert_eq!((answer.exit, &answer.error()["code"]), (1, &"INSPECTOR_NOT_SERVED".into()));
    let message = answer.error()["message"].as_str().unwrap().to_owned();
    assert!(message.contains(&format!("127.0.0.1:{port}")) && message.contains("leave `--port` out"), "{message}");
    assert_eq!(bench.run(&["inspector", "--port", "65536"]).exit, 2);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_even_while_a_browser_holds_a_connection() {
    for signal in ["-INT", "-TERM"] {
        let mut server = Server::start();
        let mut held = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        held.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let id = server.child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert_eq!(server.child.wait().unwrap().code(), Some(130), "{signal}");
    }
}

#[test]
fn the_page_states_the_policy_itself_and_loads_nothing_from_elsewhere() {
    let page = FILES.iter().find(|file| file.path == "index.html").unwrap();
    let html = std::str::from_utf8(page.content).unwrap();
    assert!(
        html.contains(&format!("http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_SECURITY_POLICY}\""))
    );
    for file in FILES.iter().filter(|file| file.media_type.starts_with("text/")) {
        let text = std::str::from_utf8(file.content).unwrap();
        let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!elsewhere.contains("http://") && !elsewhere.contains("https://"), "{}", file.path);
    }
}

#[test]
fn the_examples_of_the_page_are_those_of_the_project() {
    for name in ["embedding.json", "retrieval.json", "capability.json"] {
        let path = format!("examples/{name}");
        let file = FILES.iter().find(|file| file.path == path).unwrap();
        assert_eq!(std::fs::read(crate::bench::example(name)).unwrap(), file.content, "{name}");
    }
}
