//! A scene: a decider, what has happened so far, and the clock.

use crate::decider::{Decider, Rejection};
use tribunal_schema::units::InstantMs;

/// A stream in memory. Whatever is decided happens at once.
#[derive(Clone, Debug)]
pub struct Scene<D: Decider> {
    /// What the events add up to.
    pub state: D::State,
    /// What has happened, and when.
    pub past: Vec<(D::Event, InstantMs)>,
    /// The database's clock.
    pub now: InstantMs,
}

impl<D: Decider> Default for Scene<D> {
    fn default() -> Scene<D> {
        Scene { state: D::State::default(), past: vec![], now: InstantMs(1000) }
    }
}

impl<D: Decider> Scene<D> {
    /// Asks, and lets what is decided happen.
    ///
    /// # Errors
    /// The rejection; nothing has happened then.
    ///
    /// # Panics
    /// When something was decided that the state does not allow: that is what tests are for.
    pub fn ask(&mut self, command: &D::Command) -> Result<Vec<D::Event>, Rejection> {
        let events = D::decide(&self.state, command)?;
        for event in &events {
            self.state = D::evolve(self.state.clone(), event, self.now)
                .unwrap_or_else(|illegal| panic!("{command:?} was decided and is not allowed: {illegal}"));
            self.past.push((event.clone(), self.now));
        }
        Ok(events)
    }

    /// Asks for what must be granted.
    ///
    /// # Panics
    /// When it is refused.
    pub fn does(&mut self, command: D::Command) -> Vec<D::Event> {
        self.ask(&command).unwrap_or_else(|rejection| panic!("{command:?} is refused: {rejection}"))
    }

    /// Asks for what must be refused; gives why.
    ///
    /// # Panics
    /// When it is granted.
    pub fn refuses(&mut self, command: D::Command) -> Rejection {
        match self.ask(&command) {
            Err(rejection) => rejection,
            Ok(events) => panic!("{command:?} is granted: {events:?}"),
        }
    }

    /// The state that a replay of everything gives.
    ///
    /// # Panics
    /// When an event is not allowed where it stands.
    pub fn replayed(&self) -> D::State {
        self.past.iter().fold(D::State::default(), |state, (event, at)| {
            D::evolve(state, event, *at).unwrap_or_else(|illegal| panic!("replay: {illegal}"))
        })
    }
}
