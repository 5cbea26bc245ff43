import { lazy } from 'react';
import { to, useRoute } from '../../layout/route.ts';
import { Message } from '../../parts/controls.tsx';
import { Tabs } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { t } from '../../text/messages.ts';

const CirculationToday = lazy(() => import('./CirculationToday.tsx').then((module) => ({ default: module.CirculationToday })));
const Operators = lazy(() => import('./Operators.tsx').then((module) => ({ default: module.Operators })));

export function DashboardsPage() {
  const { may } = useSession();
  const [wanted] = useRoute().rest;
  const tabs = [
    { name: 'circulation', mayUse: may('circulation.loans.collection.get') && may('circulation.requests.collection.get') },
    { name: 'operators', mayUse: may('carrel.admin.read') },
  ] as const;
  const open = tabs.filter((tab) => tab.mayUse);
  const current = open.find((tab) => tab.name === wanted) ?? open[0];
  return (
    <div className="page">
      <header>
        <h1>{t('page.dashboards')}</h1>
      </header>
      {open.length > 1 && <Tabs label={t('page.dashboards')} current={current?.name ?? ''} tabs={open.map(({ name }) => ({ name, href: to('dashboards', name), label: t(`dashboard.tab.${name}`) }))} />}
      {current?.name === 'circulation' && <CirculationToday />}
      {current?.name === 'operators' && <Operators />}
      {!current && <Message kind="warning">{t('why.noPermission')}</Message>}
    </div>
  );
}
