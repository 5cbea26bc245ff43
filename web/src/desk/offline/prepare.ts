import { rememberOnDevice, deviceSettings } from '../../session/device.ts';
import { blockedCards } from './offline-api.ts';
import { OfflineStore } from './offline-store.ts';

/** Stores the data that the desk needs while the server is down. Errors are ignored: the upload checks again. */
export async function prepareForOffline(tenant: string, servicePointId: string | undefined): Promise<void> {
  if (servicePointId !== undefined && deviceSettings().servicePointId === '') rememberOnDevice({ servicePointId });
  try {
    await new OfflineStore(tenant).keepBlockedCards(await blockedCards());
  } catch {
    // Without the permission or the storage, every card is accepted offline.
  }
}
