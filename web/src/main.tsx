import './styles/tokens.css';
import './styles/desk.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { lazy, StrictMode, Suspense, useState } from 'react';
import { I18nProvider } from 'react-aria-components';
import { createRoot } from 'react-dom/client';
import { DeskSessions } from './desk/DeskSessions.tsx';
import { keepFilesForOffline } from './desk/offline/worker.ts';
import { PromptHost } from './desk/PromptHost.tsx';
import { Desk } from './layout/Desk.tsx';
import { ActionButton, Loading, Message } from './parts/controls.tsx';
import { Prompt } from './parts/Prompt.tsx';
import { deviceSettings } from './session/device.ts';
import { LoginForm, LoginPage } from './session/Login.tsx';
import { SessionProvider, useSessionState } from './session/session.tsx';
import { currentLanguage, isLanguage, loadLanguage, preferredLanguage, t } from './text/messages.ts';

const OfflinePage = lazy(() => import('./desk/offline/OfflinePage.tsx').then((module) => ({ default: module.OfflinePage })));

const queries = new QueryClient({ defaultOptions: { queries: { retry: false, refetchOnWindowFocus: false, staleTime: 5_000 } } });

function App() {
  const { state, logIn, start } = useSessionState();
  // Changing the language remounts the frame; sessions are kept above it.
  const [drawing, setDrawing] = useState(0);
  switch (state.phase) {
    case 'starting':
      return <Loading />;
    case 'unreachable':
      return (
        <main>
          <Suspense fallback={<Loading />}>
            {deviceSettings().tenant === '' ? (
              <div className="login">
                <Message kind="error">{t('unreachable.start')}</Message>
                <ActionButton variant="primary" onPress={start}>
                  {t('again')}
                </ActionButton>
              </div>
            ) : (
              <OfflinePage loggedIn={false} />
            )}
          </Suspense>
        </main>
      );
    case 'logged-out':
      return <LoginPage logIn={logIn} />;
    case 'logged-in':
      return (
        <SessionProvider session={state.session}>
          <PromptHost>
            <DeskSessions>
              {/* Menus open on the side from which the language is read. */}
              <I18nProvider locale={currentLanguage()}>
                <Desk key={drawing} redraw={() => setDrawing((number) => number + 1)} />
              </I18nProvider>
            </DeskSessions>
          </PromptHost>
          {state.expired && (
            <Prompt title={t('login.expired')} onCancel={() => {}} actions={null}>
              <p>{t('login.expiredText')}</p>
              <LoginForm logIn={logIn} username={state.session.self.user.username} />
            </Prompt>
          )}
        </SessionProvider>
      );
  }
}

// The service worker caches only paths below `/desk/`, so the page is served there too.
if (location.pathname === '/desk') history.replaceState(null, '', `/desk/${location.search}${location.hash}`);

const { language } = deviceSettings();
await loadLanguage(isLanguage(language) ? language : preferredLanguage(navigator.languages));
const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
// Load this after the desk is usable; the first scan must not wait for it.
window.addEventListener('load', () => setTimeout(() => void keepFilesForOffline(), 2_000));
