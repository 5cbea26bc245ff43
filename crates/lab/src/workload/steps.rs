//! Unmeasured work before and after a level: the steps of the file, and checking in the items that the level checked
//! out.

use super::engine::{PartStage, TenantStage};
use super::turn::VirtualUser;
use super::{Step, Times};
use crate::error::{LabError, Result};
use std::sync::Arc;

/// Plays steps in every tenant; the values their calls collect become rows.
pub async fn play_steps(part: &PartStage, steps: &[Step]) -> Result<()> {
    for tenant in &part.tenants {
        for step in steps {
            play_step(part, tenant, step)
                .await
                .map_err(|error| LabError::new(format!("{} ({}): {error}", step.name, tenant.name)))?;
        }
    }
    Ok(())
}

async fn play_step(part: &PartStage, tenant: &Arc<TenantStage>, step: &Step) -> Result<()> {
    let (variable, rows) = match &step.times {
        Times::Number(number) => (None, vec![String::new(); *number as usize]),
        Times::Users => (None, vec![String::new(); part.users.div_ceil(part.tenants.len())]),
        Times::Each(variable) => (Some(variable), tenant.used_rows(variable)),
    };
    let mut user = VirtualUser::new(part, tenant, u64::MAX);
    for (index, row) in rows.into_iter().enumerate() {
        let mut variables = tenant.constants(index);
        for (name, rows) in &tenant.rows {
            variables.extend(rows.get(index % rows.len().max(1)).map(|row| (name.clone(), row.clone())));
        }
        if let Some(variable) = variable {
            variables.insert(variable.clone(), row);
        }
        for call in &step.calls {
            let (_, outcome) = user.call(part, call, &mut variables).await;
            outcome.map_err(|failed| LabError::new(format!("{}: {}", call.label(), failed.text)))?;
        }
    }
    Ok(())
}
