//! The word for a statistic in the name of an output.
//!
//! Words are those of River: `mean`, `ewm_0.3`, `mean_of_shift_1` for a link, `rollingmax_3` for a rolling statistic. Where
//! River gives two rolling statistics the same word, ours also has the parameters that differ from their defaults:
//! `rollingquantile_0.1_3`.

use serde_json::{json, Value as Json};

use crate::fault::Shown;
use crate::registry;

pub fn word(description: &Json) -> String {
    let parameters = &description["parameters"];
    match class(description) {
        "AutoCorr" => format!("autocorr_{}", parameters["lag"]),
        "BayesianMean" => "bayes_mean".into(),
        "EWMean" => format!("ewm_{}", parameters["fading_factor"]),
        "EWVar" => format!("ewv_{}", parameters["fading_factor"]),
        "IQR" => format!("IQR_{}_{}", parameters["q_inf"], parameters["q_sup"]),
        "Link" => format!("{}_of_{}", word(&parameters["right"]), word(&parameters["left"])),
        "PeakToPeak" => "ptp".into(),
        "Rolling" => format!("rolling{}_{}", inner(&parameters["statistic"]), parameters["window_size"]),
        "Shift" => format!("shift_{}", parameters["amount"]),
        "TimeRolling" => {
            format!("timerolling{}_{}", inner(&parameters["statistic"]), shown(&parameters["period"]))
        }
        class => class.to_lowercase(),
    }
}

fn class(description: &Json) -> &str {
    description["name"].as_str().and_then(|name| name.rsplit('.').next()).unwrap_or_default()
}

/// The word for the statistic of a window.
fn inner(statistic: &Json) -> String {
    match class(statistic) {
        "Link" | "Rolling" | "TimeRolling" => word(statistic),
        class => class.to_lowercase() + &uncommon(statistic),
    }
}

/// The parameters that differ from their defaults.
fn uncommon(statistic: &Json) -> String {
    let defaults = registry::resolve(&json!({ "name": statistic["name"] })).unwrap_or_default();
    let Json::Object(parameters) = &statistic["parameters"] else { return String::new() };
    let differs = |name: &str, value: &Json| {
        // All values of a mode: what River's rolling mode does.
        let is_plain_mode = name == "k" && *value == json!(-1);
        (value.is_number() || value.is_boolean()) && *value != defaults["parameters"][name] && !is_plain_mode
    };
    let words = parameters.iter().filter(|(name, value)| differs(name, value));
    words.map(|(_, value)| format!("_{}", shown(value))).collect()
}

fn shown(value: &Json) -> String {
    match value.as_f64() {
        Some(number) => Shown(number).to_string(),
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(description: Json) -> String {
        word(&registry::resolve(&description).expect("declared"))
    }

    fn windowed(statistic: Json, size: usize) -> Json {
        json!({ "name": "stats.Rolling", "parameters": { "statistic": statistic, "window_size": size } })
    }

    #[test]
    fn words_of_river() {
        assert_eq!(of(json!({ "name": "stats.Quantile" })), "quantile");
        assert_eq!(of(windowed(json!("stats.Max"), 3)), "rollingmax_3");
        assert_eq!(of(windowed(json!("stats.IQR"), 3)), "rollingiqr_3");
        let shift = json!({ "name": "stats.Shift", "parameters": { "amount": 2 } });
        let link = json!({ "name": "stats.Link", "parameters": { "left": shift, "right": "stats.Mean" } });
        assert_eq!(of(link), "mean_of_shift_2");
    }

    #[test]
    fn words_of_windows_differ() {
        let quantile = |q: f64| json!({ "name": "stats.Quantile", "parameters": { "q": q } });
        assert_eq!(of(windowed(quantile(0.5), 3)), "rollingquantile_3");
        assert_eq!(of(windowed(quantile(0.1), 3)), "rollingquantile_0.1_3");
        let time = json!({
            "name": "stats.TimeRolling", "parameters": { "statistic": "stats.Mean", "period": 86400.0 },
        });
        assert_eq!(of(time), "timerollingmean_86400");
    }
}
