use std::cell::Cell;
use std::rc::Rc;
use ferromix_engine::Engine;

fn main() {
    let engine = Engine::builder().build();
    let _ = engine.data(Rc::new(1));
    let _ = engine.data(Cell::new(1));
}
