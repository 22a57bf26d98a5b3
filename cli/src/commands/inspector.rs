use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use space_profiles_inspector::{CONTENT_SECURITY_POLICY, File, file};
use tokio::net::{TcpListener, TcpStream};

use super::interrupt::Signals;
use crate::exit::{Ending, Failure};
use crate::output::Output;

/// A browser sends its headers at once; whoever does not is let go.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves the inspector on this machine alone, until it is interrupted.
pub(super) async fn serve(port: Option<u16>, output: Output) -> Result<Ending, Failure> {
    let mut signals = Signals::listen().map_err(|error| unserved(format!("no signal can be caught: {error}")))?;
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)));
    let listener = TcpListener::bind(wanted).await.map_err(|error| unlistened(wanted, &error))?;
    let port = listener.local_addr().map_err(|error| unlistened(wanted, &error))?.port();
    let url = format!("http://127.0.0.1:{port}/");
    output.either(
        || json!({ "url": url }),
        || format!("the inspector is at {url}\nNothing that you open there leaves the page. Ctrl-C ends it."),
    )?;
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(tokio::spawn(converse(stream, port))),
                // Too many open files, say: the page would reload too fast if this went on at once.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            () = signals.next() => return Ok(Ending::Interrupted),
        }
    }
}

fn unlistened(address: SocketAddr, error: &std::io::Error) -> Failure {
    let advice = match error.kind() {
        std::io::ErrorKind::AddrInUse => "; leave `--port` out to use a free one",
        _ => "",
    };
    unserved(format!("expected to listen on {address}, found: {error}{advice}"))
}

fn unserved(message: String) -> Failure {
    Failure::Other { code: "INSPECTOR_NOT_SERVED", message }
}

/// Answers one browser's connection. A connection that breaks is nobody's concern: the page is asked for again.
async fn converse(stream: TcpStream, port: u16) {
    let service = service_fn(move |request| std::future::ready(Ok::<_, Infallible>(answer(&request, port))));
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let _ = protocol.serve_connection(TokioIo::new(stream), service).await;
}

/// The same headers go with every answer, refusals too.
fn answer(request: &Request<Incoming>, port: u16) -> Response<Full<Bytes>> {
    let mut response = match requested(request, port) {
        Ok(file) => {
            let mut response = Response::new(Full::new(Bytes::from_static(file.content)));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media_type));
            response
        }
        Err(status) => {
            let why = status.canonical_reason().unwrap_or_default();
            let mut response = Response::new(Full::new(Bytes::from_static(why.as_bytes())));
            *response.status_mut() = status;
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            if status == StatusCode::METHOD_NOT_ALLOWED {
                headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            }
            response
        }
    };
    harden(response.headers_mut());
    response
}

fn harden(headers: &mut HeaderMap) {
    const ALWAYS: [(HeaderName, &str); 6] = [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    headers.extend(ALWAYS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY));
}

/// The file that is asked for, or the status that refuses.
fn requested(request: &Request<Incoming>, port: u16) -> Result<&'static File, StatusCode> {
    if !is_for_us(request, port) {
        return Err(StatusCode::MISDIRECTED_REQUEST);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    file(request.uri().path()).ok_or(StatusCode::NOT_FOUND)
}

/// Whether the request names this server by an address that only this machine has. A page of somebody else's whose
/// name was made to point at 127.0.0.1 (DNS rebinding) still sends its own name.
fn is_for_us(request: &Request<Incoming>, port: u16) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let is_ours = |authority: &Authority| {
        let host = authority.host();
        let is_local = host == "127.0.0.1" || host.eq_ignore_ascii_case("localhost");
        is_local && authority.port_u16().unwrap_or(80) == port
    };
    Authority::try_from(host.as_bytes()).is_ok_and(|host| is_ours(&host) && !host.as_str().contains('@'))
        && request.uri().authority().is_none_or(is_ours)
}
