import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import type { User } from '../../api/schema.ts';
import { ActionButton, Field } from '../../parts/controls.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { t, tn } from '../../text/messages.ts';
import { nameOfUser } from '../people.ts';
import { useReferences } from '../references.ts';
import { searchUsers } from './user-query.ts';

const SHOWN = 30;

/** Finds a user by name; Tab moves to the first result. */
export function FindUser({ close, choose }: { close: () => void; choose: (user: User) => void }) {
  const [text, setText] = useState('');
  const wanted = useDeferredValue(text.trim());
  const { groups } = useReferences();
  const query = useQuery({
    queryKey: ['find-user', wanted],
    enabled: wanted.length > 1,
    queryFn: ({ signal }) => searchUsers(wanted, 'all', SHOWN, 0, signal),
    placeholderData: (previous) => previous,
  });
  const users = wanted.length > 1 ? (query.data?.users ?? []) : [];
  return (
    <Prompt wide title={t('findUser.title')} onCancel={close} actions={<ActionButton onPress={close}>{t('cancel')}</ActionButton>}>
      <Field type="search" label={t('findUser.label')} value={text} onChange={setText} autoFocus />
      {wanted.length > 1 && <p role="status">{query.isFetching || !query.data ? t('loading') : tn('rows.found', query.data.totalRecords)}</p>}
      {users.length > 0 && (
        <table className="rows">
          <thead>
            <tr>
              <th>{t('column.name')}</th>
              <th>{t('column.barcode')}</th>
              <th>{t('column.username')}</th>
              <th>{t('patron.group')}</th>
            </tr>
          </thead>
          <tbody>
            {users.map((user) => (
              <tr key={user.id}>
                <td>
                  <ActionButton variant="quiet" onPress={() => choose(user)}>
                    {nameOfUser(user)}
                  </ActionButton>
                </td>
                <td className="digits">{user.barcode}</td>
                <td>{user.username}</td>
                <td>{groups.get(user.patronGroup ?? '')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Prompt>
  );
}
