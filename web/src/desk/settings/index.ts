/* The settings with their messages, which the scanning pages do not load. */
import { addTexts } from '../../text/messages.ts';

export async function load() {
  await addTexts({ en: () => import('./texts/en.json'), de: () => import('./texts/de.json') });
  const { SettingsPage } = await import('./SettingsPage.tsx');
  return { default: SettingsPage };
}
