//! The inspector: a page that says of a snapshot whether it is valid, what its digest and its vector space are, and
//! how it differs from another one. Nothing leaves the page.
//!
//! This crate holds the page's files, so that a binary can serve them without a folder beside it. `site/package` is
//! what `cargo xtask inspector` makes of the npm package; everything else is written by hand and served as it is.

/// What the page may do: run its own scripts and the WebAssembly module, fetch its own files, and nothing else.
/// The page says so itself too, for servers that send no such header.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; \
     style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

/// One file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Its path below the page's address, without a leading slash.
    pub path: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// What it holds.
    pub content: &'static [u8],
}

macro_rules! files {
    ($($path:literal: $media_type:ident,)*) => {
        &[$(File {
            path: $path,
            media_type: $media_type,
            content: include_bytes!(concat!("../site/", $path)),
        },)*]
    };
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";
const WASM: &str = "application/wasm";
const SVG: &str = "image/svg+xml";

/// Every file of the page.
pub const FILES: &[File] = files! {
    "index.html": HTML,
    "inspector.css": CSS,
    "icon.svg": SVG,
    "main.js": JAVASCRIPT,
    "inspect.js": JAVASCRIPT,
    "compare.js": JAVASCRIPT,
    "proof.js": JAVASCRIPT,
    "issues.js": JAVASCRIPT,
    "reading.js": JAVASCRIPT,
    "editor.js": JAVASCRIPT,
    "files.js": JAVASCRIPT,
    "examples.js": JAVASCRIPT,
    "words.js": JAVASCRIPT,
    "dom.js": JAVASCRIPT,
    "package.js": JAVASCRIPT,
    "package/slim.js": JAVASCRIPT,
    "package/functions.js": JAVASCRIPT,
    "package/failure.js": JAVASCRIPT,
    "package/start.js": JAVASCRIPT,
    "package/text.js": JAVASCRIPT,
    "package/glue.js": JAVASCRIPT,
    "package/space_profiles.wasm": WASM,
    "examples/embedding.json": JSON,
    "examples/embedding-larger.json": JSON,
    "examples/embedding-version-2.json": JSON,
    "examples/retrieval.json": JSON,
    "examples/retrieval-fast.json": JSON,
    "examples/broken.json": JSON,
    "examples/capability.json": JSON,
};

/// The file at a path of a URL, such as `/` or `/inspector.css`.
///
/// ```
/// use space_profiles_inspector::file;
/// assert_eq!(file("/").map(|page| page.path), Some("index.html"));
/// assert_eq!(file("/../Cargo.toml"), None);
/// ```
pub fn file(url_path: &str) -> Option<&'static File> {
    let path = match url_path.strip_prefix('/')? {
        "" => "index.html",
        path => path,
    };
    FILES.iter().find(|file| file.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(folder: &std::path::Path, paths: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, paths);
            } else {
                paths.push(path.to_str().unwrap().to_owned());
            }
        }
    }

    #[test]
    fn every_file_of_the_site_is_listed() {
        let site = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("site");
        let mut found = Vec::new();
        collect(&site, &mut found);
        let mut listed: Vec<String> =
            FILES.iter().map(|file| format!("{}/{}", site.display(), file.path)).collect();
        found.sort();
        listed.sort();
        assert_eq!(found, listed);
    }
}
