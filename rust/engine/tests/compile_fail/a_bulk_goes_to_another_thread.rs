use ferromix_engine::Engine;

fn main() {
    let engine = Engine::builder().build();
    let bulk = engine.bulk(8);
    std::thread::spawn(move || drop(bulk));
}
