/* Custom fields of user records. */
import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client.ts';
import { t } from '../../text/messages.ts';

export interface CustomField {
  id: string;
  name: string;
  /** The key of the value in the user record. */
  refId: string;
  type: 'SINGLE_CHECKBOX' | 'DATE_PICKER' | 'TEXTBOX_SHORT' | 'TEXTBOX_LONG' | 'SINGLE_SELECT_DROPDOWN' | 'MULTI_SELECT_DROPDOWN' | 'RADIO_BUTTON';
  visible?: boolean;
  required?: boolean;
  isRepeatable?: boolean;
  helpText?: string;
  selectField?: { options: { values: { id: string; value: string }[] } };
}

export function useCustomFields(): CustomField[] {
  const query = useQuery({
    queryKey: ['custom-fields'],
    staleTime: 600_000,
    queryFn: () => get<{ customFields: CustomField[] }>('/custom-fields?limit=1000'),
  });
  return query.data?.customFields.filter((field) => field.visible !== false) ?? [];
}

export const optionsOf = (field: CustomField) => field.selectField?.options.values ?? [];

/** The display value: names of options instead of their ids. */
export function shownValue(field: CustomField, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no');
  const name = (one: unknown) => optionsOf(field).find((option) => option.id === one)?.value ?? String(one);
  return Array.isArray(value) ? value.map(name).join(', ') : name(value);
}

/** Converts a repeatable text to lines and back. */
export const linesOfValue = (value: unknown): string => (Array.isArray(value) ? value.join('\n') : typeof value === 'string' ? value : '');
export const valueOfLines = (text: string): string[] => text.split('\n');
