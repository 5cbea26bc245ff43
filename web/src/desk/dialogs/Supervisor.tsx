import { Field } from '../../parts/controls.tsx';
import { t } from '../../text/messages.ts';

export interface SupervisorLogin {
  username: string;
  password: string;
}

interface Props {
  login: SupervisorLogin;
  onChange: (login: SupervisorLogin) => void;
  /** What whoever works here lacks. */
  permissions: string[];
}

/** Somebody with the permission signs in for one override; whoever works at the desk stays logged in. */
export function Supervisor({ login, onChange, permissions }: Props) {
  return (
    <fieldset>
      <legend>{t('override.supervisor')}</legend>
      <p className="hint">{t('override.supervisorText', { permissions: permissions.join(', ') })}</p>
      <Field label={t('login.username')} value={login.username} onChange={(username) => onChange({ ...login, username })} />
      <Field label={t('login.password')} type="password" value={login.password} onChange={(password) => onChange({ ...login, password })} />
    </fieldset>
  );
}
