import { useState } from 'react';
import { ActionButton, Choice, Field } from '../../parts/controls.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { formatDateTime } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import type { Item } from '../../api/bodies.ts';
import { useSession } from '../../session/session.tsx';
import type { BriefItem } from '../check-out/fast-add.ts';
import { callNumber } from '../items.ts';
import { fullName } from '../people.ts';
import type { DialogProps } from '../PromptHost.tsx';
import type { Task } from '../prompts.ts';
import { useLoanTypes, useLocations, useMaterialTypes } from '../references.ts';

function About({ item }: { item: Item }) {
  return (
    <p className="about-item">
      <strong>{item.title}</strong>
      <span>{[item.materialType?.name, item.barcode].filter(Boolean).join(' · ')}</span>
    </p>
  );
}

/** Cancels the scan or continues; continuing is the default. */
function GoOn({ task, answer }: { task: Task; answer: (answer: true | undefined) => void }) {
  return (
    <>
      <ActionButton onPress={() => answer(undefined)}>{t('cancel')}</ActionButton>
      <ActionButton variant="primary" autoFocus onPress={() => answer(true)}>
        {t(`confirmStatus.${task}`)}
      </ActionButton>
    </>
  );
}

export function ConfirmStatus({ shown: { item, task }, answer }: DialogProps<'confirmStatus'>) {
  return (
    <Prompt
      kind="warning"
      title={t('confirmStatus.title', { status: item.status.name })}
      onCancel={() => answer(undefined)}
      actions={<GoOn task={task} answer={answer} />}
    >
      <About item={item} />
      <p>{t('confirmStatus.text', { status: item.status.name })}</p>
      {item.discoverySuppress && <p className="hint">{t('confirmStatus.suppressed')}</p>}
    </Prompt>
  );
}

export function ClaimedReturned({ shown: { item }, answer }: DialogProps<'claimedReturned'>) {
  return (
    <Prompt
      kind="warning"
      title={t('claimedReturned.title')}
      onCancel={() => answer(undefined)}
      actions={
        <>
          <ActionButton autoFocus onPress={() => answer(undefined)}>
            {t('cancel')}
          </ActionButton>
          <ActionButton variant="primary" onPress={() => answer('Found by library')}>
            {t('claimedReturned.found')}
          </ActionButton>
          <ActionButton variant="primary" onPress={() => answer('Returned by patron')}>
            {t('claimedReturned.returned')}
          </ActionButton>
        </>
      }
    >
      <About item={item} />
      <p>{t('claimedReturned.text')}</p>
    </Prompt>
  );
}

/** An item used in the library: keep it for the patron, or reshelve it. */
export function UseAtLocation({ shown: { item }, answer }: DialogProps<'useAtLocation'>) {
  return (
    <Prompt
      title={t('useAtLocation.title')}
      onCancel={() => answer(undefined)}
      actions={
        <>
          <ActionButton onPress={() => answer(undefined)}>{t('cancel')}</ActionButton>
          <ActionButton onPress={() => answer('checkIn')}>{t('useAtLocation.checkIn')}</ActionButton>
          <ActionButton variant="primary" autoFocus onPress={() => answer('keep')}>
            {t('useAtLocation.keep')}
          </ActionButton>
        </>
      }
    >
      <About item={item} />
      <p>{t('useAtLocation.text')}</p>
    </Prompt>
  );
}

export function Pieces({ shown: { item, task }, answer }: DialogProps<'pieces'>) {
  return (
    <Prompt
      kind={item.missingPieces || item.numberOfMissingPieces ? 'warning' : 'information'}
      title={t('pieces.title')}
      onCancel={() => answer(undefined)}
      actions={<GoOn task={task} answer={answer} />}
    >
      <About item={item} />
      <dl className="facts">
        <Fact label={t('pieces.number')} value={item.numberOfPieces} />
        <Fact label={t('pieces.description')} value={item.descriptionOfPieces} />
        <Fact label={t('pieces.missingNumber')} value={item.numberOfMissingPieces} />
        <Fact label={t('pieces.missing')} value={item.missingPieces} />
      </dl>
    </Prompt>
  );
}

function Fact({ label, value }: { label: string; value: string | null | undefined }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value || '–'}</dd>
    </div>
  );
}

export function ItemNotes({ shown: { item, notes, task }, answer }: DialogProps<'itemNotes'>) {
  return (
    <Prompt
      title={tn(task === 'checkOut' ? 'itemNotes.checkOut' : 'itemNotes.checkIn', notes.length)}
      onCancel={() => answer(undefined)}
      actions={<GoOn task={task} answer={answer} />}
    >
      <About item={item} />
      <ul className="notes">
        {notes.map((note, index) => (
          <li key={note.id ?? index}>
            <span>{note.note}</span>
            <span className="hint">{[formatDateTime(note.date), fullName(note.source?.personal)].filter(Boolean).join(' · ')}</span>
          </li>
        ))}
      </ul>
    </Prompt>
  );
}

export function ChooseItem({ shown: { items, total }, answer }: DialogProps<'chooseItem'>) {
  return (
    <Prompt wide title={tn('chooseItem.title', total)} onCancel={() => answer(undefined)} actions={<ActionButton onPress={() => answer(undefined)}>{t('cancel')}</ActionButton>}>
      <table className="rows">
        <thead>
          <tr>
            <th>{t('column.barcode')}</th>
            <th>{t('column.title')}</th>
            <th>{t('column.callNumber')}</th>
            <th>{t('column.status')}</th>
            <th>{t('column.location')}</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item, index) => (
            <tr key={item.id}>
              <td>
                <ActionButton variant="quiet" autoFocus={index === 0} onPress={() => answer(item)}>
                  {item.barcode}
                </ActionButton>
              </td>
              <td>{item.title}</td>
              <td>{callNumber(item.effectiveCallNumberComponents)}</td>
              <td>{item.status.name}</td>
              <td>{item.effectiveLocation?.name}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Prompt>
  );
}

/**
 * A brief record. Enter moves to the next field instead of submitting, because a barcode reader ends an ISBN with
 * Enter.
 */
export function FastAdd({ shown: { barcode }, answer }: DialogProps<'fastAdd'>) {
  const { servicePoint } = useSession();
  const materialTypes = useMaterialTypes();
  const loanTypes = useLoanTypes();
  const locations = useLocations();
  const [brief, setBrief] = useState<BriefItem>({ title: '', contributor: '', isbn: '', callNumber: '', locationId: '', materialTypeId: '', loanTypeId: '' });
  const text = (name: 'title' | 'contributor' | 'isbn' | 'callNumber') => ({ value: brief[name], onChange: (value: string) => setBrief((all) => ({ ...all, [name]: value })) });
  const choice = (name: 'locationId' | 'materialTypeId' | 'loanTypeId', names: ReadonlyMap<string, string>) => ({
    value: brief[name] || ([...names.keys()][0] ?? ''),
    onChange: (value: string) => setBrief((all) => ({ ...all, [name]: value })),
    options: [...names].map(([value, label]) => ({ value, label })),
  });
  const location = choice('locationId', locations);
  const materialType = choice('materialTypeId', materialTypes);
  const loanType = choice('loanTypeId', loanTypes);
  const missing = brief.title.trim() === '' ? t('fastAdd.needsTitle') : [location, materialType, loanType].some((one) => one.value === '') ? t('loading') : undefined;
  return (
    <Prompt
      title={t('fastAdd.title')}
      onCancel={() => answer(undefined)}
      actions={
        <>
          <ActionButton onPress={() => answer(undefined)}>{t('cancel')}</ActionButton>
          <ActionButton
            variant="primary"
            why={missing}
            onPress={() => answer({ ...brief, title: brief.title.trim(), locationId: location.value, materialTypeId: materialType.value, loanTypeId: loanType.value })}
          >
            {t('fastAdd.submit')}
          </ActionButton>
        </>
      }
    >
      <p>{t('fastAdd.text', { barcode })}</p>
      {servicePoint && <p className="hint">{servicePoint.name}</p>}
      <Field label={t('column.title')} {...text('title')} autoFocus isRequired />
      <Field label={t('fastAdd.contributor')} {...text('contributor')} />
      <Field label={t('fastAdd.isbn')} {...text('isbn')} takesScans />
      <Field label={t('column.callNumber')} {...text('callNumber')} />
      <Choice label={t('column.location')} {...location} />
      <Choice label={t('items.materialType')} {...materialType} />
      <Choice label={t('items.loanType')} {...loanType} />
    </Prompt>
  );
}
