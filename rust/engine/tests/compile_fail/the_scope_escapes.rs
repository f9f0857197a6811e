use ferromix_engine::{Engine, OpSpec, Scope};

fn main() {
    let engine = Engine::builder().build();
    let mut kept: Option<&Scope<'_, '_>> = None;
    engine.scope(|scope| kept = Some(scope));
    let scope = engine.scope(|scope| scope);
    let _ = scope.push_sync(&OpSpec::new("late"), |_| Ok(()));
}
