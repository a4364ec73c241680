//! Targets: made from a run's profile.

use crate::target::{ChatTarget, SecretPolicy, SecretResolver};
use std::sync::Arc;
use tribunal_actors::ports::target::Target;
use tribunal_actors::worker::TargetSetup;
use tribunal_schema::profile::Profile;

/// Makes targets. Secrets come from the environment, and only those that the
/// profile itself names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Targets;

impl Targets {
    /// What keeps this process from calling a profile's target, before it calls it.
    pub fn obstacles(&self, profile: &Profile) -> Vec<String> {
        self.resolver(profile).unusable(&profile.target)
    }

    fn resolver(&self, profile: &Profile) -> SecretResolver {
        SecretResolver::environment(SecretPolicy::referenced_by(&profile.target))
    }
}

impl TargetSetup for Targets {
    fn target(&self, profile: &Profile) -> Result<Arc<dyn Target>, String> {
        let target = ChatTarget::new(&profile.target, self.resolver(profile)).map_err(|error| error.to_string())?;
        Ok(Arc::new(target))
    }
}
