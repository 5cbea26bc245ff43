import { useState } from 'react';
import { ActionButton, Tick } from '../../parts/controls.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { formatDateTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { placeOf, requesterOf } from '../check-in/check-in-session.ts';
import type { DialogProps } from '../PromptHost.tsx';

/** An item that does not go back to the shelf: its destination and its slip. */
export function SendOnDialog({ shown: { answer: checkedIn, kind, printByDefault, until }, answer }: DialogProps<'sendOn'>) {
  const [print, setPrint] = useState(printByDefault);
  const { item, staffSlipContext: slip } = checkedIn;
  const comments = slip?.request?.['patronComments'];
  const address = ['addressLine1', 'addressLine2', 'city', 'region', 'postalCode'].map((line) => slip?.requester?.[line]).filter(Boolean);
  return (
    <Prompt
      kind="information"
      title={t(`sendOn.${kind}`)}
      onCancel={() => answer({ print: false })}
      actions={
        <>
          {kind === 'awaitingDelivery' && <ActionButton onPress={() => answer({ print, checkOut: true })}>{t('sendOn.checkOut')}</ActionButton>}
          <ActionButton variant="primary" autoFocus onPress={() => answer({ print })}>
            {t('close')}
          </ActionButton>
        </>
      }
    >
      <p className="about-item">
        <strong>{item.title}</strong>
        <span>{item.barcode}</span>
      </p>
      <p className="destination">{t(`checkIn.${kind}`, { where: placeOf(checkedIn), requester: requesterOf(checkedIn) })}</p>
      {until && <p>{t('sendOn.until', { date: formatDateTime(until) })}</p>}
      {kind === 'awaitingDelivery' && address.length > 0 && (
        <address>
          {address.map((line) => (
            <span key={line}>{line}</span>
          ))}
        </address>
      )}
      {comments && <p className="comments">{t('sendOn.comments', { comments })}</p>}
      <Tick isSelected={print} onChange={setPrint}>
        {t('sendOn.print')}
      </Tick>
    </Prompt>
  );
}
