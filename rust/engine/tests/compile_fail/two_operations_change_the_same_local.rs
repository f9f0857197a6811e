use ferromix_engine::{Engine, OpSpec};

fn main() {
    let engine = Engine::builder().build();
    let mut local = 1;
    engine.scope(|scope| {
        for _ in 0..2 {
            let _ = scope.push_sync(&OpSpec::new("changes"), |_| {
                local += 1;
                Ok(())
            });
        }
    });
}
