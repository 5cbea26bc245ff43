/* The current check-out and check-in sessions. They are kept above the pages, so that opening another page ends neither. */
import { createContext, type ReactNode, useContext, useMemo, useRef } from 'react';
import { focusHome } from '../layout/focus-home.ts';
import { afterPaint, whenIdle } from '../parts/after-paint.ts';
import { deviceSettings } from '../session/device.ts';
import { useSession } from '../session/session.tsx';
import { CheckInSession } from './check-in/check-in-session.ts';
import { CheckOutSession } from './check-out/check-out-session.ts';
import type { DeskTools } from './desk-tools.ts';
import { useAsk } from './PromptHost.tsx';
import { play } from './scanning/sounds.ts';
import { printSendOn, printsByDefault } from './slips/staff-slips.ts';

interface Sessions {
  checkOut: CheckOutSession;
  checkIn: CheckInSession;
}

const SessionsContext = createContext<Sessions | undefined>(undefined);

export function useSessions(): Sessions {
  const sessions = useContext(SessionsContext);
  if (!sessions) throw new Error('a scanning page is shown outside of the desk');
  return sessions;
}

export function DeskSessions({ children }: { children: ReactNode }) {
  const ask = useAsk();
  const session = useSession();
  const latest = useRef(session);
  latest.current = session;
  const sessions = useMemo((): Sessions => {
    const tools: DeskTools = {
      ask,
      sound: (kind) => {
        const { settings } = latest.current;
        // Generating a sound takes some milliseconds.
        if (deviceSettings().sounds ?? settings.audioAlerts) afterPaint(() => play(kind, settings.audioTheme));
      },
      whenIdle,
      checksDigits: () => deviceSettings().checkDigits,
      may: (permission) => latest.current.may(permission),
      servicePointId: () => latest.current.servicePoint?.id ?? '',
      useAtLocationReturn: () => latest.current.servicePoint?.defaultCheckInActionForUseAtLocation ?? 'Ask_for_action',
      username: () => latest.current.self.user.username ?? '',
      settings: () => latest.current.settings,
    };
    return {
      checkOut: new CheckOutSession(tools),
      checkIn: new CheckInSession({
        ...tools,
        printSlip: (kind, answers) => {
          printSendOn(kind, answers, latest.current);
          focusHome();
        },
        printByDefault: (kind) => printsByDefault(kind, latest.current),
      }),
    };
  }, [ask]);
  return <SessionsContext.Provider value={sessions}>{children}</SessionsContext.Provider>;
}
