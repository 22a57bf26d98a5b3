//! The plot: for each goal our time beside that of what it is compared with, which is 1, and the longest time that
//! meets the goal. The scale is logarithmic, so that twice as long is as far everywhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::goals::{Found, GOALS};
use crate::results::{Results, duration};

/// Colours of a light page, and of a dark one for those who prefer it.
const STYLE: &str = "
  .page { fill: #ffffff } .label { stroke: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e } .grid { stroke: #d1d9e0 }
  .one { stroke: #59636e } .reference { fill: #c3cbd3 } .met { fill: #2da44e } .missed { fill: #d9730d }
  .goal { stroke: #1f2328 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .label { stroke: #0d1117 } .text { fill: #f0f6fc } .faint { fill: #9198a1 } .grid { stroke: #2a313c }
    .one { stroke: #9198a1 } .reference { fill: #3d444d } .met { fill: #3fb950 } .missed { fill: #f0883e }
    .goal { stroke: #f0f6fc }
  }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif }
  .small { font-size: 11px }
  .title { font-size: 15px; font-weight: 600 }
  .label { paint-order: stroke; stroke-width: 3px }";

const WIDTH: f64 = 960.0;
/// Where bars begin; left of it stands what they are about.
const LEFT: f64 = 330.0;
/// Where the scale ends; times may be written beyond.
const RIGHT: f64 = 840.0;
const TOP: f64 = 66.0;
const ROW: f64 = 42.0;
const BAR: f64 = 13.0;
/// How long a time is, written out.
const LABEL: f64 = 54.0;

struct Bars {
    work: &'static str,
    reference: &'static str,
    ours_ns: f64,
    reference_ns: f64,
    /// Our time and the goal, as multiples of the reference's time.
    ours: f64,
    longest: f64,
    is_met: bool,
}

/// A scale from the shortest to the longest of some times.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    /// Ends at powers of two, with 1 within.
    fn of(bars: &[Bars]) -> Self {
        let ends = bars.iter().flat_map(|bar| [bar.ours, bar.longest]);
        let (least, most) = ends.fold((0.5_f64, 2.0_f64), |(least, most), end| (least.min(end), most.max(end)));
        Self { least: least.log2().floor().exp2() / 2.0, most: most.log2().ceil().exp2() }
    }

    fn place(&self, multiple: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (multiple / self.least).ln() / (self.most / self.least).ln()
    }

    fn marks(&self) -> impl Iterator<Item = f64> {
        let (first, last) = (self.least.log2().round() as i32, self.most.log2().round() as i32);
        (first..=last).map(|power| f64::from(power).exp2())
    }
}

/// The plot as SVG.
pub(super) fn draw(all: &BTreeMap<String, Results>) -> String {
    let bars = bars(all);
    let scale = Scale::of(&bars);
    let bottom = TOP + ROW * bars.len() as f64;
    let height = bottom + 44.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"Our times beside those of what they are compared with, and the goals\">\n\
         <style>{STYLE}\n</style>\n<rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
    );
    legend(&mut out);
    for mark in scale.marks() {
        let (x, class) = (scale.place(mark), if mark == 1.0 { "one" } else { "grid" });
        let _ = writeln!(out, "<path class=\"{class}\" d=\"M{x:.1} {TOP}V{bottom}\"/>");
        let label = if mark < 1.0 { format!("1/{}", 1.0 / mark) } else { mark.to_string() };
        let _ = writeln!(
            out,
            "<text class=\"faint small\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
            bottom + 16.0
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"faint small\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">× the time of what it is compared \
         with: shorter is faster</text>",
        f64::midpoint(LEFT, RIGHT),
        bottom + 34.0
    );
    for (at, bar) in bars.iter().enumerate() {
        row(&mut out, &scale, TOP + ROW * at as f64, bar);
    }
    out.push_str("</svg>\n");
    out
}

fn bars(all: &BTreeMap<String, Results>) -> Vec<Bars> {
    let bar = |goal: &super::Goal| {
        let found = goal.found(all)?;
        let Found::Ratio { ratio, ours_ns, reference_ns } = found else { return None };
        let is_rate = matches!(goal.bound, super::Bound::Rate { .. });
        Some(Bars {
            work: goal.work,
            reference: goal.reference(),
            ours_ns,
            reference_ns,
            ours: if is_rate { 1.0 / ratio.median } else { ratio.median },
            longest: goal.longest()?,
            is_met: goal.is_met(&found),
        })
    };
    GOALS.iter().filter_map(bar).collect()
}

fn legend(out: &mut String) {
    let entries = [
        ("met", "space-profiles, goal met"),
        ("missed", "space-profiles, goal not met"),
        ("reference", "what it is compared with"),
    ];
    let _ = writeln!(out, "<text class=\"text title\" x=\"16\" y=\"28\">How fast it is</text>");
    for (at, (class, text)) in entries.into_iter().enumerate() {
        let x = 16.0 + 225.0 * at as f64;
        let _ = writeln!(out, "<rect class=\"{class}\" x=\"{x}\" y=\"42\" width=\"12\" height=\"12\" rx=\"2\"/>");
        let _ = writeln!(out, "<text class=\"faint small\" x=\"{}\" y=\"52\">{text}</text>", x + 18.0);
    }
    let _ = writeln!(out, "<path class=\"goal\" stroke-width=\"2\" d=\"M692 40V56\"/>");
    let _ = writeln!(out, "<text class=\"faint small\" x=\"700\" y=\"52\">the goal: no longer than this</text>");
}

fn row(out: &mut String, scale: &Scale, top: f64, bar: &Bars) {
    let Bars { work, reference, ours_ns, reference_ns, ours, longest, is_met } = bar;
    let class = if *is_met { "met" } else { "missed" };
    let (first, second) = (top + 7.0, top + 7.0 + BAR + 1.0);
    for (class, y, multiple, ns) in [(class, first, *ours, *ours_ns), ("reference", second, 1.0, *reference_ns)] {
        let end = scale.place(multiple);
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"2\"/>",
            end - LEFT
        );
        // Not where the goal is marked.
        let mark = scale.place(*longest);
        let is_in_the_way = class != "reference" && (end - 4.0..end + LABEL).contains(&mark);
        let from = if is_in_the_way { mark.max(end) } else { end };
        let _ = writeln!(
            out,
            "<text class=\"text small label\" x=\"{:.1}\" y=\"{}\">{}</text>",
            from + 6.0,
            y + 10.5,
            duration(ns)
        );
    }
    let goal = scale.place(*longest);
    let _ = writeln!(
        out,
        "<path class=\"goal\" stroke-width=\"2\" d=\"M{goal:.1} {}V{}\"/>",
        first - 3.0,
        first + BAR + 3.0
    );
    let label = LEFT - 12.0;
    let _ = writeln!(
        out,
        "<text class=\"text\" x=\"{label}\" y=\"{}\" text-anchor=\"end\">{work}</text>",
        first + 11.0
    );
    let _ = writeln!(
        out,
        "<text class=\"faint small\" x=\"{label}\" y=\"{}\" text-anchor=\"end\">beside {reference}</text>",
        second + 10.5
    );
}
