import { lazy } from 'react';
import { to, useRoute } from '../../layout/route.ts';
import { Tabs } from '../../parts/listing.tsx';
import { t } from '../../text/messages.ts';

const RulesPage = lazy(() => import('./RulesPage.tsx').then((module) => ({ default: module.RulesPage })));
const PoliciesPage = lazy(() => import('./PoliciesPage.tsx').then((module) => ({ default: module.PoliciesPage })));
const CalendarPage = lazy(() => import('./CalendarPage.tsx').then((module) => ({ default: module.CalendarPage })));
const SlipsPage = lazy(() => import('./SlipTemplates.tsx').then((module) => ({ default: module.SlipTemplates })));

const TABS = ['rules', 'policies', 'calendar', 'slips'] as const;

export function SettingsPage() {
  const [tab] = useRoute().rest;
  const current = TABS.find((one) => one === tab) ?? 'rules';
  return (
    <div className="page">
      <header>
        <h1>{t('page.settings')}</h1>
      </header>
      <Tabs label={t('page.settings')} current={current} tabs={TABS.map((name) => ({ name, href: to('settings', name), label: t(`settings.${name}`) }))} />
      {current === 'rules' && <RulesPage />}
      {current === 'policies' && <PoliciesPage />}
      {current === 'calendar' && <CalendarPage />}
      {current === 'slips' && <SlipsPage />}
    </div>
  );
}
