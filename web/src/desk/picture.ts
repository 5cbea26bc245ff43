/* The picture of an account: a file stored by the server, or one within the account's record. */
import { useQuery } from '@tanstack/react-query';
import { get } from '../api/client.ts';
import type { User } from '../api/schema.ts';
import { useSession } from '../session/session.tsx';

export interface Picture {
  id: string;
  /** The file in base64; PNG begins with `iVBOR`, JPEG with `/9j/`. */
  profile_picture_blob?: string;
}

export const isPictureId = (text: string | undefined) => /^[0-9a-f-]{36}$/i.test(text ?? '');

/** The address of the picture for an image element, and whether the library stores pictures. */
export function usePicture(user: User): { source: string | undefined; isOn: boolean } {
  const { may } = useSession();
  const link = user.personal?.profilePictureLink;
  const settings = useQuery({
    queryKey: ['picture-settings'],
    staleTime: 600_000,
    enabled: may('users.configurations.item.get'),
    queryFn: () => get<{ enabled?: boolean }>('/users/configurations/entry'),
  });
  const isOn = settings.data?.enabled === true;
  const picture = useQuery({
    queryKey: ['picture', link],
    enabled: isOn && isPictureId(link) && may('users.profile-picture.item.get'),
    queryFn: () => get<Picture>(`/users/profile-picture/${link ?? ''}`),
  });
  const blob = picture.data?.profile_picture_blob;
  if (blob) return { isOn, source: `data:image/${blob.startsWith('/9j/') ? 'jpeg' : 'png'};base64,${blob}` };
  return { isOn, source: link?.startsWith('data:image/') ? link : undefined };
}
