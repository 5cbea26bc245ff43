//! `carrel lab reference`: plays the five reports of FOLIO's Performance Task Force one after the other on a new
//! server, writes a report for each with the published figures, and an index of the main figures.

use super::Target;
use super::own_server::Server;
use super::play::{PlayArguments, play_on};
use carrel_lab::{Block, Document, Figures, PlayReport, Table, compare, number};
use clap::Args;
use std::path::{Path, PathBuf};

/// Arguments of `lab reference`.
#[derive(Debug, Args)]
pub struct ReferenceArguments {
    #[command(flatten)]
    pub target: Target,
    /// Directory of the reports.
    #[arg(long, default_value = "docs/reports")]
    pub out: PathBuf,
    /// Another build of Carrel for the comparison; without it the same build with four database connections a tenant.
    #[arg(long)]
    pub other_program: Option<PathBuf>,
    /// Length of a level in seconds, instead of the workloads'.
    #[arg(long)]
    pub seconds: Option<f64>,
    /// How often each level is played; the spread of the repeats is reported as noise.
    #[arg(long, default_value_t = 1)]
    pub repeats: usize,
}

/// A report: its workload, the file, the published run.
struct Chapter {
    file: &'static str,
    workload: &'static str,
    published: Option<&'static str>,
}

const CHAPTERS: [Chapter; 10] = [
    Chapter { file: "holds-item", workload: "holds-item", published: Some("holds-fameflower") },
    Chapter { file: "holds-instance", workload: "holds-instance", published: Some("holds-fameflower") },
    Chapter { file: "holds-patron", workload: "holds-patron", published: Some("holds-fameflower") },
    Chapter { file: "cico", workload: "cico-fameflower", published: Some("cico-fameflower") },
    Chapter { file: "cico-400", workload: "cico-fameflower", published: Some("cico-fameflower") },
    Chapter {
        file: "cico-beside-logins",
        workload: "cico-beside-logins",
        published: Some("cico-fameflower"),
    },
    Chapter { file: "lists", workload: "lists-refresh", published: Some("lists-poppy") },
    Chapter { file: "lock-off", workload: "checkout-lock-off", published: Some("lock-off-poppy") },
    Chapter { file: "lock-on", workload: "checkout-lock-on", published: Some("lock-on-poppy") },
    Chapter { file: "mixed", workload: "mixed", published: None },
];
/// Report 2 compares two versions, so its plan is played twice.
const VERSIONS: &str = "cico-november-2020";
/// Users of the check-in/check-out reports.
const CICO_USERS: [usize; 4] = [1, 5, 8, 20];
/// Users of report 3's last run, with the plan's pauses.
const MANY_USERS: usize = 400;
const TENANTS: usize = 3;

/// Plays everything and writes the reports.
pub async fn run(arguments: ReferenceArguments) -> Result<(), String> {
    if arguments.target.address.is_some() {
        return Err("the reference reports are made on a server of our own: leave out --address".into());
    }
    std::fs::create_dir_all(&arguments.out)
        .map_err(|error| format!("{}: {error}", arguments.out.display()))?;
    let mut headlines = Table::new(
        "Headline figures beside the published ones, ms",
        2,
        &["report", "transaction", "users", "average", "published", "p95", "published", "failed"],
    );
    let usual = Server::of(&arguments.target, TENANTS).await?;
    // What was played is worth more than its loss: a report that fails is named in the end.
    let (mut last, mut failures) = (None, Vec::new());
    for chapter in &CHAPTERS {
        eprintln!("== {}", chapter.file);
        let mut play = plays(&arguments, chapter.workload, chapter.file);
        play.baseline = chapter.published.map(|name| format!("reference:{name}"));
        match chapter.file {
            "cico" => play.users = CICO_USERS.to_vec(),
            "cico-400" => (play.users, play.pace) = (vec![MANY_USERS], Some(1.0)),
            // The duration of a refresh is not limited.
            "lists" => play.seconds = None,
            _ => {}
        }
        match play_on(&play, &usual).await {
            Ok(report) => {
                add_headlines(&mut headlines, chapter.file, &report, play.baseline.as_deref())?;
                last = Some(report);
            }
            Err(error) => failures.push(format!("{}: {error}", chapter.file)),
        }
    }
    eprintln!("== versions");
    let mut first = plays(&arguments, VERSIONS, "versions-a");
    first.baseline = Some("reference:cico-goldenrod".into());
    first.condition = "the usual configuration".into();
    match play_on(&first, &usual).await {
        Ok(report) => add_headlines(&mut headlines, "versions-a", &report, first.baseline.as_deref())?,
        Err(error) => failures.push(format!("versions-a: {error}")),
    }
    drop(usual);
    let (program, options, condition) = match &arguments.other_program {
        Some(program) => (Some(program.as_path()), vec![], format!("the build {}", program.display())),
        None => (
            None,
            vec!["--tenant-connections".to_owned(), "4".to_owned()],
            "four database connections a tenant".into(),
        ),
    };
    let other = Server::start(&arguments.target, TENANTS, program, &options).await?;
    let mut second = plays(&arguments, VERSIONS, "versions-b");
    second.baseline = Some("reference:cico-honeysuckle".into());
    second.condition = condition;
    match play_on(&second, &other).await {
        Ok(report) => {
            add_headlines(&mut headlines, "versions-b", &report, second.baseline.as_deref())?;
            last = Some(report);
        }
        Err(error) => failures.push(format!("versions-b: {error}")),
    }
    drop(other);

    for (name, files) in [("versions", ["versions-a", "versions-b"]), ("lock", ["lock-off", "lock-on"])] {
        if !failures.iter().any(|failure| files.iter().any(|file| failure.starts_with(file))) {
            comparison(&arguments.out, name, files)?;
        }
    }
    if let Some(last) = last {
        index(&arguments, headlines, &last)?;
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(format!("not all could be played:\n  {}", failures.join("\n  ")))
    }
}

fn plays(arguments: &ReferenceArguments, workload: &str, file: &str) -> PlayArguments {
    PlayArguments {
        repeats: arguments.repeats,
        seconds: arguments.seconds,
        report: Some(arguments.out.join(file)),
        ..PlayArguments::of(workload, arguments.target.clone())
    }
}

fn add_headlines(
    table: &mut Table,
    file: &str,
    report: &PlayReport,
    published: Option<&str>,
) -> Result<(), String> {
    let published =
        published.map(Figures::read).transpose().map_err(|error| error.to_string())?.unwrap_or_default();
    for level in &report.levels {
        for (name, track) in level.whole() {
            let other = |statistic| {
                let value = published.values.get(&(name.clone(), level.users as u64, statistic));
                value.map_or(String::new(), |value| number(*value))
            };
            table.rows.push(vec![
                file.to_owned(),
                name.clone(),
                level.users.to_string(),
                number(track.samples.mean_ms()),
                other("average_ms"),
                number(track.samples.percentile_ms(95.0)),
                other("p95_ms"),
                track.samples.failures().to_string(),
            ]);
        }
    }
    Ok(())
}

fn comparison(out: &Path, name: &str, files: [&str; 2]) -> Result<(), String> {
    let names = files.map(|file| out.join(file).with_extension("json").to_string_lossy().into_owned());
    let document = compare(&names).map_err(|error| error.to_string())?;
    write(out, &format!("{name}-compared"), &document)
}

fn index(arguments: &ReferenceArguments, headlines: Table, last: &PlayReport) -> Result<(), String> {
    let mut document = Document {
        title: "The reference reports".into(),
        subtitle: format!(
            "Program {}, {}, {}",
            last.about.commit,
            last.about.machine,
            last.about.when.strftime("%Y-%m-%d %H:%M UTC")
        ),
        sections: Vec::new(),
    };
    let mut notes = vec![
        "Each report is a page (`.html`), a text (`.md`) and a file of figures (`.json`) of the same name in this folder; \
         `versions-compared` and `lock-compared` hold two runs side by side."
            .to_owned(),
        "The published figures are those of FOLIO on clusters of its time, with other data and other machines: they say \
         what staff waited for then, not what the machines here would do with FOLIO. Ratios to the floor stand in each \
         report."
            .to_owned(),
        "Lists are refreshed without a read/write split: the private PostgreSQL has no replica.".to_owned(),
    ];
    if arguments.target.quick {
        notes.push(
            "This is the short form: a few seconds for each level, with the plans' pauses shortened. Without `--quick` the \
             levels last half an hour."
                .into(),
        );
    }
    document.section("Headline figures", vec![Block::Table(headlines), Block::List(notes)]);
    let form = if arguments.target.quick { " --quick" } else { "" };
    let command = format!("./carrel lab reference{form} --items {}", arguments.target.items);
    document.section("To repeat it", vec![Block::Code(command)]);
    write(&arguments.out, "README", &document)
}

fn write(out: &Path, name: &str, document: &Document) -> Result<(), String> {
    for (ending, text) in [("md", document.markdown()), ("html", document.html())] {
        let file = out.join(format!("{name}.{ending}"));
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        eprintln!("wrote {}", file.display());
    }
    Ok(())
}
