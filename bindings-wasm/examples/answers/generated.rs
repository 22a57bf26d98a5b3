//! Ten thousand texts, valid and broken, the same at every run.

use crate::Input;

const COUNT: usize = 10_000;
const SEED: u64 = 0x5EED_0F5A_CE50_F11E;

pub(crate) fn inputs() -> Vec<Input> {
    let mut random = Random { state: SEED, is_careful: false };
    (0..COUNT).map(|at| Input { id: format!("generated {at}"), bytes: text(&mut random), wanted: None }).collect()
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random {
    state: u64,
    /// Nothing that is wrong is to come out.
    is_careful: bool,
}

impl Random {
    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Something wrong, once in so many times.
    fn errs_in(&mut self, times: usize) -> bool {
        self.one_in(times) && !self.is_careful
    }

    fn pick<'p, T: ?Sized>(&mut self, of: &[&'p T]) -> &'p T {
        of[self.below(of.len())]
    }
}

fn text(random: &mut Random) -> Vec<u8> {
    random.is_careful = random.one_in(2);
    let mut text = match random.below(10) {
        0..3 => value(random, 0),
        3..6 => embedding(random),
        6..8 => retrieval(random),
        8 => vector_space_material(random),
        _ => capability_material(random),
    };
    if random.errs_in(2) {
        for _ in 0..=random.below(3) {
            text = damaged(random, &text);
        }
    }
    let mut bytes = text.into_bytes();
    if random.errs_in(30) && !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes[at] = random.bits() as u8;
    }
    bytes
}

/// A piece cut out, doubled or replaced.
fn damaged(random: &mut Random, text: &str) -> String {
    const PIECES: [&str; 24] = [
        "",
        "null",
        "{",
        "]",
        "\"",
        "1e999",
        "\\ud800",
        "\\udc00\\ud83d",
        "0.5",
        "\"model\":1,",
        "true",
        " ",
        "\n",
        "\u{FEFF}",
        "\u{1F600}",
        "9007199254740993",
        "{\"a\":1,\"a\":1}",
        "\\u0000",
        "\t",
        "\u{0}",
        ",",
        ":",
        "-",
        "[[[[[[[[",
    ];
    let characters: Vec<char> = text.chars().collect();
    let start = random.below(characters.len() + 1);
    let end = (start + random.below(8)).min(characters.len());
    let mut damaged: String = characters[..start].iter().collect();
    damaged.push_str(random.pick(&PIECES));
    damaged.extend(&characters[if random.one_in(4) { start } else { end }..]);
    damaged
}

fn space(random: &mut Random) -> &'static str {
    if random.one_in(6) { random.pick(&[" ", "\n", "\r\n", "\t", "  \n "]) } else { "" }
}

fn object(random: &mut Random, mut members: Vec<(String, String)>) -> String {
    for at in (1..members.len()).rev() {
        members.swap(at, random.below(at + 1));
    }
    if random.errs_in(12) && !members.is_empty() {
        members.remove(0);
    }
    if random.errs_in(25) && !members.is_empty() {
        let repeated = members[random.below(members.len())].clone();
        members.push(repeated);
    }
    let mut text = "{".to_owned();
    for (at, (key, value)) in members.into_iter().enumerate() {
        text.push_str(if at == 0 { "" } else { "," });
        text.push_str(space(random));
        text.push_str(&format!("{key}{}:{}{value}", space(random), space(random)));
    }
    text.push_str(space(random));
    text + "}"
}

fn member(key: &str, value: String) -> (String, String) {
    (format!("\"{key}\""), value)
}

fn value(random: &mut Random, depth: usize) -> String {
    match random.below(if depth > 4 { 4 } else { 7 }) {
        0 => random.pick(&["null", "true", "false"]).to_owned(),
        1 => number(random),
        2 | 3 => string(random),
        4 => {
            let values: Vec<String> = (0..random.below(5)).map(|_| value(random, depth + 1)).collect();
            format!("[{}{}]", space(random), values.join(","))
        }
        5 if random.one_in(60) => {
            let nesting = 60 + random.below(10);
            format!("{}{}", "[".repeat(nesting), "]".repeat(nesting))
        }
        _ => {
            let members = (0..random.below(6)).map(|_| (string(random), value(random, depth + 1))).collect();
            object(random, members)
        }
    }
}

fn digits(random: &mut Random, longest: usize) -> String {
    let length = 1 + random.below(longest);
    let digits: String = (0..length).map(|_| char::from(b'0' + random.below(10) as u8)).collect();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() { "0".to_owned() } else { digits.to_owned() }
}

fn number(random: &mut Random) -> String {
    let sign = if random.one_in(4) { "-" } else { "" };
    match random.below(8) {
        0 => format!("{sign}{}", random.below(3_000)),
        1 => format!("{sign}{}", digits(random, 25)),
        2 => format!("{sign}{}.{}", digits(random, 20), random.bits()),
        3 => format!("{sign}{}e{}", digits(random, 20), random.below(330)),
        4 => format!("{sign}{}.{}E-{}", digits(random, 3), digits(random, 20), random.below(340)),
        5 => match f64::from_bits(random.bits()) {
            number if number.is_finite() => format!("{number:e}"),
            _ => "1e400".to_owned(),
        },
        6 => format!("{sign}{}", f64::from(random.bits() as u32) / 1_024.0),
        _ => format!("{sign}0.{}", digits(random, 17)),
    }
}

fn string(random: &mut Random) -> String {
    const PARTS: [&str; 26] = [
        "a",
        "B",
        "model",
        "x_y",
        "-",
        " ",
        "/",
        "~",
        "\u{E9}",
        "\u{20AC}",
        "\u{E000}",
        "\u{FFFF}",
        "\u{1F600}",
        "\u{10FFFF}",
        "\u{85}",
        "\u{200B}",
        "\\n",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\u001F",
        "\\/",
        "\\\\",
        "\\\"",
        "\\ud800",
        "\\u0000",
        "\u{7F}",
    ];
    let mut text = "\"".to_owned();
    for _ in 0..random.below(6) {
        // What is refused comes seldom.
        let seldom = random.errs_in(15);
        let part = random.below(if seldom { PARTS.len() } else { 23 });
        text.push_str(PARTS[part]);
    }
    text + "\""
}

fn identifier(random: &mut Random) -> String {
    match if random.is_careful { 5 + random.below(9) } else { random.below(14) } {
        0 => string(random),
        1 => value(random, 4),
        2 => format!("\"{}\"", "m".repeat(254 + random.below(4))),
        3 => format!("\"{}\"", "\u{1F600}".repeat(126 + random.below(4))),
        4 => "\"\"".to_owned(),
        5 if !random.is_careful => "\" a\\u00a0\"".to_owned(),
        _ => format!(
            "\"{}\"",
            random.pick(&["openai", "langgenius/openai", "bge-m3", "\u{901A}\u{4E49}", "gpt-4.1"])
        ),
    }
}

/// Mostly a valid one.
fn integer(random: &mut Random) -> String {
    match if random.is_careful { 12 } else { random.below(12) } {
        0 => number(random),
        1 => value(random, 4),
        2 => random.pick(&["0", "-1", "1.5", "2147483648", "1e1", "3e0", "100.0", "101"]).to_owned(),
        _ => (1 + random.below(100)).to_string(),
    }
}

fn hash(random: &mut Random, prefix: &str) -> String {
    let hash: String = (0..4).map(|_| format!("{:016x}", random.bits())).collect();
    match if random.is_careful { 12 } else { random.below(12) } {
        0 => format!("\"{prefix}{}\"", hash.to_uppercase()),
        1 => format!("\"{hash}\""),
        2 => value(random, 4),
        _ => format!("\"{prefix}{hash}\""),
    }
}

fn boolean(random: &mut Random) -> String {
    if random.errs_in(12) { value(random, 4) } else { random.pick(&["true", "false"]).to_owned() }
}

fn choice(random: &mut Random, of: &[&str]) -> String {
    if random.errs_in(12) { value(random, 4) } else { format!("\"{}\"", random.pick(of)) }
}

fn selection(random: &mut Random) -> Vec<(String, String)> {
    ["pluginId", "provider", "model"].map(|name| member(name, identifier(random))).to_vec()
}

fn stranger(random: &mut Random, members: &mut Vec<(String, String)>) {
    if random.errs_in(6) {
        members.push((string(random), value(random, 3)));
    }
}

fn embedding(random: &mut Random) -> String {
    let mut members = selection(random);
    members.push(member("revision", integer(random)));
    let dimension = if random.one_in(5) {
        random.pick(&["1536", "2001", "16001", "3072"]).to_owned()
    } else {
        integer(random)
    };
    members.push(member("dimension", dimension));
    members.push(member("vectorSpaceId", hash(random, "embedding-space-sha256:")));
    stranger(random, &mut members);
    object(random, members)
}

fn retrieval(random: &mut Random) -> String {
    let model = selection(random);
    let mut rerank = vec![member("enabled", boolean(random))];
    if random.is_careful || !random.one_in(3) {
        let model = selection(random);
        rerank.push(member("model", object(random, model)));
    }
    let mut threshold =
        vec![member("enabled", boolean(random)), member("stage", choice(random, &["mode-final", "rerank"]))];
    if random.is_careful || !random.one_in(3) {
        let value = if random.errs_in(3) { number(random) } else { format!("0.{}", digits(random, 17)) };
        threshold.push(member("value", value));
    }
    stranger(random, &mut threshold);
    let mut members = vec![
        member("defaultMode", choice(random, &["fast", "research", "deep"])),
        member("reasoningModel", object(random, model)),
        member("rerank", object(random, rerank)),
        member("scoreThreshold", object(random, threshold)),
        member("topK", integer(random)),
        member("revision", integer(random)),
    ];
    stranger(random, &mut members);
    object(random, members)
}

fn vector_space_material(random: &mut Random) -> String {
    let mut members = selection(random);
    members.push(member("revision", integer(random)));
    if random.one_in(2) {
        let mut identity = vec![
            member("capabilityDigest", hash(random, "sha256:")),
            member("dimension", integer(random)),
            member("distanceMetric", choice(random, &["cosine", "dot", "l2"])),
            member("pluginUniqueIdentifier", identifier(random)),
            member("schemaFingerprint", hash(random, "sha256:")),
        ];
        stranger(random, &mut identity);
        members.push(member("installIdentity", object(random, identity)));
    }
    stranger(random, &mut members);
    object(random, members)
}

const MODALITIES: [&str; 5] = ["[\"text\"]", "[\"text\",\"image\"]", "[\"image\"]", "[1,{}]", "{}"];

fn capability_material(random: &mut Random) -> String {
    let model = selection(random);
    let kind = choice(random, &["embedding", "embedding", "reasoning", "rerank"]);
    let mut members = vec![
        member("selection", object(random, model)),
        member("schemaFingerprint", hash(random, "sha256:")),
        member("pluginUniqueIdentifier", identifier(random)),
    ];
    if kind == "\"embedding\"" || random.errs_in(8) {
        members.push(member("dimension", integer(random)));
    }
    members.push(member("kind", kind));
    if random.one_in(2) {
        members.push(member("pluginVersion", identifier(random)));
        members.push(member("distanceMetric", choice(random, &["cosine", "dot", "l2"])));
    }
    if random.one_in(2) {
        let modalities = random.pick(if random.is_careful { &MODALITIES[..2] } else { &MODALITIES });
        members.push(member("inputModalities", modalities.to_owned()));
    }
    if random.one_in(2) {
        let declared = vec![(string(random), value(random, 2))];
        let declared = object(random, declared);
        members.push(member("capabilities", if random.errs_in(3) { value(random, 1) } else { declared }));
    }
    stranger(random, &mut members);
    object(random, members)
}
