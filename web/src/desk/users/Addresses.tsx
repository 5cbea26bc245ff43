import { ActionButton, Choice, Field, Tick } from '../../parts/controls.tsx';
import { t } from '../../text/messages.ts';
import type { Address } from './user-draft.ts';

interface Props {
  addresses: Address[];
  /** Names of the address types by id. */
  types: ReadonlyMap<string, string>;
  onChange: (addresses: Address[]) => void;
}

const LINES = ['addressLine1', 'addressLine2', 'postalCode', 'city', 'region', 'countryId'] as const;

/** Postal addresses, at most one of a type; one of them is the primary address. */
export function Addresses({ addresses, types, onChange }: Props) {
  const change = (index: number, part: Partial<Address>) => onChange(addresses.map((address, at) => (at === index ? { ...address, ...part } : address)));
  const free = [...types.keys()].find((type) => !addresses.some((address) => address.addressTypeId === type));
  return (
    <>
      {addresses.map((address, index) => (
        <fieldset key={index} className="address">
          <legend className="label">{t('userForm.address', { number: index + 1 })}</legend>
          <div className="form-grid">
            <Choice
              label={t('userForm.addressType')}
              value={address.addressTypeId}
              onChange={(addressTypeId) => change(index, { addressTypeId })}
              options={[...types].map(([value, label]) => ({ value, label }))}
            />
            {LINES.map((line) => (
              <Field key={line} label={t(`userForm.${line}`)} value={address[line] ?? ''} onChange={(text) => change(index, { [line]: text })} />
            ))}
          </div>
          <div className="toolbar-actions">
            <Tick
              isSelected={address.primaryAddress === true}
              onChange={(on) => onChange(addresses.map((one, at) => ({ ...one, primaryAddress: at === index && on })))}
            >
              {t('userForm.primaryAddress')}
            </Tick>
            <ActionButton variant="quiet" aria-label={t('userForm.removeAddress', { number: index + 1 })} onPress={() => onChange(addresses.filter((_, at) => at !== index))}>
              {t('userForm.remove')}
            </ActionButton>
          </div>
        </fieldset>
      ))}
      <div>
        <ActionButton
          why={free === undefined ? t('userForm.noFreeType') : undefined}
          onPress={() => onChange([...addresses, { addressTypeId: free ?? '', primaryAddress: addresses.length === 0 }])}
        >
          {t('userForm.addAddress')}
        </ActionButton>
      </div>
    </>
  );
}
