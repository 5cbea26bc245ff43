/* A user's login and service points. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { get, post, put, withQuery } from '../../api/client.ts';
import type { User } from '../../api/schema.ts';
import { ActionButton, Choice, Field, Loading, Message, Tick } from '../../parts/controls.tsx';
import { Facts, FailureMessage } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useSession } from '../../session/session.tsx';
import { t } from '../../text/messages.ts';
import { useServicePoints } from '../references.ts';

export function UserLogin({ user }: { user: User }) {
  return (
    <div className="columns">
      <Password user={user} />
      <WorkPlaces userId={user.id ?? ''} />
    </div>
  );
}

/** Lifetime of a password reset action, which is used by the next call. */
const ACTION_MS = 60_000;

async function setPassword(userId: string, newPassword: string): Promise<void> {
  const id = crypto.randomUUID();
  await post('/authn/password-reset-action', { id, userId, expirationTime: new Date(Date.now() + ACTION_MS).toISOString() });
  await post('/authn/reset-password', { passwordResetActionId: id, newPassword });
}

function Password({ user }: { user: User }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const userId = user.id ?? '';
  const known = useQuery({
    queryKey: ['credentials', userId],
    enabled: may('login.credentials-existence.get'),
    queryFn: () => get<{ credentialsExist: boolean }>(withQuery('/authn/credentials-existence', { userId })),
  });
  const [setting, setSetting] = useState(false);
  const [result, setResult] = useState<string>();
  const [link, setLink] = useState<string>();
  const [error, setError] = useState<unknown>();
  const nameless = user.username ? undefined : t('login.needsUsername');
  const mayReset = may('login.password-reset-action.post') && may('login.password-reset.post');
  return (
    <section aria-labelledby="user-login" className="part">
      <h2 id="user-login">{t('users.login')}</h2>
      <Facts
        facts={[
          [t('column.username'), user.username],
          [t('login.password'), known.data && t(known.data.credentialsExist ? 'login.isSet' : 'login.isNotSet')],
        ]}
      />
      {result && <Message kind="success">{result}</Message>}
      {error !== undefined && <FailureMessage error={error} />}
      <div className="toolbar-actions">
        <ActionButton why={nameless ?? (mayReset ? undefined : t('why.noPermission'))} onPress={() => setSetting(true)}>
          {t('login.setPassword')}
        </ActionButton>
        <ActionButton
          why={nameless ?? (may('users-bl.password-reset-link.generate') ? undefined : t('why.noPermission'))}
          onPress={() => {
            setError(undefined);
            post<{ link: string }>('/bl-users/password-reset/link', { userId }).then((answer) => setLink(answer.link), setError);
          }}
        >
          {t('login.resetLink')}
        </ActionButton>
      </div>
      {link && (
        <>
          <Field label={t('login.link')} value={link} hint={t('login.linkHint')} />
          <div>
            <ActionButton onPress={() => void navigator.clipboard.writeText(link).then(() => setResult(t('login.linkCopied')), setError)}>{t('login.copyLink')}</ActionButton>
          </div>
        </>
      )}
      {setting && (
        <SetPassword
          userId={userId}
          close={() => setSetting(false)}
          done={() => {
            setSetting(false);
            setResult(t('login.passwordSet'));
            void queries.invalidateQueries({ queryKey: ['credentials', userId] });
          }}
        />
      )}
    </section>
  );
}

function SetPassword({ userId, close, done }: { userId: string; close: () => void; done: () => void }) {
  const [password, setPasswordText] = useState('');
  const [again, setAgain] = useState('');
  const [error, setError] = useState<unknown>();
  const missing = password === '' ? t('login.needsPassword') : password !== again ? t('login.differs') : undefined;
  return (
    <Prompt
      title={t('login.setPassword')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={missing} onPress={() => void setPassword(userId, password).then(done, setError)}>
            {t('save')}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      <p>{t('login.setPasswordText')}</p>
      <Field type="password" label={t('login.newPassword')} value={password} onChange={setPasswordText} isRequired autoFocus autoComplete="new-password" />
      <Field type="password" label={t('login.repeatPassword')} value={again} onChange={setAgain} isRequired autoComplete="new-password" />
    </Prompt>
  );
}

interface ServicePointsUser {
  id?: string;
  userId: string;
  servicePointsIds?: string[];
  defaultServicePointId?: string | null;
}

function WorkPlaces({ userId }: { userId: string }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const points = useServicePoints();
  const query = useQuery({
    queryKey: ['service-points-of', userId],
    queryFn: async (): Promise<ServicePointsUser> => {
      const path = withQuery('/service-points-users', { query: `userId==${userId}`, limit: 1 });
      return (await get<{ servicePointsUsers: ServicePointsUser[] }>(path)).servicePointsUsers[0] ?? { userId };
    },
  });
  const [edited, setEdited] = useState<ServicePointsUser>();
  const [error, setError] = useState<unknown>();
  const [saved, setSaved] = useState(false);
  if (query.error) return <FailureMessage error={query.error} />;
  if (!query.data) return <Loading />;
  const current = edited ?? query.data;
  const chosen = current.servicePointsIds ?? [];
  const standard = current.defaultServicePointId ?? '';
  const isNew = current.id === undefined;
  const why = !edited ? t('rules.unchanged') : may(`inventory-storage.service-points-users.item.${isNew ? 'post' : 'put'}`) ? undefined : t('why.noPermission');

  function choose(id: string, on: boolean) {
    const ids = [...points.keys()].filter((one) => (one === id ? on : chosen.includes(one)));
    setSaved(false);
    setEdited({ ...current, servicePointsIds: ids, defaultServicePointId: ids.includes(standard) ? standard : (ids[0] ?? null) });
  }
  function save() {
    setError(undefined);
    const { defaultServicePointId, ...rest } = current;
    const body = defaultServicePointId ? current : rest;
    const sent = isNew ? post('/service-points-users', { ...body, id: crypto.randomUUID() }) : put(`/service-points-users/${current.id}`, body);
    sent
      .then(() => queries.invalidateQueries({ queryKey: ['service-points-of', userId] }))
      .then(() => {
        setEdited(undefined);
        setSaved(true);
      }, setError);
  }

  return (
    <section aria-labelledby="user-points" className="part">
      <h2 id="user-points">{t('users.servicePoints')}</h2>
      {error !== undefined && <FailureMessage error={error} />}
      {saved && <Message kind="success">{t('users.servicePointsSaved')}</Message>}
      <fieldset className="tick-list">
        <legend className="visually-hidden">{t('users.servicePoints')}</legend>
        {[...points].map(([id, name]) => (
          <Tick key={id} isSelected={chosen.includes(id)} onChange={(on) => choose(id, on)}>
            {name}
          </Tick>
        ))}
      </fieldset>
      {chosen.length > 0 && (
        <Choice
          label={t('users.defaultServicePoint')}
          value={standard}
          onChange={(id) => {
            setSaved(false);
            setEdited({ ...current, defaultServicePointId: id === '' ? null : id });
          }}
          options={[{ value: '', label: '–' }, ...chosen.map((id) => ({ value: id, label: points.get(id) ?? id }))]}
        />
      )}
      <div>
        <ActionButton variant="primary" why={why} onPress={save}>
          {t('users.saveServicePoints')}
        </ActionButton>
      </div>
    </section>
  );
}
