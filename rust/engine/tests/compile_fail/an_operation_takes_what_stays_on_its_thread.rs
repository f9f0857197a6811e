use std::rc::Rc;
use ferromix_engine::{Engine, OpSpec};

fn main() {
    let engine = Engine::builder().build();
    let shared = Rc::new(1);
    let mine = shared.clone();
    let _ = engine.push_sync(&OpSpec::new("takes"), move |_| {
        drop(mine);
        Ok(())
    });
}
