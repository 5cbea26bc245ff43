/* The current user, service point and permissions. */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { onLoggedOut, post, refresh, useTenant as tellTenant } from '../api/client.ts';
import { Failure, Unreachable } from '../api/failure.ts';
import type { ServicePoint } from '../api/schema.ts';
import { deviceSettings, rememberOnDevice } from './device.ts';
import { loadWorkplace, type Workplace } from './settings.ts';

export interface Credentials {
  tenant: string;
  username: string;
  password: string;
}

interface Expiry {
  accessTokenExpiration?: string;
}

export interface Session extends Workplace {
  tenant: string;
  /** The current service point. */
  servicePoint: ServicePoint | undefined;
  chooseServicePoint: (id: string) => void;
  may: (permission: string) => boolean;
  logOut: () => Promise<void>;
}

export type SessionState =
  | { phase: 'starting' }
  | { phase: 'unreachable' }
  | { phase: 'logged-out' }
  | { phase: 'logged-in'; session: Session; expired: boolean };

const SessionContext = createContext<Session | undefined>(undefined);
export const SessionProvider = ({ session, children }: { session: Session; children: ReactNode }) => (
  <SessionContext.Provider value={session}>{children}</SessionContext.Provider>
);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('a part of the desk is shown to somebody who is not logged in');
  return session;
}

/** Tokens are renewed this long, in milliseconds, before they expire, so that no scan waits for it. */
const EARLY_MS = 90_000;

export function useSessionState(): { state: SessionState; logIn: (who: Credentials) => Promise<void>; start: () => void } {
  const [workplace, setWorkplace] = useState<Workplace>();
  const [phase, setPhase] = useState<'starting' | 'unreachable' | 'logged-out' | 'logged-in'>('starting');
  const [expired, setExpired] = useState(false);
  const [tenant, setTenant] = useState(() => deviceSettings().tenant);
  const [servicePointId, setServicePointId] = useState(() => deviceSettings().servicePointId);
  const waiting = useRef<((again: boolean) => void)[]>([]);

  const start = useCallback(() => {
    tellTenant(deviceSettings().tenant);
    onLoggedOut(() => Promise.resolve(false));
    loadWorkplace().then(
      (loaded) => {
        setWorkplace(loaded);
        setPhase('logged-in');
        // Calls that fail because the session ended wait until the user has logged in again.
        onLoggedOut(() => {
          setExpired(true);
          return new Promise((resolve) => waiting.current.push(resolve));
        });
      },
      (error: unknown) => {
        setPhase(error instanceof Unreachable ? 'unreachable' : 'logged-out');
        if (error instanceof Failure && error.status !== 401) console.error(error);
      },
    );
  }, []);
  useEffect(start, [start]);

  useEffect(() => {
    if (phase !== 'logged-in') return;
    // Data for offline work: the service point, and barcodes of patrons who may not borrow.
    void import('../desk/offline/prepare.ts').then(({ prepareForOffline }) => prepareForOffline(tenant, state.phase === 'logged-in' ? state.session.servicePoint?.id : undefined));
  }, [phase, tenant]);

  useEffect(() => {
    if (phase !== 'logged-in') return;
    // Access tokens are valid for ten minutes; a laptop that slept renews at its first call instead.
    const timer = setInterval(() => void refresh().catch(() => {}), 600_000 - EARLY_MS);
    return () => clearInterval(timer);
  }, [phase]);

  const logIn = useCallback(
    async ({ tenant, username, password }: Credentials) => {
      tellTenant(tenant);
      await post<Expiry>('/authn/login-with-expiry', { username, password });
      rememberOnDevice({ tenant });
      setTenant(tenant);
      const same = workplace?.self.user.username?.toLowerCase() === username.toLowerCase();
      for (const resume of waiting.current.splice(0)) resume(same);
      setExpired(false);
      if (!same) {
        setWorkplace(undefined);
        setPhase('starting');
        start();
      }
    },
    [start, workplace],
  );

  const state = useMemo((): SessionState => {
    if (phase !== 'logged-in' || !workplace) return { phase: phase === 'logged-in' ? 'starting' : phase };
    const points = workplace.servicePoints;
    const standard = workplace.self.servicePointsUser?.defaultServicePointId;
    const session: Session = {
      ...workplace,
      tenant,
      servicePoint: points.find((one) => one.id === servicePointId) ?? points.find((one) => one.id === standard) ?? points[0],
      chooseServicePoint: (id) => {
        rememberOnDevice({ servicePointId: id });
        setServicePointId(id);
      },
      may: (permission) => workplace.permissions.has(permission),
      logOut: async () => {
        await post('/authn/logout', undefined).catch(() => {});
        // Remove all session data from memory.
        location.reload();
      },
    };
    return { phase: 'logged-in', session, expired };
  }, [phase, workplace, tenant, servicePointId, expired]);
  return { state, logIn, start };
}
