//! Line plots as SVG, drawn by hand: a few hundred points need no library.

use super::document::{escaped, number};
use std::fmt::Write;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 30.0;
const RIGHT: f64 = 130.0;
const BOTTOM: f64 = 40.0;
/// Colors that differ in print and for the color-blind.
const COLORS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"];

/// Lines over a common axis, from zero up.
#[derive(Debug, Default)]
pub struct Plot {
    /// What it shows, with the unit.
    pub title: String,
    /// The horizontal axis.
    pub x: String,
    /// Name and points of each line.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

impl Plot {
    /// The picture.
    pub fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0_f64, f64::max);
        let x_end = step_up(most(&mut points().map(|(x, _)| *x)));
        let y_end = step_up(most(&mut points().map(|(_, y)| *y)));
        let at = |(x, y): (f64, f64)| {
            (LEFT + x / x_end * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / y_end * (HEIGHT - TOP - BOTTOM))
        };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" role=\"img\" font-family=\"system-ui,sans-serif\" font-size=\"11\">\
             <title>{0}</title><text x=\"{LEFT}\" y=\"16\" font-size=\"13\" font-weight=\"600\">{0}</text>",
            escaped(&self.title)
        )
        .replace("xmlns=\"http://www.w3.org/2000/svg\" ", "");
        for tick in 0..=4 {
            let share = f64::from(tick) / 4.0;
            let (left, y) = at((0.0, y_end * share));
            let right = WIDTH - RIGHT;
            let _ = write!(
                svg,
                "<path d=\"M{left} {y:.1}H{right}\" stroke=\"#dcdcde\"/>\
                 <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                number(y_end * share)
            );
            let (x, bottom) = at((x_end * share, 0.0));
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                number(x_end * share)
            );
        }
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        let _ = write!(
            svg,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 6.0,
            escaped(&self.x)
        );
        for (index, (name, points)) in self.lines.iter().enumerate() {
            let color = COLORS[index % COLORS.len()];
            let dash = if index >= COLORS.len() { " stroke-dasharray=\"4 3\"" } else { "" };
            let path: Vec<String> =
                points.iter().map(|point| at(*point)).map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            if !path.is_empty() {
                let _ = write!(
                    svg,
                    "<path d=\"M{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"{dash}/>",
                    path.join("L")
                );
            }
            if points.len() <= 12 {
                for (x, y) in points.iter().map(|point| at(*point)) {
                    let _ = write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{color}\"/>");
                }
            }
            let y = TOP + 14.0 * index as f64 + 6.0;
            let x = WIDTH - RIGHT + 8.0;
            let _ = write!(
                svg,
                "<path d=\"M{x} {y}h14\" stroke=\"{color}\" stroke-width=\"2\"{dash}/><text x=\"{}\" y=\"{}\">{}</text>",
                x + 18.0,
                y + 4.0,
                escaped(name)
            );
        }
        svg + "</svg>"
    }
}

/// The next of 1, 2, 4, 5, 8 and 10 times a power of ten.
fn step_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let step = [1.0, 2.0, 4.0, 5.0, 8.0, 10.0].into_iter().find(|step| step * power >= value * 0.999_999);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!([0.0, 0.7, 3.0, 42.0, 800.0].map(step_up), [1.0, 0.8, 4.0, 50.0, 800.0]);
    }

    #[test]
    fn a_line_runs_from_corner_to_corner() {
        let lines = vec![("p95".to_string(), vec![(0.0, 0.0), (10.0, 100.0)])];
        let svg = Plot { title: "a & b".into(), x: "s".into(), lines }.svg();
        assert!(svg.contains("M56.0 220.0L430.0 30.0"), "{svg}");
        assert!(svg.contains("a &amp; b"));
    }

    #[test]
    fn an_empty_plot_is_drawn() {
        assert!(Plot::default().svg().ends_with("</svg>"));
    }
}
