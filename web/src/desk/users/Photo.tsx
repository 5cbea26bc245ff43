/* The photo of an account, where the library keeps photos. */
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { get, postFile, put, remove } from '../../api/client.ts';
import type { User } from '../../api/schema.ts';
import { ActionButton } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { t } from '../../text/messages.ts';
import { nameOfUser } from '../people.ts';
import { isPictureId, type Picture, usePicture } from '../picture.ts';
import { withPersonal } from './user-draft.ts';

export function Photo({ user }: { user: User }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<unknown>();
  const link = user.personal?.profilePictureLink;
  const { source, isOn } = usePicture(user);
  const mayChange = isOn && may('users.profile-picture.item.post') && may('users.item.put');

  async function store(change: (now: User) => Promise<User>) {
    setError(undefined);
    try {
      const now = await get<User>(`/users/${user.id}`);
      await put(`/users/${user.id}`, await change(now));
      await queries.invalidateQueries({ queryKey: ['user', user.id] });
    } catch (failure) {
      setError(failure);
    }
  }

  async function upload(file: File) {
    await store(async (now) => withPersonal(now, { profilePictureLink: (await postFile<Picture>('/users/profile-picture', file)).id }));
  }

  async function discard() {
    const before = link;
    await store((now) => {
      const { profilePictureLink: _, ...personal } = now.personal ?? { lastName: '' };
      return Promise.resolve({ ...now, personal });
    });
    if (isPictureId(before)) await remove(`/users/profile-picture/${before}`).catch(() => {});
  }

  if (!source && !mayChange) return null;
  return (
    <div className="photo">
      {source && <img src={source} alt={t('photo.of', { name: nameOfUser(user) })} />}
      {error !== undefined && <FailureMessage error={error} />}
      {mayChange && (
        <div className="toolbar-actions">
          <input
            ref={input}
            type="file"
            accept="image/png,image/jpeg"
            hidden
            aria-label={t('photo.file')}
            onChange={(event) => {
              const [file] = event.target.files ?? [];
              if (file) void upload(file);
              event.target.value = '';
            }}
          />
          <ActionButton variant="quiet" onPress={() => input.current?.click()}>
            {t(source ? 'photo.replace' : 'photo.add')}
          </ActionButton>
          {source && (
            <ActionButton variant="quiet" onPress={() => void discard()}>
              {t('photo.remove')}
            </ActionButton>
          )}
        </div>
      )}
    </div>
  );
}
