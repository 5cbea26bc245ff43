/* Creating and changing an account. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { get, post, put } from '../../api/client.ts';
import type { User } from '../../api/schema.ts';
import { useHotkeys } from '../../layout/hotkeys.ts';
import { go, to } from '../../layout/route.ts';
import { ActionButton, Choice, Field, Loading, Message, Tick } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { formatDate, fromWallTime, toWallTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { nameOfUser } from '../people.ts';
import { useAddressTypes, useReferences, useUserGroups } from '../references.ts';
import { Addresses } from './Addresses.tsx';
import { useCustomFields } from './custom-fields.ts';
import { CustomFieldInputs } from './CustomFieldInputs.tsx';
import { cleaned, CONTACT_TYPES, expiryOfGroup, newUser, problemOfDraft, USER_TYPES, withAddresses, withPersonal } from './user-draft.ts';

export function NewUser() {
  const [user] = useState(newUser);
  return <UserForm stored={user} isNew />;
}

export function EditUser({ id }: { id: string }) {
  const query = useQuery({ queryKey: ['user', id, 'edit'], queryFn: () => readUser(id), gcTime: 0, staleTime: Infinity });
  if (query.error) return <div className="page"><h1>{t('page.users')}</h1><FailureMessage error={query.error} /></div>;
  return query.data ? <UserForm stored={query.data} isNew={false} /> : <Loading />;
}

const readUser = (id: string) => get<User>(`/users/${encodeURIComponent(id)}`);
const changedAt = (user: User) => user.metadata?.['updatedDate'];

/** The last second of a day in the tenant's time zone. */
const endOfDay = (day: string) => fromWallTime(`${day}T23:59:59`).toISOString();

function UserForm({ stored, isNew }: { stored: User; isNew: boolean }) {
  const queries = useQueryClient();
  const { departments } = useReferences();
  const groups = useUserGroups();
  const addressTypes = useAddressTypes();
  const fields = useCustomFields();
  const [user, setUser] = useState(stored);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const personal = user.personal ?? { lastName: '' };
  const group = groups.find((one) => one.id === user.patronGroup);
  const suggested = expiryOfGroup(group?.expirationOffsetInDays);
  const problem = problemOfDraft(user);
  const change = (part: Partial<User>) => setUser((all) => ({ ...all, ...part }));
  const changePersonal = (part: Partial<NonNullable<User['personal']>>) => setUser((all) => withPersonal(all, part));
  const id = user.id ?? '';
  const back = isNew ? to('users') : to('users', id);

  async function save() {
    setBusy(true);
    setError(undefined);
    try {
      if (isNew) await post('/users', cleaned(user));
      else {
        // User records have no version, so read the record again: changes by others must not be overwritten unnoticed.
        const now = await readUser(id);
        if (changedAt(now) !== changedAt(stored)) throw new Error(t('userForm.changedMeanwhile'));
        await put(`/users/${id}`, cleaned(user));
      }
      await queries.invalidateQueries({ queryKey: ['user', id] });
      await queries.invalidateQueries({ queryKey: ['users'] });
      go('users', id);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  }

  useHotkeys({ save: () => !problem && !busy && void save() });
  const text = (label: string, value: string | undefined, onChange: (value: string) => void, required = false, autoFocus = false) => (
    <Field label={label} value={value ?? ''} onChange={onChange} isRequired={required} autoFocus={autoFocus} />
  );
  return (
    <form
      className="page"
      onSubmit={(event) => {
        event.preventDefault();
        if (!problem && !busy) void save();
      }}
    >
      <header>
        <div>
          <a href={back}>{isNew ? t('page.users') : nameOfUser(stored)}</a>
          <h1>{t(isNew ? 'userForm.new' : 'userForm.edit')}</h1>
        </div>
        <div className="toolbar-actions">
          <a className="button" href={back}>
            {t('cancel')}
          </a>
          <ActionButton type="submit" variant="primary" why={problem && t(problem)} isDisabled={busy}>
            {t('save')}
          </ActionButton>
        </div>
      </header>
      {error !== undefined && <FailureMessage error={error} />}
      <section className="card" aria-labelledby="user-name">
        <h2 id="user-name">{t('userForm.name')}</h2>
        <div className="form-grid">
          {text(t('userForm.lastName'), personal.lastName, (lastName) => changePersonal({ lastName }), true, true)}
          {text(t('userForm.firstName'), personal.firstName, (firstName) => changePersonal({ firstName }))}
          {text(t('userForm.middleName'), personal.middleName, (middleName) => changePersonal({ middleName }))}
          {text(t('userForm.preferredFirstName'), personal.preferredFirstName, (preferredFirstName) => changePersonal({ preferredFirstName }))}
          {text(t('userForm.pronouns'), personal.pronouns, (pronouns) => changePersonal({ pronouns }))}
          <Field type="date" label={t('userForm.birth')} value={personal.dateOfBirth?.slice(0, 10) ?? ''} onChange={(day) => changePersonal({ dateOfBirth: day && `${day}T00:00:00.000+00:00` })} />
        </div>
      </section>
      <section className="card" aria-labelledby="user-account">
        <h2 id="user-account">{t('users.account')}</h2>
        <div className="form-grid">
          {text(t('column.barcode'), user.barcode, (barcode) => change({ barcode }))}
          {text(t('column.username'), user.username, (username) => change({ username }))}
          {text(t('userForm.externalId'), user.externalSystemId, (externalSystemId) => change({ externalSystemId }))}
          <Choice
            label={t('patron.group')}
            value={user.patronGroup ?? ''}
            onChange={(patronGroup) => {
              const until = expiryOfGroup(groups.find((one) => one.id === patronGroup)?.expirationOffsetInDays);
              change({ patronGroup, ...(isNew && until ? { expirationDate: endOfDay(toWallTime(until).slice(0, 10)) } : {}) });
            }}
            options={[{ value: '', label: '–' }, ...groups.map((one) => ({ value: one.id ?? '', label: one.group }))]}
          />
          <Choice
            label={t('userForm.type')}
            value={user.type ?? 'patron'}
            onChange={(type) => change({ type })}
            options={[...new Set([...USER_TYPES, user.type ?? 'patron'])].map((value) => ({ value, label: value === 'patron' || value === 'staff' ? t(`userForm.type.${value}`) : value }))}
          />
          <Field
            type="date"
            label={t('patron.expires')}
            value={user.expirationDate ? toWallTime(new Date(user.expirationDate)).slice(0, 10) : ''}
            onChange={(day) => change({ expirationDate: day && endOfDay(day) })}
            hint={
              suggested && (
                <ActionButton variant="quiet" onPress={() => change({ expirationDate: endOfDay(toWallTime(suggested).slice(0, 10)) })}>
                  {t('userForm.expiryOfGroup', { date: formatDate(suggested) })}
                </ActionButton>
              )
            }
          />
        </div>
        <Tick isSelected={user.active !== false} onChange={(active) => change({ active })}>
          {t('userForm.active')}
        </Tick>
        {departments.size > 0 && (
          <fieldset className="tick-list">
            <legend className="label">{t('patron.departments')}</legend>
            {[...departments].map(([department, name]) => (
              <Tick
                key={department}
                isSelected={user.departments?.includes(department) ?? false}
                onChange={(on) => change({ departments: [...(user.departments ?? []).filter((one) => one !== department), ...(on ? [department] : [])] })}
              >
                {name}
              </Tick>
            ))}
          </fieldset>
        )}
      </section>
      <section className="card" aria-labelledby="user-contact">
        <h2 id="user-contact">{t('users.contact')}</h2>
        <div className="form-grid">
          {text(t('users.email'), personal.email, (email) => changePersonal({ email }), personal.preferredContactTypeId === '002')}
          {text(t('users.phone'), personal.phone, (phone) => changePersonal({ phone }))}
          {text(t('userForm.mobile'), personal.mobilePhone, (mobilePhone) => changePersonal({ mobilePhone }))}
          <Choice
            label={t('userForm.preferredContact')}
            value={personal.preferredContactTypeId ?? ''}
            onChange={(preferredContactTypeId) => changePersonal({ preferredContactTypeId })}
            options={[...(personal.preferredContactTypeId ? [] : [{ value: '', label: '–' }]), ...CONTACT_TYPES.map((value) => ({ value, label: t(`userForm.contact.${value}`) }))]}
          />
        </div>
        <Addresses addresses={personal.addresses ?? []} types={addressTypes} onChange={(addresses) => setUser((all) => withAddresses(all, addresses))} />
      </section>
      {fields.length > 0 && (
        <section className="card" aria-labelledby="user-custom">
          <h2 id="user-custom">{t('userForm.customFields')}</h2>
          <div className="form-grid">
            <CustomFieldInputs fields={fields} values={user.customFields ?? {}} onChange={(customFields) => change({ customFields })} />
          </div>
        </section>
      )}
      {isNew && (
        <Message kind="information" quiet>
          {t('userForm.later')}
        </Message>
      )}
    </form>
  );
}
