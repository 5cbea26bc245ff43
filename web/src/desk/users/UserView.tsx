/* An account with all its related records. */
import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client.ts';
import type { User } from '../../api/schema.ts';
import { useHotkeys } from '../../layout/hotkeys.ts';
import { go, to } from '../../layout/route.ts';
import { ActionButton, Loading, Message } from '../../parts/controls.tsx';
import { Facts, FailureMessage, Tabs } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDate } from '../../text/dates.ts';
import { t, type MessageKey } from '../../text/messages.ts';
import { problemOf } from '../check-out/check-out-session.ts';
import { notesOf } from '../circulation-api.ts';
import { useSessions } from '../DeskSessions.tsx';
import { nameOfUser } from '../people.ts';
import { useReferences } from '../references.ts';
import { UserFees } from '../fees/UserFees.tsx';
import { CONTACT_TYPES } from './user-draft.ts';
import { shownValue, useCustomFields } from './custom-fields.ts';
import { textOfNote } from './note-text.ts';
import { Photo } from './Photo.tsx';
import { UserBlocks } from './UserBlocks.tsx';
import { UserLoans } from './UserLoans.tsx';
import { UserLogin } from './UserLogin.tsx';
import { UserNotes } from './UserNotes.tsx';
import { UserProxies } from './UserProxies.tsx';
import { UserRequests } from './UserRequests.tsx';

const TABS = ['loans', 'closed', 'requests', 'fees', 'blocks', 'notes', 'proxies', 'login'] as const;

export function UserView({ id, tab, record }: { id: string; tab: string; record?: string | undefined }) {
  const query = useQuery({ queryKey: ['user', id], queryFn: () => get<User>(`/users/${encodeURIComponent(id)}`) });
  const notes = useQuery({ queryKey: ['notes-of', id], queryFn: () => notesOf(id) });
  const { groups, departments } = useReferences();
  const { checkOut } = useSessions();
  const { may } = useSession();
  const fields = useCustomFields();
  const user = query.data;
  useHotkeys(may('users.item.put') ? { edit: () => go('users', id, 'edit') } : {});
  const current = TABS.find((one) => one === tab) ?? 'loans';
  if (query.error) return <div className="page"><h1>{t('page.users')}</h1><FailureMessage error={query.error} /></div>;
  if (!user) return <Loading />;
  const problem = problemOf(user);
  const contact = user.personal?.preferredContactTypeId ?? '';
  return (
    <div className="page">
      <header>
        <div>
          <a href={to('users')}>{t('page.users')}</a>
          <h1>{nameOfUser(user)}</h1>
        </div>
        <div className="toolbar-actions">
          {may('users.item.put') && (
          <a className="button" href={to('users', id, 'edit')}>
            {t('users.edit')}
          </a>
        )}
        <ActionButton
          variant="primary"
          why={problem}
          onPress={() => {
            go('check-out');
            void checkOut.usePatron(user);
          }}
        >
          {t('users.checkOutTo')}
        </ActionButton>
        </div>
      </header>
      {problem && <Message kind="warning" quiet>{problem}</Message>}
      {notes.data?.filter((note) => note.popUpOnUser).map((note) => (
        <Message key={note.id} kind="warning" quiet>
          <strong>{note.title}</strong> <span className="note-text">{textOfNote(note.content)}</span>
        </Message>
      ))}
      <div className="columns">
        <section className="card" aria-label={t('users.account')}>
          <Photo user={user} />
          <Facts
            facts={[
              [t('column.barcode'), user.barcode],
              [t('column.username'), user.username],
              [t('patron.group'), groups.get(user.patronGroup ?? '')],
              [t('patron.departments'), user.departments?.map((one) => departments.get(one)).join(', ')],
              ...(user.personal?.pronouns ? [[t('users.pronouns'), user.personal.pronouns] satisfies [string, string]] : []),
              ...(user.externalSystemId ? [[t('users.externalId'), user.externalSystemId] satisfies [string, string]] : []),
            ]}
          />
        </section>
        <section className="card" aria-label={t('users.contact')}>
          <Facts
            facts={[
              [t('patron.expires'), user.expirationDate ? formatDate(user.expirationDate) : t('patron.never')],
              [t('users.email'), user.personal?.email],
              [t('users.phone'), user.personal?.phone ?? user.personal?.mobilePhone],
              [t('users.address'), user.personal?.addresses?.map((one) => [one.addressLine1, one.postalCode, one.city].filter(Boolean).join(', '))[0]],
              ...(CONTACT_TYPES as readonly string[]).includes(contact) ? [[t('users.preferredContact'), t(`userForm.contact.${contact as (typeof CONTACT_TYPES)[number]}`)] satisfies [string, string]] : [],
              ...fields.map((field): [string, string] => [field.name, shownValue(field, user.customFields?.[field.refId])]),
            ]}
          />
        </section>
      </div>
      <section className="card" aria-label={t(`users.tab.${current}` satisfies MessageKey)}>
        <Tabs label={nameOfUser(user)} current={current} tabs={TABS.map((name) => ({ name, href: to('users', id, name), label: t(`users.tab.${name}`) }))} />
        {current === 'loans' && <UserLoans userId={id} status="Open" />}
        {current === 'closed' && <UserLoans userId={id} status="Closed" />}
        {current === 'requests' && <UserRequests userId={id} />}
        {current === 'fees' && <UserFees userId={id} feeId={record} />}
        {current === 'blocks' && <UserBlocks userId={id} />}
        {current === 'notes' && <UserNotes userId={id} />}
        {current === 'proxies' && <UserProxies userId={id} />}
        {current === 'login' && <UserLogin user={user} />}
      </section>
    </div>
  );
}
