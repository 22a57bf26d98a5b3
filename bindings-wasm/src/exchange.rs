//! The places in memory where JavaScript puts texts and finds answers. They stay from call to call: nothing has to be
//! allocated for a text or freed for an answer, and memory that a module has taken is never given back in any case.

use std::cell::Cell;

use wasm_bindgen::prelude::wasm_bindgen;

/// One call's texts, one behind the other, and its answer.
#[derive(Default)]
struct Exchange {
    texts: Vec<u8>,
    answer: String,
}

thread_local! {
    static EXCHANGE: Cell<Exchange> = const { Cell::new(Exchange { texts: Vec::new(), answer: String::new() }) };
}

/// Makes room for texts of so many bytes together, which lose what they held, and says where.
#[wasm_bindgen]
pub fn room(bytes: usize) -> usize {
    let Exchange { mut texts, answer } = EXCHANGE.take();
    if texts.len() < bytes {
        drop(texts);
        texts = vec![0; bytes];
    }
    let at = texts.as_mut_ptr() as usize;
    EXCHANGE.set(Exchange { texts, answer });
    at
}

/// Where the answer to the last call is.
#[wasm_bindgen(js_name = answerAt)]
pub fn answer_at() -> usize {
    let exchange = EXCHANGE.take();
    let at = exchange.answer.as_ptr() as usize;
    EXCHANGE.set(exchange);
    at
}

/// Writes the answer to a call about the first `stored` bytes, and says how long it is. Should that panic, the module
/// is started anew.
pub(crate) fn answered(stored: usize, write: impl FnOnce(&[u8], &mut String)) -> usize {
    let Exchange { texts, mut answer } = EXCHANGE.take();
    answer.clear();
    write(texts.get(..stored).unwrap_or_default(), &mut answer);
    let length = answer.len();
    EXCHANGE.set(Exchange { texts, answer });
    length
}
