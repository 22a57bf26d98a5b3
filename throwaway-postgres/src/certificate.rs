//! A certificate authority and a server certificate, for a day.

use std::path::PathBuf;

use crate::supervisor::Supervisor;

/// Two certificates, since some clients refuse a server whose certificate is its own authority.
const SCRIPT: &str = r#"
cat >tls.conf <<END
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost, IP:127.0.0.1
END
key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
openssl req -config tls.conf -x509 -extensions authority -subj "/CN=throwaway authority" \
    $key -keyout authority.key -out authority.crt -days 1
openssl req -config tls.conf -new -subj "/CN=localhost" $key -keyout server.key -out server.csr
openssl x509 -req -in server.csr -CA authority.crt -CAkey authority.key -set_serial 1 \
    -extfile tls.conf -extensions server -out server.crt -days 1
"#;

pub(crate) struct Certificate {
    pub(crate) authority: PathBuf,
    pub(crate) server: PathBuf,
    pub(crate) server_key: PathBuf,
}

impl Certificate {
    pub(crate) fn make(supervisor: &Supervisor) -> Self {
        supervisor.run(&["sh", "-ec", SCRIPT]);
        let file = |name| supervisor.folder().join(name);
        Self { authority: file("authority.crt"), server: file("server.crt"), server_key: file("server.key") }
    }
}
