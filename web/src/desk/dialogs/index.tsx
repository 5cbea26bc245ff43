/* The dialog of each prompt. */
import type { ComponentType } from 'react';
import type { DialogProps } from '../PromptHost.tsx';
import type { PromptName } from '../prompts.ts';
import { CheckDigit } from './CheckDigit.tsx';
import { ActingAs, PatronNotes, SwitchPatron } from './patron-dialogs.tsx';
import { ChooseItem, ClaimedReturned, ConfirmStatus, FastAdd, ItemNotes, Pieces, UseAtLocation } from './item-dialogs.tsx';
import { Refused } from './Refused.tsx';
import { SendOnDialog } from './SendOnDialog.tsx';

export const DIALOGS: { [N in PromptName]: ComponentType<DialogProps<N>> } = {
  chooseItem: ChooseItem,
  checkDigit: CheckDigit,
  confirmStatus: ConfirmStatus,
  claimedReturned: ClaimedReturned,
  useAtLocation: UseAtLocation,
  pieces: Pieces,
  itemNotes: ItemNotes,
  refused: Refused,
  actingAs: ActingAs,
  patronNotes: PatronNotes,
  switchPatron: SwitchPatron,
  sendOn: SendOnDialog,
  fastAdd: FastAdd,
};
