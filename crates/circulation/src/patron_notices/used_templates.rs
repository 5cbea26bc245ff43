//! Templates that notices need are not deleted.

use carrel_notices::templates::TemplateDeletion;
use carrel_platform::Changes;
use carrel_platform::transaction_listeners::Outcome;

/// Policies that name a template.
const USES: &str = "SELECT EXISTS (
        SELECT FROM patron_notice_policy
        WHERE jsonb_path_exists(doc, '$.keyvalue().value[*] ? (@.templateId == $id)', jsonb_build_object('id', $1::text)))
    OR EXISTS (
        SELECT FROM overdue_fine_policy
        WHERE jsonb_path_exists(doc, '$.reminderFeesPolicy.reminderSchedule[*] ?
            (@.noticeTemplateId == $id || @.blockTemplateId == $id)', jsonb_build_object('id', $1::text))) AS used";

/// Says that a template is used where a patron notice policy or the reminders of an overdue fine policy name it.
pub fn refuse<'a>(changes: &'a mut Changes<'_>, deletion: &'a mut TemplateDeletion) -> Outcome<'a> {
    Box::pin(async move {
        let rows = changes.tx.query(USES, vec![deletion.template.to_string().into()]).await?;
        deletion.is_used |= rows.first().is_some_and(|row| row.get("used"));
        Ok(())
    })
}
