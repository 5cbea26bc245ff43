//! The lab: plays workloads of real libraries against any FOLIO-compatible address, measures the floor for comparison,
//! and writes the report. It is independent of the server: it uses only the public API and PostgreSQL.

mod barcode;
mod cico;
mod client;
mod data;
mod desk;
mod error;
mod floor;
mod gate;
mod holds;
mod lists;
mod live;
mod load;
mod observe;
mod player;
mod processor_time;
mod random;
mod report;
mod run;
mod samples;
mod schedule;
mod timing;
mod workload;

pub use cico::{CicoOptions, TestDataFiles, run_cico};
pub use client::{Address, Answer, Connection, Credentials, Session};
pub use data::{CompleteItem, CopiedTable, CopyOptions, Library, copy_library, reset_circulation};
pub use desk::{DeskOptions, run_desk};
pub use error::{LabError, Result};
pub use floor::{FloorOptions, floor};
pub use gate::{GateFigures, GateRuns, count_actions, gate_baseline, gate_json, judge};
pub use holds::{HoldsOptions, run_holds};
pub use lists::{ListsOptions, run_lists};
pub use load::{LoadOptions, LoadReport, load};
pub use observe::{Process, PrometheusOptions, WatchOptions};
pub use report::{
    About, Block, DataSize, Document, Figures, FloorReport, Measured, PlayReport, RunLevel, RunReport, Table,
    compare, number, reference_names,
};
pub use run::RunOptions;
pub use samples::Samples;
pub use timing::{LEVELS, MID_LOAD, Pace, Timing};
pub use workload::{
    AfterFailure, Form, LevelFigures, Load, Login, Mode, PlayOptions, SHIPPED, Track, Workload, play,
};
