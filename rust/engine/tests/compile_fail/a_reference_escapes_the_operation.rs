use ferromix_engine::{Engine, OpSpec, Read};

fn main() {
    let engine = Engine::builder().build();
    let data = engine.data(5);
    let mut kept: Option<Read<'_, i32>> = None;
    engine.scope(|scope| {
        let (kept, data) = (&mut kept, &data);
        scope.push_sync(&OpSpec::new("escapes").reads(&[data.var()]), move |context| {
            *kept = Some(context.read(data)?);
            Ok(())
        })
    }).unwrap();
}
