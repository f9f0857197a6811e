//! Rates of convolutions, forwards and both gradients, in the sizes of small residual networks:
//! the best of many runs, so that other work on the machine disturbs little.
//!
//! usage: cargo bench --bench convolution [-- threads [size, such as 16->16]]

use ferromix_base::DType;
use ferromix_kernels::{Attrs, Call, Desc, Req, Value, View, find, par};
use std::time::{Duration, Instant};

/// `batch, channels, filters, extent, kernel, stride`; padded by half the kernel. Without filters, each channel has
/// one of its own.
type Size = [usize; 6];

const SIZES: &[Size] = &[
    [32, 3, 16, 32, 3, 1],
    [32, 16, 16, 32, 3, 1],
    [32, 32, 32, 16, 3, 1],
    [32, 64, 64, 8, 3, 1],
    [32, 16, 32, 32, 3, 2],
    [32, 32, 64, 16, 3, 2],
    [32, 16, 32, 32, 1, 2],
    [8, 64, 64, 56, 3, 1],
    [8, 128, 128, 28, 3, 1],
    [8, 256, 256, 14, 3, 1],
    [8, 512, 512, 7, 3, 1],
    [8, 256, 64, 56, 1, 1],
    [8, 1024, 256, 14, 1, 1],
    // mobilenet1.
    [8, 3, 32, 224, 3, 2],
    [8, 32, 64, 112, 1, 1],
    [8, 64, 128, 56, 1, 1],
    [8, 128, 128, 56, 1, 1],
    [8, 128, 256, 28, 1, 1],
    [8, 256, 256, 28, 1, 1],
    [8, 256, 512, 14, 1, 1],
    [8, 512, 512, 14, 1, 1],
    [8, 512, 1024, 7, 1, 1],
    [8, 1024, 1024, 7, 1, 1],
    [8, 32, 0, 112, 3, 1],
    [8, 64, 0, 112, 3, 2],
    [8, 128, 0, 56, 3, 1],
    [8, 128, 0, 56, 3, 2],
    [8, 256, 0, 28, 3, 1],
    [8, 256, 0, 28, 3, 2],
    [8, 512, 0, 14, 3, 1],
    [8, 512, 0, 14, 3, 2],
    [8, 1024, 0, 7, 3, 1],
    // resnet50.
    [8, 3, 64, 224, 7, 2],
    [8, 64, 64, 56, 1, 1],
    [8, 64, 256, 56, 1, 1],
    [8, 256, 128, 56, 1, 2],
    [8, 256, 512, 56, 1, 2],
    [8, 512, 1024, 28, 1, 2],
    [8, 512, 2048, 7, 1, 1],
    [8, 2048, 512, 7, 1, 1],
    [8, 64, 128, 56, 3, 2],
    [8, 256, 512, 14, 3, 2],
    // googlenet.
    [8, 192, 32, 28, 1, 1],
    [8, 480, 16, 14, 1, 1],
    [8, 528, 32, 14, 1, 1],
    [8, 16, 32, 28, 5, 1],
    [8, 32, 96, 28, 5, 1],
    [8, 24, 64, 14, 5, 1],
    [8, 48, 128, 7, 5, 1],
];

fn numbers(shape: &[usize]) -> Vec<f32> {
    let n = shape.iter().product::<usize>();
    (0..n).map(|i| (i % 97) as f32 * 0.01 - 0.48).collect()
}

/// The best time of one operator on `inputs`, with the results that `reqs` ask for.
fn best(
    name: &str,
    attrs: &Attrs,
    inputs: &[&[usize]],
    outputs: &[&[usize]],
    reqs: &[Req],
) -> Option<Duration> {
    let describe = |s: &&[usize]| Desc::new(s, DType::F32);
    let ins: Vec<Desc> = inputs.iter().map(describe).collect();
    let outs: Vec<Desc> = outputs.iter().map(describe).collect();
    let kernel = (find(name)?.prepare)(attrs, &ins, &outs).ok()?;
    let mut data: Vec<Vec<f32>> = inputs.iter().map(|s| numbers(s)).collect();
    let mut results: Vec<Vec<f32>> = outputs.iter().map(|s| numbers(s)).collect();
    let views = |data: &mut [Vec<f32>], shapes: &[&[usize]]| -> Option<Vec<View>> {
        let pairs = data.iter_mut().zip(shapes);
        pairs.map(|(d, s)| View::of_slice(d, s).ok()).collect()
    };
    let inputs = views(&mut data, inputs)?;
    let mut outputs = views(&mut results, outputs)?;
    let mut room = vec![0u8; kernel.workspace() + 64];
    let gap = room.as_ptr().align_offset(64);
    let end = Instant::now() + Duration::from_millis(300);
    let mut best = Duration::MAX;
    while Instant::now() < end || best == Duration::MAX {
        let mut call = Call {
            inputs: &inputs,
            outputs: &mut outputs,
            reqs,
            workspace: &mut room[gap..],
            scalars: &[],
            random: None,
            kept: None,
        };
        let start = Instant::now();
        kernel.run(&mut call).ok()?;
        best = best.min(start.elapsed());
    }
    Some(best)
}

fn main() {
    let args: Vec<String> = std::env::args().filter(|a| a != "--bench").collect();
    let threads = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(2);
    let wanted = args.get(2).map_or("", |a| a);
    let threads = par::set_threads(threads);
    println!("best of 0.3 s on {threads} threads: ms, GFLOP/s per thread");
    println!(
        "{:34} {:>16} {:>16} {:>16}",
        "", "forward", "data", "weight"
    );
    for &[batch, channels, filters, extent, kernel, stride] in SIZES {
        let (groups, filters) = match filters {
            0 => (channels, channels),
            _ => (1, filters),
        };
        let ints = |n: usize| Value::Ints(vec![n as i64; 2]);
        let attrs = Attrs::from([
            ("kernel", ints(kernel)),
            ("stride", ints(stride)),
            ("dilate", ints(1)),
            ("pad", ints(kernel / 2)),
            ("num_filter", Value::Int(filters as i64)),
            ("num_group", Value::Int(groups as i64)),
            ("no_bias", Value::Bool(true)),
        ]);
        let across = (extent - 1) / stride + 1;
        let data: &[usize] = &[batch, channels, extent, extent];
        let weight: &[usize] = &[filters, channels / groups, kernel, kernel];
        let out: &[usize] = &[batch, filters, across, across];
        let back = ([out, data, weight], [data, weight]);
        let backward = |reqs| best("_backward_Convolution", &attrs, &back.0, &back.1, reqs);
        let flops = 2 * weight.iter().product::<usize>() * batch * across * across;
        let way = if groups > 1 { "=" } else { "->" };
        let what =
            format!("{batch} x {channels}{way}{filters} @{extent} {kernel}x{kernel}/{stride}");
        if !what.contains(wanted) {
            continue;
        }
        let times = [
            best(
                "Convolution",
                &attrs,
                &[data, weight],
                &[out],
                &[Req::Write],
            ),
            backward(&[Req::Write, Req::Null]),
            backward(&[Req::Null, Req::Write]),
        ];
        print!("{what:34}");
        for time in times.into_iter().flatten() {
            let rate = flops as f64 / time.as_secs_f64() / 1e9 / threads as f64;
            print!(" {:9.3} {rate:6.0}", time.as_secs_f64() * 1e3);
        }
        println!();
    }
}
