/* Checkout settings of all desks, stored in one record, and title-level requests. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { get, post, put } from '../../api/client.ts';
import { ActionButton, Loading, Message } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { type MessageKey, t } from '../../text/messages.ts';
import { Fields } from './records/Fields.tsx';
import { type Field, type Json, prepared } from './records/fields.ts';

interface Setting {
  id: string;
  name: string;
  value: Json;
}

const SECTIONS: { name: string; title: MessageKey; blank: Json; fields: readonly Field[] }[] = [
  {
    name: 'other_settings',
    title: 'general.desks',
    blank: { prefPatronIdentifier: 'barcode', audioAlertsEnabled: false, audioTheme: 'classic', checkoutTimeout: true, checkoutTimeoutDuration: 3, wildcardLookupEnabled: false },
    fields: [
      { kind: 'text', at: 'prefPatronIdentifier', label: 'general.identifiers', hint: 'general.identifiersHint' },
      { kind: 'yesNo', at: 'audioAlertsEnabled', label: 'general.sounds' },
      { kind: 'choice', at: 'audioTheme', label: 'general.theme', options: ['classic', 'modern', 'futuristic'], when: (value) => value['audioAlertsEnabled'] === true },
      { kind: 'yesNo', at: 'checkoutTimeout', label: 'general.timeout' },
      { kind: 'number', at: 'checkoutTimeoutDuration', label: 'general.minutes', whole: true, when: (value) => value['checkoutTimeout'] === true },
      { kind: 'yesNo', at: 'wildcardLookupEnabled', label: 'general.wildcard' },
    ],
  },
  {
    name: 'generalTlr',
    title: 'general.titleLevel',
    blank: { titleLevelRequestsFeatureEnabled: false, createTitleLevelRequestsByDefault: false, tlrHoldShouldFollowCirculationRules: false },
    fields: [
      { kind: 'yesNo', at: 'titleLevelRequestsFeatureEnabled', label: 'general.tlrOn' },
      { kind: 'yesNo', at: 'createTitleLevelRequestsByDefault', label: 'general.tlrDefault', when: (value) => value['titleLevelRequestsFeatureEnabled'] === true },
      { kind: 'yesNo', at: 'tlrHoldShouldFollowCirculationRules', label: 'general.tlrRules', when: (value) => value['titleLevelRequestsFeatureEnabled'] === true },
    ],
  },
  {
    name: 'printEventLogFeature',
    title: 'general.printLog',
    blank: { enablePrintLog: false },
    fields: [{ kind: 'yesNo', at: 'enablePrintLog', label: 'general.printLogOn' }],
  },
];

export function GeneralSettings() {
  const query = useQuery({ queryKey: ['records', 'circulation-settings'], queryFn: async () => (await get<{ circulationSettings: Setting[] }>('/circulation/settings?limit=100')).circulationSettings });
  if (query.error) return <FailureMessage error={query.error} />;
  if (!query.data) return <Loading />;
  return (
    <>
      {SECTIONS.map((section) => (
        <Section key={section.name} section={section} stored={query.data.find((one) => one.name === section.name)} />
      ))}
    </>
  );
}

function Section({ section, stored }: { section: (typeof SECTIONS)[number]; stored: Setting | undefined }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<Json>();
  const [error, setError] = useState<unknown>();
  const [saved, setSaved] = useState(false);
  const value = draft ?? stored?.value ?? section.blank;
  const why = !may(stored ? 'circulation.settings.item.put' : 'circulation.settings.item.post') ? t('why.noPermission') : draft === undefined ? t('rules.unchanged') : undefined;

  async function save() {
    setError(undefined);
    // Values that do not apply now are kept for when they apply again.
    const record = { id: stored?.id ?? crypto.randomUUID(), name: section.name, value: { ...value, ...prepared(value, section.fields) } };
    try {
      if (stored) await put(`/circulation/settings/${stored.id}`, record);
      else await post('/circulation/settings', record);
      await queries.invalidateQueries({ queryKey: ['records', 'circulation-settings'] });
      setDraft(undefined);
      setSaved(true);
    } catch (failure) {
      setError(failure);
    }
  }

  return (
    <section className="card" aria-label={t(section.title)}>
      <header>
        <h2>{t(section.title)}</h2>
        <ActionButton variant="primary" why={why} onPress={() => void save()}>
          {t('save')}
        </ActionButton>
      </header>
      {error !== undefined && <FailureMessage error={error} />}
      {saved && <Message kind="success">{t('general.saved')}</Message>}
      <Fields fields={section.fields} record={value} onChange={(changed) => { setSaved(false); setDraft(changed); }} />
    </section>
  );
}
