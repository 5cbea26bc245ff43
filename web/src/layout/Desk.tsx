/* The frame around every page: navigation, service point, current user, and the server's status. */
import { Suspense, useEffect, useState, useSyncExternalStore } from 'react';
import { ActionButton, Choice, Loading, Message, Tick } from '../parts/controls.tsx';
import { Prompt } from '../parts/Prompt.tsx';
import { rememberOnDevice, deviceSettings } from '../session/device.ts';
import { useSession } from '../session/session.tsx';
import { nameOfUser } from '../desk/people.ts';
import { currentLanguage, isLanguage, LANGUAGES, loadLanguage, t } from '../text/messages.ts';
import { focusHome } from './focus-home.ts';
import { canBeHotkey, HOTKEYS, type Hotkey, keysOf, pressedKeys, remap, useHotkeys } from './hotkeys.ts';
import { PAGES } from './pages.tsx';
import { isReached, onReachedChange } from './reached.ts';
import { go, to, useRoute } from './route.ts';

export function Desk({ redraw }: { redraw: () => void }) {
  const session = useSession();
  const route = useRoute();
  const [open, setOpen] = useState<'help' | 'servicePoint' | 'person'>();
  const pages = PAGES.filter((page) => session.may(page.permission));
  const page = pages.find((one) => one.name === route.page) ?? pages[0];
  const reached = useSyncExternalStore(onReachedChange, isReached);

  useHotkeys({
    help: () => setOpen('help'),
    servicePoint: () => setOpen('servicePoint'),
    ...Object.fromEntries(pages.flatMap((one) => (one.hotkey ? [[one.hotkey, () => go(one.name)]] : []))),
  });
  useEffect(() => {
    document.title = page ? `${t(page.title)} · Carrel` : 'Carrel';
  }, [page]);

  function close() {
    setOpen(undefined);
    focusHome();
  }

  return (
    <div className="desk">
      <a className="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById('content')?.focus(); }}>
        {t('skip')}
      </a>
      <header className="bar">
        <span className="brand">Carrel</span>
        <nav aria-label={t('navigation')}>
          {pages.map((one) => (
            <a key={one.name} href={to(one.name)} aria-current={one === page ? 'page' : undefined} aria-keyshortcuts={one.hotkey && keysOf(one.hotkey)}>
              {t(one.title)}
            </a>
          ))}
        </nav>
        <div className="bar-end">
          <ActionButton variant="quiet" onPress={() => setOpen('servicePoint')}>
            <span className="visually-hidden">{t('servicePoint.title')}: </span>
            <span className="service-point">{session.servicePoint?.name ?? t('servicePoint.none')}</span> <kbd>{keysOf('servicePoint')}</kbd>
          </ActionButton>
          <ActionButton variant="quiet" onPress={() => setOpen('help')}>
            <kbd>{keysOf('help')}</kbd>
            <span className="visually-hidden">{t('help.title')}</span>
          </ActionButton>
          <ActionButton variant="quiet" onPress={() => setOpen('person')} aria-label={t('person.title', { name: nameOfUser(session.self.user) })}>
            {nameOfUser(session.self.user)}
          </ActionButton>
        </div>
      </header>
      {!reached && (
        <div className="banner">
          <Message kind="error">
            {t('unreachable.banner')} <a href={to('offline')}>{t('offline.go')}</a>
          </Message>
        </div>
      )}
      <main id="content" tabIndex={-1}>
        {page ? (
          <Suspense fallback={<Loading />}>
            <page.Content />
          </Suspense>
        ) : (
          <Message kind="warning">{t('noPages')}</Message>
        )}
      </main>
      {open === 'help' && <KeyHelp close={close} />}
      {open === 'servicePoint' && <ServicePointChoice close={close} />}
      {open === 'person' && <PersonSettings close={close} redraw={redraw} />}
    </div>
  );
}

function ServicePointChoice({ close }: { close: () => void }) {
  const { servicePoints, servicePoint, chooseServicePoint } = useSession();
  return (
    <Prompt title={t('servicePoint.title')} onCancel={close} actions={<ActionButton onPress={close}>{t('cancel')}</ActionButton>}>
      <p>{t('servicePoint.text')}</p>
      <ul className="choices">
        {servicePoints.map((point) => (
          <li key={point.id}>
            <ActionButton
              autoFocus={point.id === servicePoint?.id}
              variant={point.id === servicePoint?.id ? 'primary' : 'secondary'}
              onPress={() => {
                chooseServicePoint(point.id ?? '');
                close();
              }}
            >
              {point.name}
            </ActionButton>
          </li>
        ))}
      </ul>
      {servicePoints.length === 0 && <Message kind="warning">{t('servicePoint.empty')}</Message>}
    </Prompt>
  );
}

function PersonSettings({ close, redraw }: { close: () => void; redraw: () => void }) {
  const session = useSession();
  const [checkDigits, setCheckDigits] = useState(() => deviceSettings().checkDigits);
  const [sounds, setSounds] = useState(() => deviceSettings().sounds ?? session.settings.audioAlerts);
  return (
    <Prompt
      title={nameOfUser(session.self.user)}
      onCancel={close}
      actions={
        <>
          <ActionButton variant="danger" onPress={() => void session.logOut()}>
            {t('logOut')}
          </ActionButton>
          <ActionButton variant="primary" autoFocus onPress={close}>
            {t('close')}
          </ActionButton>
        </>
      }
    >
      <p>{t('person.tenant', { tenant: session.tenant })}</p>
      <Choice
        label={t('person.language')}
        value={currentLanguage()}
        options={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
        onChange={(language) => {
          if (!isLanguage(language)) return;
          rememberOnDevice({ language });
          void loadLanguage(language).then(redraw);
        }}
      />
      <Tick
        isSelected={sounds}
        onChange={(on) => {
          rememberOnDevice({ sounds: on });
          setSounds(on);
        }}
      >
        {t('person.sounds')}
      </Tick>
      <Tick
        isSelected={checkDigits}
        onChange={(on) => {
          rememberOnDevice({ checkDigits: on });
          setCheckDigits(on);
        }}
      >
        {t('person.checkDigits')}
      </Tick>
    </Prompt>
  );
}

function KeyHelp({ close }: { close: () => void }) {
  const [changing, setChanging] = useState<Hotkey>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    if (!changing) return;
    function pressed(event: KeyboardEvent) {
      const keys = pressedKeys(event);
      if (keys === undefined || !changing) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (keys === 'Escape') return setChanging(undefined);
      const taken = HOTKEYS.find((one) => one !== changing && keysOf(one) === keys);
      if (!canBeHotkey(keys)) return setProblem(t('help.refused', { keys }));
      if (taken) return setProblem(t('help.taken', { keys, action: t(`hotkey.${taken}`) }));
      remap(changing, keys);
      setProblem(undefined);
      setChanging(undefined);
    }
    document.addEventListener('keydown', pressed, true);
    return () => document.removeEventListener('keydown', pressed, true);
  }, [changing]);
  return (
    <Prompt
      title={t('help.title')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={() => { HOTKEYS.forEach((one) => remap(one, undefined)); setProblem(undefined); setChanging(undefined); close(); }}>{t('help.reset')}</ActionButton>
          <ActionButton variant="primary" autoFocus onPress={close}>
            {t('close')}
          </ActionButton>
        </>
      }
    >
      <p>{t('help.text')}</p>
      {problem && <Message kind="warning">{problem}</Message>}
      <table className="rows keys">
        <thead>
          <tr>
            <th>{t('help.action')}</th>
            <th>{t('help.keys')}</th>
            <th>
              <span className="visually-hidden">{t('column.actions')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {HOTKEYS.map((hotkey) => (
            <tr key={hotkey}>
              <td>{t(`hotkey.${hotkey}`)}</td>
              <td>
                <kbd>{changing === hotkey ? t('help.press') : keysOf(hotkey)}</kbd>
              </td>
              <td>
                <ActionButton variant="quiet" aria-label={t('help.changeOf', { action: t(`hotkey.${hotkey}`) })} onPress={() => setChanging(hotkey)}>
                  {t('help.change')}
                </ActionButton>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Prompt>
  );
}
