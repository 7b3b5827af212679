//! `situ place`: where and when each node of a cost graph runs, and why.

mod compare;
mod show;
mod watch;

use crate::args::Place;
use crate::screen::Screen;
use anyhow::{Context, Result};
use situ::place::machine::{Profile, shipped};
use situ::place::{Answer, Budget, GraphFile, Problem, placer};
use situ::replace_file;
use std::io::Write;

pub(crate) fn run(screen: &mut Screen, args: &Place) -> Result<()> {
    let problem = read(args)?;
    if args.compare {
        return compare::run(screen, &problem, args);
    }
    let algorithm = placer(&args.algorithm)?;
    let watching = watch::start();
    let placement = algorithm.place(&problem, &watching.over(budget(args)))?;
    watching.end();
    let mut answer = Answer::new(&problem, &placement);
    if args.explain {
        answer.explain(&problem, &placement);
    }
    if let Some(path) = &args.out {
        let text = answer.to_json()?;
        replace_file(path, |file| file.write_all(text.as_bytes()))?;
    }
    if args.json { screen.json(&answer) } else { show::answer(screen, &problem, &placement, &answer) }
}

fn read(args: &Place) -> Result<Problem> {
    let path = &args.graph;
    let text = std::fs::read_to_string(path).with_context(|| format!("{}: can't be read", path.display()))?;
    let (graph, mut machine) =
        GraphFile::from_json(&text).with_context(|| path.display().to_string())?.split();
    if let Some(profile) = &args.machine {
        let text = match profile.to_str().and_then(shipped) {
            Some(text) => text.to_string(),
            None => std::fs::read_to_string(profile)
                .with_context(|| format!("{}: can't be read", profile.display()))?,
        };
        machine = Profile::from_toml(&text).with_context(|| profile.display().to_string())?.machine;
    }
    Problem::new(&graph, &machine).with_context(|| path.display().to_string())
}

fn budget(args: &Place) -> Budget {
    let budget = match (args.moves, args.seconds) {
        (Some(moves), _) => Budget::moves(moves),
        (None, seconds) => Budget::seconds(seconds.unwrap_or(1.0)),
    };
    budget.seed(args.seed).threads(args.threads)
}
