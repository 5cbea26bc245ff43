/* The circulation rules: an editor that marks the line of an error, and a tester. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { get, put } from '../../api/client.ts';
import { Failure } from '../../api/failure.ts';
import { ActionButton, Choice, Loading, Message } from '../../parts/controls.tsx';
import { FailureMessage, Listing } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { t } from '../../text/messages.ts';
import { useLoanTypes, useLocations, useMaterialTypes, useReferences } from '../references.ts';
import { findMatches, usePolicyNames } from './policy-api.ts';
import { idsOf, tokens } from './rules-text.ts';

interface RulesError {
  message: string;
  line?: number;
  column?: number;
}

export function RulesPage() {
  const { may } = useSession();
  const queries = useQueryClient();
  const query = useQuery({ queryKey: ['rules'], queryFn: () => get<{ rulesAsText: string }>('/circulation/rules'), refetchOnMount: true });
  const [draft, setDraft] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [saved, setSaved] = useState(false);
  const [line, setLine] = useState<number>();
  const text = draft ?? query.data?.rulesAsText ?? '';
  const mistake = error instanceof Failure && error.status === 422 ? (error.document as RulesError | undefined) : undefined;

  async function save() {
    setSaved(false);
    setError(undefined);
    try {
      await put('/circulation/rules', { rulesAsText: text });
      setDraft(undefined);
      setSaved(true);
      queries.setQueryData(['rules'], { rulesAsText: text });
    } catch (failure) {
      setError(failure);
    }
  }

  if (query.error) return <FailureMessage error={query.error} />;
  if (!query.data) return <Loading />;
  const why = !may('circulation.rules.put') ? t('why.noPermission') : draft === undefined || draft === query.data.rulesAsText ? t('rules.unchanged') : undefined;
  return (
    <>
      <section className="card" aria-labelledby="rules-title">
        <header>
          <h2 id="rules-title">{t('settings.rules')}</h2>
          <div className="toolbar-actions">
            <ActionButton isDisabled={draft === undefined} onPress={() => { setDraft(undefined); setError(undefined); }}>
              {t('rules.discard')}
            </ActionButton>
            <ActionButton variant="primary" why={why} onPress={() => void save()}>
              {t('save')}
            </ActionButton>
          </div>
        </header>
        {saved && <Message kind="success">{t('rules.saved')}</Message>}
        {mistake?.line !== undefined ? (
          <Message kind="error">{t('rules.errorAt', { line: mistake.line, column: mistake.column ?? 1, message: mistake.message })}</Message>
        ) : (
          error !== undefined && <FailureMessage error={error} />
        )}
        <Editor text={text} onChange={(value) => { setDraft(value); setSaved(false); }} onLine={setLine} errorLine={mistake?.line} />
        <LineNames text={text.split('\n')[(line ?? 1) - 1] ?? ''} line={line ?? 1} />
      </section>
      <Tester rules={query.data.rulesAsText} />
    </>
  );
}

interface EditorProps {
  text: string;
  onChange: (text: string) => void;
  onLine: (line: number) => void;
  errorLine: number | undefined;
}

/** A plain text field over its colored copy, so that it is as accessible as any text field. */
function Editor({ text, onChange, onLine, errorLine }: EditorProps) {
  const copy = useRef<HTMLDivElement>(null);
  const lines = text.split('\n');
  return (
    <div className="editor">
      <div className="editor-copy" ref={copy} aria-hidden="true">
        {lines.map((one, index) => (
          <div key={index} className={index + 1 === errorLine ? 'mistake' : ''}>
            <span className="line-number">{index + 1}</span>
            {tokens(one).map((token, place) => (
              <span key={place} className={`token-${token.kind}`}>
                {token.text}
              </span>
            ))}
            {'\u200B'}
          </div>
        ))}
      </div>
      <textarea
        aria-label={t('settings.rules')}
        aria-invalid={errorLine !== undefined}
        value={text}
        spellCheck={false}
        wrap="off"
        rows={Math.min(26, lines.length + 2)}
        onChange={(event) => onChange(event.target.value.replaceAll('\t', '    '))}
        onSelect={(event) => onLine(event.currentTarget.value.slice(0, event.currentTarget.selectionStart).split('\n').length)}
        onScroll={(event) => {
          if (copy.current) copy.current.style.transform = `translate(${-event.currentTarget.scrollLeft}px, ${-event.currentTarget.scrollTop}px)`;
        }}
      />
    </div>
  );
}

/** The names of the ids in the line with the cursor. */
function LineNames({ text, line }: { text: string; line: number }) {
  const names = useNames();
  const ids = idsOf(text);
  return (
    <p className="hint" role="status">
      {t('rules.line', { line })} {ids.length === 0 ? t('rules.noIds') : ids.map((id) => names.get(id) ?? t('rules.unknownId', { id })).join(' · ')}
    </p>
  );
}

function useNames(): ReadonlyMap<string, string> {
  const { groups } = useReferences();
  return new Map([...groups, ...useLoanTypes(), ...useMaterialTypes(), ...useLocations(), ...usePolicyNames()]);
}

/** The rule that applies to a patron group and an item, and its policies. */
function Tester({ rules }: { rules: string }) {
  const { groups } = useReferences();
  const loanTypes = useLoanTypes();
  const materialTypes = useMaterialTypes();
  const locations = useLocations();
  const policies = usePolicyNames();
  const [chosen, setChosen] = useState({ patronGroup: '', loanType: '', materialType: '', location: '' });
  const first = (names: ReadonlyMap<string, string>) => [...names.keys()][0] ?? '';
  const situation = {
    patronGroup: chosen.patronGroup || first(groups),
    loanType: chosen.loanType || first(loanTypes),
    materialType: chosen.materialType || first(materialTypes),
    location: chosen.location || first(locations),
  };
  const ready = Object.values(situation).every((id) => id !== '');
  const query = useQuery({ queryKey: ['matches', situation, rules], enabled: ready, queryFn: () => findMatches(situation) });
  const lines = rules.split('\n');
  const choice = (name: keyof typeof situation, label: string, names: ReadonlyMap<string, string>) => (
    <Choice
      label={label}
      value={situation[name]}
      onChange={(value) => setChosen((all) => ({ ...all, [name]: value }))}
      options={[...names].map(([value, text]) => ({ value, label: text }))}
    />
  );
  return (
    <section className="card" aria-labelledby="tester-title">
      <h2 id="tester-title">{t('rules.tester')}</h2>
      <div className="filters">
        {choice('patronGroup', t('patron.group'), groups)}
        {choice('loanType', t('items.loanType'), loanTypes)}
        {choice('materialType', t('items.materialType'), materialTypes)}
        {choice('location', t('column.location'), locations)}
      </div>
      <Listing
        label={t('rules.tester')}
        rows={query.data}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('search.nothing')}
        rowKey={(match) => match.kind}
        columns={[
          { title: t('rules.kind'), cell: (match) => t(`policy.${match.kind}`) },
          { title: t('rules.policy'), cell: (match) => <strong>{policies.get(match.policyId) ?? match.policyId}</strong> },
          { title: t('rules.winningLine'), cell: (match) => match.line, className: 'number' },
          { title: t('rules.text'), cell: (match) => <code>{match.line === undefined ? '' : lines[match.line - 1]}</code> },
        ]}
      />
    </section>
  );
}
