import { rememberOnDevice, deviceSettings } from '../../session/device.ts';
import { blockedCards } from './offline-api.ts';
import { OfflineStore } from './offline-store.ts';

/** Keeps what the desk needs to go on without the server. Where that fails, the upload finds what is wrong. */
export async function prepareForOffline(tenant: string, servicePointId: string | undefined): Promise<void> {
  if (servicePointId !== undefined && deviceSettings().servicePointId === '') rememberOnDevice({ servicePointId });
  try {
    await new OfflineStore(tenant).keepBlockedCards(await blockedCards());
  } catch {
    // Without the permission, or the storage, every card is accepted offline.
  }
}
