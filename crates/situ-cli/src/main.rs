//! The program `situ`: what devices there are, whether all is well with them, and what situ does with them.
//!
//! Results go to standard output, everything said to a person about them to standard error. It ends with 0,
//! with 1 where something failed or is broken, and with 2 where it was called wrongly.

mod args;
mod browser;
mod calibrate;
mod demo;
mod devices;
mod doctor;
mod place;
mod record;
mod screen;

use anyhow::Result;
use args::{Args, Command};
use clap::Parser;
use screen::Screen;
use std::io::ErrorKind;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args.command) {
        Ok(code) => code,
        // Whoever read our output has enough of it: `situ devices | head -1`.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("situ: {}", situ::visible_lines(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<ExitCode> {
    let mut screen = Screen::stdout();
    match command {
        Command::Devices(output) => devices::run(&mut screen, output.json)?,
        Command::Doctor(output) => return doctor::run(&mut screen, output.json),
        Command::Calibrate(asked) => calibrate::run(&mut screen, asked)?,
        Command::Demo(args) => args.to.during("situ demo", || demo::run(&mut screen, args))?,
        Command::Place(args) => place::run(&mut screen, args)?,
        Command::View(args) => record::view(&mut screen, args)?,
        Command::Why(args) => record::why(&mut screen, args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
}
