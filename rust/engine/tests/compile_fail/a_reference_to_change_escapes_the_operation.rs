use std::sync::Mutex;
use ferromix_engine::{Engine, OpSpec, Write};

static KEPT: Mutex<Option<Write<'static, i32>>> = Mutex::new(None);

fn main() {
    let engine = Engine::builder().build();
    let data = engine.data(5);
    let mine = data.clone();
    engine.push_sync(&OpSpec::new("escapes").writes(&[data.var()]), move |context| {
        *KEPT.lock().unwrap() = Some(context.write(&mine)?);
        Ok(())
    }).unwrap();
}
