import { ActionButton } from '../../parts/controls.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { t } from '../../text/messages.ts';
import type { DialogProps } from '../PromptHost.tsx';

/** A barcode that was probably misread; scanning it again is the safe default. */
export function CheckDigit({ shown: { barcode }, answer }: DialogProps<'checkDigit'>) {
  return (
    <Prompt
      kind="warning"
      title={t('checkDigit.title')}
      onCancel={() => answer(undefined)}
      actions={
        <>
          <ActionButton variant="primary" autoFocus onPress={() => answer(undefined)}>
            {t('checkDigit.again')}
          </ActionButton>
          <ActionButton onPress={() => answer(true)}>{t('checkDigit.use')}</ActionButton>
        </>
      }
    >
      <p className="about-item">
        <strong className="digits">{barcode}</strong>
      </p>
      <p>{t('checkDigit.text')}</p>
    </Prompt>
  );
}
