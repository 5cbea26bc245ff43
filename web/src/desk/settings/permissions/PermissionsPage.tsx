/* Permissions of staff: permission sets, and their users. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { User } from '../../../api/schema.ts';
import { to } from '../../../layout/route.ts';
import { ActionButton, Choice, Field, Loading, Message, Tick } from '../../../parts/controls.tsx';
import { FailureMessage, Listing } from '../../../parts/listing.tsx';
import { Prompt } from '../../../parts/Prompt.tsx';
import { useSession } from '../../../session/session.tsx';
import { t, tn } from '../../../text/messages.ts';
import { nameOfUser } from '../../people.ts';
import { FindUser } from '../../users/FindUser.tsx';
import { deleteSet, findHolders, findPermissions, grant, nameOf, type Permission, revoke, saveSet } from './permission-api.ts';

const KEY = ['permissions'];
/** Permissions in the list, at most; the search finds the others. */
const SHOWN = 100;

export function PermissionsPage() {
  const query = useQuery({ queryKey: KEY, queryFn: findPermissions });
  if (query.error) return <FailureMessage error={query.error} />;
  if (!query.data) return <Loading />;
  return (
    <>
      <Sets permissions={query.data} />
      <Staff permissions={query.data} />
    </>
  );
}

const BLANK = { displayName: '', description: '', mutable: true, subPermissions: [] };

function Sets({ permissions }: { permissions: Permission[] }) {
  const { may } = useSession();
  const [edited, setEdited] = useState<Partial<Permission> & typeof BLANK>();
  const sets = permissions.filter((one) => one.mutable);
  return (
    <section className="card" aria-labelledby="sets-title">
      <header>
        <h2 id="sets-title">{t('permissions.sets')}</h2>
        <ActionButton variant="primary" why={may('perms.permissions.item.post') ? undefined : t('why.noPermission')} onPress={() => setEdited(BLANK)}>
          {t('records.new')}
        </ActionButton>
      </header>
      <Listing
        label={t('permissions.sets')}
        rows={sets}
        isLoading={false}
        error={undefined}
        empty={t('permissions.noSets')}
        rowKey={(set) => set.id}
        columns={[
          {
            title: t('column.name'),
            cell: (set) => (
              <ActionButton variant="quiet" onPress={() => setEdited({ ...BLANK, ...set } as Partial<Permission> & typeof BLANK)}>
                {nameOf(set)}
              </ActionButton>
            ),
          },
          { title: t('field.description'), cell: (set) => set.description },
          { title: t('permissions.number'), className: 'number', cell: (set) => set.subPermissions.length },
        ]}
      />
      {edited && <SetEditor set={edited as Partial<Permission>} permissions={permissions} close={() => setEdited(undefined)} />}
    </section>
  );
}

function SetEditor({ set, permissions, close }: { set: Partial<Permission>; permissions: Permission[]; close: () => void }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const [name, setName] = useState(set.displayName ?? '');
  const [description, setDescription] = useState(set.description ?? '');
  const [chosen, setChosen] = useState<string[]>(set.subPermissions ?? []);
  const [text, setText] = useState('');
  const [error, setError] = useState<unknown>();
  const wanted = text.trim().toLowerCase();
  const found = permissions.filter((one) => one.id !== set.id && (wanted === '' ? chosen.includes(one.permissionName) : `${one.permissionName} ${one.displayName ?? ''}`.toLowerCase().includes(wanted)));
  const permission = set.id === undefined ? 'perms.permissions.item.post' : 'perms.permissions.item.put';
  const why = !may(permission) ? t('why.noPermission') : name.trim() === '' ? t('records.missing', { field: t('field.name') }) : undefined;

  async function attempt(act: () => Promise<unknown>) {
    try {
      await act();
      await queries.invalidateQueries({ queryKey: KEY });
      close();
    } catch (failure) {
      setError(failure);
    }
  }

  return (
    <Prompt
      wide
      title={set.id === undefined ? t('permissions.newSet') : (set.displayName ?? set.permissionName ?? '')}
      onCancel={close}
      actions={
        <>
          {set.id !== undefined && (
            <ActionButton variant="danger" why={may('perms.permissions.item.delete') ? undefined : t('why.noPermission')} onPress={() => void attempt(() => deleteSet(set.id ?? ''))}>
              {t('delete')}
            </ActionButton>
          )}
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={why} onPress={() => void attempt(() => saveSet({ ...set, displayName: name.trim(), description, mutable: true, subPermissions: chosen }))}>
            {t('save')}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      <Field label={t('field.name')} value={name} onChange={setName} autoFocus isRequired />
      <Field label={t('field.description')} value={description} onChange={setDescription} rows={2} />
      <Field type="search" label={t('permissions.find')} value={text} onChange={setText} hint={tn('permissions.chosen', chosen.length)} />
      <fieldset className="ticks">
        <legend>{wanted === '' ? t('permissions.inSet') : tn('rows.found', found.length)}</legend>
        {found.slice(0, SHOWN).map((one) => (
          <Tick
            key={one.id}
            isSelected={chosen.includes(one.permissionName)}
            onChange={(on) => setChosen(on ? [...chosen, one.permissionName] : chosen.filter((other) => other !== one.permissionName))}
          >
            {nameOf(one)}
            {one.displayName && one.displayName !== one.permissionName && <span className="hint"> {one.permissionName}</span>}
          </Tick>
        ))}
        {found.length > SHOWN && <p className="hint">{t('permissions.more', { shown: SHOWN })}</p>}
      </fieldset>
    </Prompt>
  );
}

function Staff({ permissions }: { permissions: Permission[] }) {
  const { may } = useSession();
  const query = useQuery({ queryKey: [...KEY, 'staff'], queryFn: findHolders });
  const [finding, setFinding] = useState(false);
  const [shown, setShown] = useState<User>();
  const names = new Map(permissions.map((one) => [one.permissionName, nameOf(one)]));
  return (
    <section className="card" aria-labelledby="staff-title">
      <header>
        <h2 id="staff-title">{t('permissions.staff')}</h2>
        <ActionButton variant="primary" why={may('perms.users.item.post') ? undefined : t('why.noPermission')} onPress={() => setFinding(true)}>
          {t('permissions.addStaff')}
        </ActionButton>
      </header>
      <Listing
        label={t('permissions.staff')}
        rows={query.data}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('search.nothing')}
        rowKey={(holder) => holder.user.id ?? ''}
        columns={[
          {
            title: t('column.name'),
            cell: ({ user }) => (
              <ActionButton variant="quiet" onPress={() => setShown(user)}>
                {nameOfUser(user)}
              </ActionButton>
            ),
          },
          { title: t('login.username'), cell: ({ user }) => user.username },
          { title: t('permissions.sets'), cell: ({ permissions: held }) => held.map((one) => names.get(one) ?? one).join(', ') },
        ]}
      />
      {finding && (
        <FindUser
          close={() => setFinding(false)}
          choose={(user) => {
            setFinding(false);
            setShown(user);
          }}
        />
      )}
      {shown && <StaffEditor user={shown} held={query.data?.find((one) => one.user.id === shown.id)?.permissions ?? []} permissions={permissions} close={() => setShown(undefined)} />}
    </section>
  );
}

function StaffEditor({ user, held, permissions, close }: { user: User; held: string[]; permissions: Permission[]; close: () => void }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const [chosen, setChosen] = useState('');
  const [error, setError] = useState<unknown>();
  const id = user.id ?? '';
  const sets = permissions.filter((one) => one.mutable && !held.includes(one.permissionName));
  const wanted = chosen || (sets[0]?.permissionName ?? '');

  async function attempt(act: () => Promise<unknown>) {
    setError(undefined);
    try {
      await act();
      setChosen('');
    } catch (failure) {
      setError(failure);
    }
    await queries.invalidateQueries({ queryKey: KEY });
  }

  const mayGrant = may('perms.users.item.post') ? undefined : t('why.noPermission');
  return (
    <Prompt
      wide
      title={t('permissions.of', { name: nameOfUser(user) })}
      onCancel={close}
      actions={
        <ActionButton variant="primary" autoFocus onPress={close}>
          {t('close')}
        </ActionButton>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      <p>
        <a href={to('users', id)}>{t('permissions.toUser')}</a>
      </p>
      {held.length === 0 && <Message kind="information" quiet>{t('permissions.none')}</Message>}
      <ul className="notes">
        {held.map((name) => {
          const permission = permissions.find((one) => one.permissionName === name);
          return (
            <li key={name}>
              <strong>{permission ? nameOf(permission) : name}</strong>
              {permission && permission.subPermissions.length > 0 && <span className="hint">{tn('permissions.contains', permission.subPermissions.length)}</span>}
              <ActionButton
                variant="danger"
                aria-label={t('permissions.revokeOf', { name: permission ? nameOf(permission) : name })}
                why={may('perms.users.item.delete') ? undefined : t('why.noPermission')}
                onPress={() => void attempt(() => revoke(id, name))}
              >
                {t('records.remove')}
              </ActionButton>
            </li>
          );
        })}
      </ul>
      {sets.length > 0 ? (
        <div className="filters">
          <Choice label={t('permissions.set')} value={wanted} onChange={setChosen} options={sets.map((one) => ({ value: one.permissionName, label: nameOf(one) }))} />
          <ActionButton why={mayGrant} onPress={() => void attempt(() => grant(id, wanted))}>
            {t('permissions.grant')}
          </ActionButton>
        </div>
      ) : (
        <p className="hint">{t('permissions.noSetsLeft')}</p>
      )}
    </Prompt>
  );
}
