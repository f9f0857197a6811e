use ferromix_engine::{Engine, OpSpec};

fn main() {
    let engine = Engine::builder().build();
    engine.scope(|scope| {
        let local = vec![1];
        let _ = scope.push_sync(&OpSpec::new("borrows"), |_| {
            println!("{local:?}");
            Ok(())
        });
    });
    engine.scope(|scope| {
        let local = vec![1];
        let local = &local;
        let _ = scope.push_sync(&OpSpec::new("borrows"), move |_| {
            println!("{local:?}");
            Ok(())
        });
    });
}
