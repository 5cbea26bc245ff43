/* Gives an item another status by hand. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Item } from '../../api/bodies.ts';
import { post } from '../../api/client.ts';
import { ActionButton, Choice } from '../../parts/controls.tsx';
import { EditPrompt } from '../../parts/EditPrompt.tsx';
import { useSession } from '../../session/session.tsx';
import { t } from '../../text/messages.ts';
import { type Mark, marksFor } from './item-marks.ts';

export function MarkItem({ item }: { item: Item }) {
  const { may } = useSession();
  const [marking, setMarking] = useState(false);
  const marks = marksFor(item.status.name, may);
  return (
    <>
      <ActionButton why={marks.length === 0 ? t('items.noMark') : undefined} onPress={() => setMarking(true)}>
        {t('items.mark')}
      </ActionButton>
      {marking && <MarkDialog item={item} marks={marks} close={() => setMarking(false)} />}
    </>
  );
}

function MarkDialog({ item, marks, close }: { item: Item; marks: Mark[]; close: () => void }) {
  const queries = useQueryClient();
  const [route, setRoute] = useState(marks[0]?.route ?? '');
  return (
    <EditPrompt
      title={t('items.markTitle')}
      why={undefined}
      save={() => post(`/inventory/items/${item.id}/${route}`, undefined)}
      saved={() => {
        close();
        void queries.invalidateQueries();
      }}
      close={close}
    >
      <p className="about-item">
        <strong>{item.title}</strong>
        <span>{[item.barcode, item.status.name].filter(Boolean).join(' · ')}</span>
      </p>
      <Choice label={t('items.markAs')} value={route} onChange={setRoute} options={marks.map((mark) => ({ value: mark.route, label: mark.status }))} autoFocus />
    </EditPrompt>
  );
}
