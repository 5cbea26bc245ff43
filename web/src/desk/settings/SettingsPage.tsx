import { type ComponentType, lazy } from 'react';
import { go, to, useRoute } from '../../layout/route.ts';
import { Choice } from '../../parts/controls.tsx';
import { type MessageKey, t } from '../../text/messages.ts';
import { KINDS_OF_RECORDS } from './records/kinds.ts';
import { RecordsPage } from './records/RecordsPage.tsx';

const part = <N extends string>(load: () => Promise<Record<N, ComponentType>>, name: N) => lazy(() => load().then((module) => ({ default: module[name] })));

/** Pages that are more than a list of records. */
const OWN: Record<string, ComponentType> = {
  general: part(() => import('./GeneralSettings.tsx'), 'GeneralSettings'),
  rules: part(() => import('./RulesPage.tsx'), 'RulesPage'),
  slips: part(() => import('./SlipTemplates.tsx'), 'SlipTemplates'),
  'block-limits': part(() => import('./BlockLimits.tsx'), 'BlockLimits'),
  calendar: part(() => import('./calendar/CalendarPage.tsx'), 'CalendarPage'),
  permissions: part(() => import('./permissions/PermissionsPage.tsx'), 'PermissionsPage'),
};

/** The pages in groups, in the order in which they are set up. */
const GROUPS: { title: MessageKey; pages: readonly string[] }[] = [
  { title: 'settings.loans', pages: ['general', 'rules', 'loan-policies', 'due-date-schedules', 'overdue-fine-policies', 'lost-item-fee-policies'] },
  { title: 'settings.requests', pages: ['request-policies', 'cancellation-reasons'] },
  { title: 'settings.notices', pages: ['notice-policies', 'notice-templates', 'slips'] },
  { title: 'settings.fees', pages: ['owners', 'fee-fine-types', 'payment-methods', 'waive-reasons', 'refund-reasons', 'transfer-accounts'] },
  { title: 'settings.patrons', pages: ['patron-groups', 'block-conditions', 'block-limits', 'permissions'] },
  { title: 'settings.places', pages: ['service-points', 'calendar', 'calendars', 'institutions', 'campuses', 'libraries', 'locations'] },
];

function titleOf(page: string): string {
  const kind = KINDS_OF_RECORDS.find((one) => one.name === page);
  return t(kind?.title ?? (`settings.${page}` as MessageKey));
}

export function SettingsPage() {
  const [wanted] = useRoute().rest;
  const pages = GROUPS.flatMap((group) => group.pages);
  const current = pages.find((one) => one === wanted) ?? 'rules';
  const kind = KINDS_OF_RECORDS.find((one) => one.name === current);
  const Content = OWN[current];
  return (
    <div className="page settings">
      <header>
        <h1>{t('page.settings')}</h1>
      </header>
      <div className="settings-layout">
        <div className="settings-choice">
          <Choice
            label={t('settings.page')}
            value={current}
            onChange={(page) => go('settings', page)}
            options={pages.map((page) => ({ value: page, label: titleOf(page) })).sort((one, other) => one.label.localeCompare(other.label))}
          />
        </div>
        <nav className="settings-nav" aria-label={t('page.settings')}>
          {GROUPS.map((group) => (
            <section key={group.title} aria-label={t(group.title)}>
              <h2>{t(group.title)}</h2>
              <ul>
                {group.pages.map((page) => (
                  <li key={page}>
                    <a href={to('settings', page)} aria-current={page === current ? 'page' : undefined}>
                      {titleOf(page)}
                    </a>
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </nav>
        <div className="settings-content">
          {kind && <RecordsPage key={kind.name} kind={kind} />}
          {Content && <Content />}
        </div>
      </div>
    </div>
  );
}
