/* A due date for all items that follow, in place of the calculated one. */
import { useState } from 'react';
import { ActionButton } from '../../parts/controls.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { toWallTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { DueDateField } from '../DueDateField.tsx';

export function SpecialDueDate({ servicePointId, close, submit }: { servicePointId: string; close: () => void; submit: (wall: string) => void }) {
  const [wall, setWall] = useState(() => `${toWallTime(new Date(Date.now() + 7 * 86_400_000)).slice(0, 10)}T23:59`);
  return (
    <Prompt
      title={t('checkOut.specialDueDate')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" onPress={() => submit(wall)}>
            {t('checkOut.useDueDate')}
          </ActionButton>
        </>
      }
    >
      <p>{t('checkOut.specialDueDateText')}</p>
      <DueDateField value={wall} onChange={setWall} servicePointId={servicePointId} autoFocus />
    </Prompt>
  );
}
