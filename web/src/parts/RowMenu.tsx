import { useRef, useState } from 'react';
import { Menu, MenuItem, Popover } from 'react-aria-components';
import { t } from '../text/messages.ts';

export interface RowAction {
  id: string;
  label: string;
  /** Why the action is disabled; shown with the action. */
  why?: string | undefined;
  run: () => void;
}

interface Props {
  label: string;
  actions: RowAction[];
}

/**
 * The actions of a row, for mouse and keyboard. The menu is created when it is opened, because a list has many rows.
 */
export function RowMenu({ label, actions }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  const [isOpen, setOpen] = useState(false);
  if (actions.length === 0) return null;
  return (
    <>
      <button
        ref={button}
        type="button"
        className="row-menu"
        aria-label={t('row.actions', { row: label })}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
      >
        <svg viewBox="0 0 20 20" aria-hidden="true">
          <circle cx="4" cy="10" r="1.8" />
          <circle cx="10" cy="10" r="1.8" />
          <circle cx="16" cy="10" r="1.8" />
        </svg>
      </button>
      {isOpen && (
        <Popover className="popover" aria-label={t('row.actions', { row: label })} placement="bottom end" triggerRef={button} isOpen onOpenChange={setOpen}>
          <Menu
            className="menu"
            aria-label={t('row.actions', { row: label })}
            autoFocus="first"
            onClose={() => setOpen(false)}
            disabledKeys={actions.filter((action) => action.why).map((action) => action.id)}
          >
            {actions.map((action) => (
              <MenuItem
                key={action.id}
                id={action.id}
                className="menu-item"
                textValue={action.label}
                onAction={() => {
                  setOpen(false);
                  action.run();
                }}
              >
                {action.label}
                {action.why && <span className="why">{action.why}</span>}
              </MenuItem>
            ))}
          </Menu>
        </Popover>
      )}
    </>
  );
}
