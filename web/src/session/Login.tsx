import { type FormEvent, useState } from 'react';
import { linesOf } from '../api/failure.ts';
import { ActionButton, Field, Message } from '../parts/controls.tsx';
import { t } from '../text/messages.ts';
import { deviceSettings } from './device.ts';
import type { Credentials } from './session.tsx';

interface Props {
  logIn: (who: Credentials) => Promise<void>;
  /** The user whose session has expired; they log in again without losing the page. */
  username?: string | undefined;
}

export function LoginForm({ logIn, username }: Props) {
  const [error, setError] = useState<string[]>();
  const [busy, setBusy] = useState(false);
  const tenant = new URLSearchParams(location.search).get('tenant') ?? deviceSettings().tenant;

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? '').trim();
    setBusy(true);
    setError(undefined);
    try {
      await logIn({ tenant: text('tenant'), username: text('username'), password: String(form.get('password') ?? '') });
    } catch (failure) {
      setError(linesOf(failure));
    } finally {
      setBusy(false);
    }
  }

  return (
    <form className="login-form" onSubmit={(event) => void submit(event)}>
      {error && <Message kind="error">{error.join(' ')}</Message>}
      <Field label={t('login.tenant')} name="tenant" defaultValue={tenant} isRequired autoFocus={tenant === ''} autoComplete="organization" />
      <Field label={t('login.username')} name="username" defaultValue={username ?? ''} isRequired autoFocus={tenant !== '' && !username} autoComplete="username" />
      <Field label={t('login.password')} name="password" type="password" isRequired autoFocus={username !== undefined} autoComplete="current-password" />
      <ActionButton type="submit" variant="primary" isDisabled={busy}>
        {busy ? t('login.busy') : t('login.submit')}
      </ActionButton>
    </form>
  );
}

export function LoginPage({ logIn }: Pick<Props, 'logIn'>) {
  return (
    <main className="login">
      <section className="login-card" aria-labelledby="login-title">
        <p className="login-brand">Carrel</p>
        <h1 id="login-title">{t('login.title')}</h1>
        <LoginForm logIn={logIn} />
      </section>
    </main>
  );
}
