/* A renewal that was refused but may be forced, with a comment. */
import type { Loan } from '../api/bodies.ts';
import { type Failure, linesOf } from '../api/failure.ts';
import { t } from '../text/messages.ts';
import { overrideBlocks, type WayOut } from './check-out/ways-out.ts';
import * as api from './circulation-api.ts';
import { OverridePrompt } from './dialogs/OverridePrompt.tsx';

interface Props {
  loan: Loan;
  failure: Failure;
  override: Extract<WayOut, { way: 'override' }>;
  servicePointId: string;
  close: () => void;
  renewed: (loan: Loan) => void;
}

export function RenewOverride({ loan, failure, override, servicePointId, close, renewed }: Props) {
  return (
    <OverridePrompt
      title={t('renewOverride.title')}
      submit={t('renewOverride.submit')}
      missingPermissions={override.missingPermissions}
      needsDueDate={override.needsDueDate}
      servicePointId={servicePointId}
      close={close}
      run={async ({ comment, dueDate, token }) => renewed(await api.renew(loan, servicePointId, overrideBlocks(override.blocks, comment, dueDate), token))}
    >
      <p className="about-item">
        <strong>{loan.item.title}</strong>
        <span>{loan.item.barcode}</span>
      </p>
      <ul className="reasons">
        {linesOf(failure).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </OverridePrompt>
  );
}
