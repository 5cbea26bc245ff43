import { useState } from 'react';
import { Prompt } from '../../parts/Prompt.tsx';
import { ActionButton } from '../../parts/controls.tsx';
import { Listing } from '../../parts/listing.tsx';
import { t } from '../../text/messages.ts';
import { KINDS, type Policy, type PolicyKind, usePolicies } from './policy-api.ts';

/** All policies by kind, with everything that each says. */
export function PoliciesPage() {
  return (
    <div className="columns">
      {KINDS.map((kind) => (
        <Policies key={kind} kind={kind} />
      ))}
    </div>
  );
}

function Policies({ kind }: { kind: PolicyKind }) {
  const query = usePolicies(kind);
  const [shown, setShown] = useState<Policy>();
  return (
    <section className="card" aria-labelledby={`policies-${kind}`}>
      <h2 id={`policies-${kind}`}>{t(`policy.${kind}`)}</h2>
      <Listing
        label={t(`policy.${kind}`)}
        rows={query.data}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('search.nothing')}
        rowKey={(policy) => policy.id}
        columns={[
          {
            title: t('column.name'),
            cell: (policy) => (
              <ActionButton variant="quiet" onPress={() => setShown(policy)}>
                {policy.name}
              </ActionButton>
            ),
          },
          { title: t('policy.description'), cell: (policy) => policy.description },
        ]}
      />
      {shown && (
        <Prompt
          title={shown.name}
          onCancel={() => setShown(undefined)}
          actions={
            <ActionButton variant="primary" autoFocus onPress={() => setShown(undefined)}>
              {t('close')}
            </ActionButton>
          }
        >
          <Values value={shown} />
        </Prompt>
      )}
    </section>
  );
}

const HIDDEN = new Set(['id', 'metadata', 'name', '_version']);

/** A record's fields, those of objects within it below each other. */
function Values({ value }: { value: Record<string, unknown> }) {
  return (
    <dl className="facts">
      {Object.entries(value)
        .filter(([name, one]) => !HIDDEN.has(name) && one !== null && one !== '')
        .map(([name, one]) => (
          <div key={name}>
            <dt>{words(name)}</dt>
            <dd>{shownValue(one)}</dd>
          </div>
        ))}
    </dl>
  );
}

function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(shownValue).join('; ');
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no');
  if (value !== null && typeof value === 'object') {
    const period = value as { duration?: number; intervalId?: string };
    if (period.duration !== undefined && period.intervalId !== undefined) return `${period.duration} ${period.intervalId}`;
    return Object.entries(value)
      .map(([name, one]) => `${words(name)}: ${shownValue(one)}`)
      .join(', ');
  }
  return String(value);
}

/** `closedLibraryDueDateManagementId` → `closed library due date management id`. */
function words(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`);
}
