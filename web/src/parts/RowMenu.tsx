import { Button, Menu, MenuItem, MenuTrigger, Popover } from 'react-aria-components';
import { t } from '../text/messages.ts';

export interface RowAction {
  id: string;
  label: string;
  /** Why it can not be done now; the action is shown with the reason. */
  why?: string | undefined;
  run: () => void;
}

/** The actions of a row, by mouse and by keys. */
export function RowMenu({ label, actions }: { label: string; actions: RowAction[] }) {
  if (actions.length === 0) return null;
  return (
    <MenuTrigger>
      <Button className="row-menu" aria-label={t('row.actions', { row: label })}>
        <svg viewBox="0 0 20 20" aria-hidden="true">
          <circle cx="4" cy="10" r="1.8" />
          <circle cx="10" cy="10" r="1.8" />
          <circle cx="16" cy="10" r="1.8" />
        </svg>
      </Button>
      <Popover className="popover" placement="bottom end">
        <Menu className="menu" disabledKeys={actions.filter((action) => action.why).map((action) => action.id)}>
          {actions.map((action) => (
            <MenuItem key={action.id} id={action.id} className="menu-item" onAction={action.run} textValue={action.label}>
              {action.label}
              {action.why && <span className="why">{action.why}</span>}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
