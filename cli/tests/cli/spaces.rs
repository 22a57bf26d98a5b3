//! Spaces, imports and the schema.

use crate::bench::{Bench, EMBEDDING, SPACE, embedding, on_each_store};

on_each_store! {
    spaces_are_added_listed_and_deleted,
    a_line_that_cannot_be_read_is_reported_by_number_and_the_rest_is_imported,
    a_scope_of_an_unknown_space_is_not_found,
}

fn spaces_are_added_listed_and_deleted(bench: &Bench) {
    let added = bench.json(&["space", "add", SPACE, "--name", "Handbook"]);
    assert_eq!((added.exit, &added.document()["replayed"]), (0, &false.into()));
    assert_eq!(bench.json(&["space", "add", SPACE]).document()["replayed"], true);
    let refused = bench.json(&["space", "add", SPACE, "--name", "Other"]);
    assert_eq!((refused.exit, &refused.error()["code"]), (1, &"SPACE_EXISTS".into()));
    bench.run(&["space", "add", "globex/eu/018f0d60-7a49-7cc2-9c1b-5b36f18f3a40"]);
    let listed = bench.json(&["space", "list"]).stdout;
    assert_eq!(listed.lines().count(), 2, "one object a line: {listed}");
    assert!(bench.json(&["space", "list", "--tenant", "globex/eu"]).stdout.contains("\"tenantId\":\"globex/eu\""));
    let unasked = bench.run(&["space", "delete", SPACE]);
    assert!(unasked.exit == 2 && unasked.stderr.contains("--yes"), "{}", unasked.stderr);
    assert_eq!(bench.run(&["space", "delete", SPACE, "--yes"]).exit, 0);
    assert_eq!(bench.run(&["space", "delete", SPACE, "--yes"]).exit, 4);
}

fn a_line_that_cannot_be_read_is_reported_by_number_and_the_rest_is_imported(bench: &Bench) {
    let line = |id: u8, version: u32| {
        format!(
            "{{\"tenantId\":\"acme\",\"knowledgeSpaceId\":\"018f0d60-7a49-7cc2-9c1b-5b36f18f3a{id:02}\",\
             \"manifestVersion\":{version},\"metadata\":{{}}}}"
        )
    };
    let long = format!("{{\"tenantId\":\"{}\"}}", "x".repeat(2 << 20));
    let text =
        format!("{}\r\n\nnot JSON\n{long}\n{}\n{{\"tenantId\":1}}\n{}", line(40, 2), line(41, 1), line(40, 1));
    let file = bench.write("spaces.ndjson", text);
    let answer = bench.json(&["import", &file]);
    assert_eq!(answer.exit, 1);
    let document = answer.document();
    assert_eq!(document["imported"], 2);
    let failed: Vec<(u64, &str)> = document["failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["line"].as_u64().unwrap(), item["code"].as_str().unwrap()))
        .collect();
    let expected = [(3, "JSON_INVALID"), (4, "JSON_TOO_LARGE"), (6, "WRONG_TYPE"), (7, "MANIFEST_CONFLICT")];
    assert_eq!(failed, expected);
    assert_eq!(document["failed"][2]["issues"].as_array().unwrap().len(), 4, "every issue of the line");
    let again = bench.write("again.ndjson", line(40, 2));
    let answer = bench.json(&["import", &again]);
    assert_eq!((answer.exit, &answer.document()["imported"]), (0, &0.into()), "the same content is a no-op");
}

#[test]
fn a_file_with_a_byte_order_mark_or_without_lines_is_no_surprise() {
    let bench = Bench::new();
    let file = bench.write("bom.ndjson", b"\xEF\xBB\xBF{}\n");
    assert_eq!(bench.json(&["import", &file]).document()["failed"][0]["code"], "JSON_BOM");
    let empty = bench.write("empty.ndjson", "");
    let answer = bench.json(&["import", &empty]);
    assert_eq!((answer.exit, &answer.document()["imported"]), (0, &0.into()));
    assert_eq!(bench.run(&["import", "nowhere.ndjson"]).exit, 1);
}

#[test]
fn the_schema_is_brought_up_to_date_on_first_use_and_can_be_checked() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["migrate", "--check"]).exit, 1);
    assert!(!bench.database().exists(), "a check changes nothing");
    assert_eq!(bench.run(&["doctor"]).exit, 5, "there is nothing to look at yet");
    assert_eq!(bench.run(&["space", "list"]).exit, 0);
    assert_eq!(bench.run(&["migrate", "--check"]).exit, 0);
    assert_eq!(bench.run(&["migrate"]).exit, 0);
    assert_eq!(bench.run(&["doctor"]).exit, 0);
    let connection = rusqlite::Connection::open(bench.database()).unwrap();
    let trigger: String = connection
        .query_row("SELECT name FROM sqlite_master WHERE type = 'trigger' LIMIT 1", [], |row| row.get(0))
        .unwrap();
    connection.execute_batch(&format!("DROP TRIGGER \"{trigger}\"")).unwrap();
    let doctor = bench.json(&["doctor"]);
    assert_eq!(doctor.exit, 1);
    assert!(doctor.document()["differences"][0].as_str().unwrap().contains(&trigger));
    assert_eq!(bench.run(&["audit"]).exit, 1, "the audit misses the trigger too");
}

fn a_scope_of_an_unknown_space_is_not_found(bench: &Bench) {
    let snapshot = bench.write("1.json", embedding("m", 8, 1).to_string());
    let capability = bench.write("cap.json", "{}");
    let answer = bench.json(&["propose", EMBEDDING, "--snapshot", &snapshot, "--capability", &capability]);
    assert_eq!((answer.exit, &answer.error()["code"]), (4, &"SPACE_NOT_FOUND".into()));
}
