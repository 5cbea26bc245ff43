//! Reading a workload file. Every mistake is found before the first call is made, and reported with its line.

use super::call::{Body, Call, Names};
use super::template::names;
use super::{AfterFailure, Form, Load, Login, Mode, Part, Source, Step, Times, Transaction, Workload};
use crate::error::{Context, LabError, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;
use toml::Spanned;

/// Variables that every call has.
const BUILT_IN: [&str; 7] = ["uuid", "now", "now12", "tenant", "username", "password", "turn"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    name: String,
    title: String,
    #[serde(default)]
    purpose: String,
    source: String,
    #[serde(default)]
    load: LoadText,
    short: Option<Spanned<FormText>>,
    long: Option<Spanned<FormText>>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    data: BTreeMap<String, SourceText>,
    #[serde(default)]
    pauses: BTreeMap<String, [f64; 2]>,
    #[serde(default)]
    addresses: BTreeMap<String, String>,
    #[serde(default)]
    bodies: BTreeMap<String, BodyText>,
    #[serde(default)]
    placeholders: Vec<String>,
    #[serde(default)]
    prepare: Vec<StepText>,
    #[serde(default)]
    transaction: Vec<TransactionText>,
    #[serde(default)]
    clean_up: Vec<StepText>,
    #[serde(default)]
    with: Vec<PartText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactionText {
    name: String,
    share: Spanned<f64>,
    calls: Spanned<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct LoadText {
    mode: Mode,
    per_minute: Option<Spanned<f64>>,
    random_arrivals: bool,
    login: Login,
    after_failure: AfterFailure,
    failure_pause: f64,
    turns: Option<u64>,
    tenants: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FormText {
    #[serde(default)]
    users: Vec<usize>,
    seconds: f64,
    #[serde(default)]
    ramp_up: f64,
    #[serde(default = "one")]
    pace: f64,
}

fn one() -> f64 {
    1.0
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum SourceText {
    Kind(SourceKind),
    Records { records: String, key: String, field: String, from: Option<f64> },
    File { file: PathBuf, column: Option<usize> },
    Values { values: Vec<String> },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SourceKind {
    Users,
    AvailableItems,
    LentItems,
    ServicePoints,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum BodyText {
    Text(String),
    Changed { of: String, with: String },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    name: String,
    each: Option<Spanned<String>>,
    times: Option<Spanned<TimesText>>,
    calls: Spanned<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum TimesText {
    Number(u64),
    Word(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartText {
    workload: Spanned<String>,
    users: usize,
}

impl Workload {
    /// Reads the text of a workload file; `find` reads the files that it names.
    pub(super) fn parse(text: &str, find: &dyn Fn(&str) -> Result<Workload>) -> Result<Workload> {
        let file: File = toml::from_str(text).context("reading the workload")?;
        Reader { text }.workload(file, find)
    }
}

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn line(&self, offset: usize) -> usize {
        self.text[..offset.min(self.text.len())].matches('\n').count() + 1
    }

    fn wrong<T>(&self, place: &Spanned<T>, what: impl std::fmt::Display) -> LabError {
        LabError::new(format!("line {}: {what}", self.line(place.span().start)))
    }

    fn workload(&self, file: File, find: &dyn Fn(&str) -> Result<Workload>) -> Result<Workload> {
        let names = Names {
            pauses: file.pauses,
            addresses: file.addresses,
            bodies: file.bodies.into_iter().map(|(name, body)| (name, body.into())).collect(),
        };
        let mut known: BTreeSet<String> = BUILT_IN.iter().map(|name| name.to_string()).collect();
        known.extend(file.data.keys().cloned());
        known.extend(file.placeholders);

        let prepare = self.steps(&file.prepare, &names, &mut known)?;
        let mut transactions = Vec::new();
        let mut collected = known.clone();
        for transaction in &file.transaction {
            let calls = self.calls(&transaction.calls, &names, &mut known.clone())?;
            let share = *transaction.share.get_ref();
            if share.is_nan() || share <= 0.0 {
                return Err(self.wrong(&transaction.share, "a share must be above 0"));
            }
            collected.extend(
                calls.iter().flat_map(|call| &call.checks).filter_map(|c| c.sets()).map(str::to_owned),
            );
            transactions.push(Transaction { name: transaction.name.clone(), share, calls });
        }
        let clean_up = self.steps(&file.clean_up, &names, &mut collected)?;
        let mut parts = Vec::new();
        for part in file.with {
            let workload =
                find(part.workload.get_ref()).map_err(|error| self.wrong(&part.workload, error))?;
            if !workload.parts.is_empty() {
                return Err(self.wrong(&part.workload, "a workload of a mix cannot be a mix itself"));
            }
            parts.push(Part { workload, users: part.users.max(1) });
        }
        if transactions.is_empty() == parts.is_empty() {
            return Err(LabError::new("a workload needs either transactions or [[with]] other workloads"));
        }
        let load = self.load(file.load, &transactions)?;
        let has_parts = !parts.is_empty();
        Ok(Workload {
            name: file.name,
            title: file.title,
            purpose: file.purpose,
            source: file.source,
            load,
            short: file.short.map_or(Ok(Form::short()), |form| self.form(form, has_parts))?,
            long: file.long.map_or(Ok(Form::long()), |form| self.form(form, has_parts))?,
            headers: file.headers,
            data: file.data.into_iter().map(|(name, source)| (name, source.into())).collect(),
            prepare,
            transactions,
            clean_up,
            parts,
        })
    }

    /// The calls of a block of lines; `known` gains the variables that they set.
    fn calls(
        &self,
        block: &Spanned<String>,
        names_of: &Names,
        known: &mut BTreeSet<String>,
    ) -> Result<Vec<Call>> {
        let span = block.span();
        let raw = &self.text[span.clone()];
        // A newline directly after the opening quotes does not belong to the text.
        let skipped = usize::from(raw.starts_with("'''\n") || raw.starts_with("\"\"\"\n"));
        let first = self.line(span.start) + skipped;
        let mut calls = Vec::new();
        for (number, line) in block.get_ref().lines().enumerate() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            let wrong = |what: String| LabError::new(format!("line {}: {what}", first + number));
            for call in Call::parse(trimmed, names_of).map_err(wrong)? {
                let texts = [&call.address, &call.body.text];
                let used = texts.into_iter().flat_map(|text| names(text)).chain(call.body.of.as_deref());
                if let Some(unknown) = used.into_iter().find(|name| !known.contains(*name)) {
                    let what = format!(
                        "the variable {unknown} of `{}` is set nowhere before (list it in `placeholders` if it is \
                         meant to stay unfilled)",
                        call.name
                    );
                    return Err(wrong(what));
                }
                known.extend(call.checks.iter().filter_map(|check| check.sets()).map(str::to_owned));
                calls.push(call);
            }
        }
        if calls.is_empty() {
            return Err(self.wrong(block, "there are no calls"));
        }
        Ok(calls)
    }

    fn steps(&self, steps: &[StepText], names: &Names, known: &mut BTreeSet<String>) -> Result<Vec<Step>> {
        let mut read = Vec::new();
        for step in steps {
            let times = match (&step.each, &step.times) {
                (Some(each), None) => {
                    if !known.contains(each.get_ref()) {
                        return Err(self.wrong(each, format!("there are no rows of {}", each.get_ref())));
                    }
                    Times::Each(each.get_ref().clone())
                }
                (None, Some(times)) => match times.get_ref() {
                    TimesText::Number(number) => Times::Number(*number),
                    TimesText::Word(word) if word == "users" => Times::Users,
                    TimesText::Word(_) => return Err(self.wrong(times, "times is a number or \"users\"")),
                },
                (None, None) => Times::Number(1),
                (Some(each), Some(_)) => return Err(self.wrong(each, "a step has either each or times")),
            };
            let calls = self.calls(&step.calls, names, known)?;
            read.push(Step { name: step.name.clone(), times, calls });
        }
        Ok(read)
    }

    fn load(&self, load: LoadText, transactions: &[Transaction]) -> Result<Load> {
        let per_minute = match &load.per_minute {
            Some(rate) if *rate.get_ref() > 0.0 => *rate.get_ref(),
            Some(rate) => return Err(self.wrong(rate, "per-minute must be above 0")),
            None => {
                let shares: f64 = transactions.iter().map(|transaction| transaction.share).sum();
                let pause = |transaction: &Transaction| -> f64 {
                    transaction.share * transaction.calls.iter().map(Call::mean_pause).sum::<f64>()
                };
                // Without pauses a user of an open load does one thing a second.
                let mean = transactions.iter().map(pause).sum::<f64>() / shares.max(f64::MIN_POSITIVE);
                if mean > 0.0 { 60.0 / mean } else { 60.0 }
            }
        };
        if !(0.0..=3600.0).contains(&load.failure_pause) {
            return Err(LabError::new("failure-pause is a number of seconds from 0 to 3600"));
        }
        Ok(Load {
            mode: load.mode,
            per_minute,
            random_arrivals: load.random_arrivals,
            login: load.login,
            after_failure: load.after_failure,
            failure_pause: Duration::from_secs_f64(load.failure_pause),
            turns: load.turns,
            tenants: load.tenants.unwrap_or(1).max(1),
        })
    }

    fn form(&self, text: Spanned<FormText>, has_parts: bool) -> Result<Form> {
        let form = text.get_ref();
        if !has_parts && (form.users.is_empty() || form.users.contains(&0)) {
            return Err(self.wrong(&text, "users is a list of numbers above 0"));
        }
        if !(form.seconds > 0.0 && form.seconds <= 604_800.0 && form.pace > 0.0 && form.ramp_up >= 0.0) {
            return Err(self.wrong(&text, "seconds and pace must be above 0, ramp-up at least 0"));
        }
        Ok(Form {
            users: form.users.clone(),
            length: Duration::from_secs_f64(form.seconds),
            ramp_up: Duration::from_secs_f64(form.ramp_up),
            pace: form.pace,
        })
    }
}

impl From<BodyText> for Body {
    fn from(text: BodyText) -> Body {
        match text {
            BodyText::Text(text) => Body { of: None, text },
            BodyText::Changed { of, with } => Body { of: Some(of), text: with },
        }
    }
}

impl From<SourceText> for Source {
    fn from(text: SourceText) -> Source {
        match text {
            SourceText::Kind(SourceKind::Users) => Source::Users,
            SourceText::Kind(SourceKind::AvailableItems) => Source::AvailableItems,
            SourceText::Kind(SourceKind::LentItems) => Source::LentItems,
            SourceText::Kind(SourceKind::ServicePoints) => Source::ServicePoints,
            SourceText::Records { records, key, field, from } => {
                Source::Records { path: records, key, field, from: from.unwrap_or(0.0).clamp(0.0, 1.0) }
            }
            SourceText::File { file, column } => Source::File { file, column: column.unwrap_or(1).max(1) },
            SourceText::Values { values } => Source::Values(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name = 'n'\ntitle = 't'\nsource = 's'\n";

    fn error(text: &str) -> String {
        let none = |name: &str| Err(LabError::new(format!("no workload {name}")));
        Workload::parse(&format!("{HEAD}{text}"), &none).unwrap_err().to_string()
    }

    #[test]
    fn a_mistake_in_a_call_is_reported_with_its_line() {
        for (wrong, reported) in [
            ("O nowhere", "nowhere"),
            ("X items", "X items"),
            ("T9 G items", "T9"),
            ("P items missing-body", "missing-body"),
            ("G items | a -> not a name", "bad check"),
            ("G of-nobody", "the variable Z"),
        ] {
            let text = format!(
                "[addresses]\nitems = 'items'\nof-nobody = 'users/{{Z}}'\n\
                [[transaction]]\nname = 'x'\nshare = 1\ncalls = '''\nG items\n{wrong}\n'''\n"
            );
            let error = error(&text);
            assert!(error.contains(reported) && error.starts_with("line 12:"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_mistake_of_form_is_reported_with_its_line() {
        for (text, reported) in [
            ("nmae = 'x'\n", "line 4"),
            (
                "[short]\nusers = [0]\nseconds = 1\n[addresses]\ni = 'i'\n[[transaction]]\nname='x'\nshare=1\ncalls='G i'",
                "line 4",
            ),
            ("[addresses]\ni = 'i'\n[[transaction]]\nname = 'x'\nshare = 0\ncalls = 'G i'", "line 8"),
            ("[load]\nmode = 'ajar'\n", "line 5"),
            ("[[with]]\nworkload = 'none'\nusers = 1\n", "line 5"),
            ("[addresses]\ni = 'i'\n[[prepare]]\nname = 'p'\neach = 'Q'\ncalls = 'G i'", "line 8"),
        ] {
            let error = error(text);
            assert!(error.contains(reported), "{text}: {error}");
        }
    }

    #[test]
    fn the_arrival_rate_follows_from_the_pauses_unless_it_is_given() {
        let text = |load: &str| {
            format!(
                "{HEAD}[load]\n{load}\n[pauses]\nT = [0, 4]\n[addresses]\ni = 'i'\n\
                 [[transaction]]\nname = 'x'\nshare = 1\ncalls = 'T G i'\n"
            )
        };
        let none = |_: &str| Err(LabError::new("none"));
        let rate = |load: &str| Workload::parse(&text(load), &none).unwrap().load.per_minute;
        assert_eq!(rate(""), 30.0);
        assert_eq!(rate("per-minute = 7"), 7.0);
    }
}
