/* Shows the prompts of the desk's logic, one at a time, and returns the answers. */
import { type ComponentType, createContext, type ReactNode, useCallback, useContext, useMemo, useState } from 'react';
import { DIALOGS } from './dialogs/index.tsx';
import { betweenScans } from './scanning/scan-target.ts';
import type { Ask, PromptName, Prompts } from './prompts.ts';

interface Open {
  number: number;
  name: PromptName;
  shown: unknown;
  answer: (answer: unknown) => void;
}

/** Properties of each dialog. */
export interface DialogProps<N extends PromptName> {
  shown: Prompts[N][0];
  /** Called once; undefined cancels. */
  answer: (answer: Prompts[N][1] | undefined) => void;
}

const AskContext = createContext<Ask>(() => Promise.resolve(undefined));
export const useAsk = () => useContext(AskContext);

let numbers = 0;

export function PromptHost({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState<Open[]>([]);
  const ask = useCallback(
    (name: PromptName, shown: unknown) =>
      new Promise<unknown>((resolve) => {
        numbers += 1;
        const number = numbers;
        const answer = (given: unknown) => {
          setOpen((all) => all.filter((one) => one.number !== number));
          resolve(given);
        };
        void betweenScans().then(() => setOpen((all) => [...all, { number, name, shown, answer }]));
      }),
    [],
  );
  const value = useMemo(() => ask as Ask, [ask]);
  const first = open[0];
  const Shown = first && (DIALOGS[first.name] as ComponentType<{ shown: unknown; answer: (given: unknown) => void }>);
  return (
    <AskContext.Provider value={value}>
      {children}
      {first && Shown && <Shown key={first.number} shown={first.shown} answer={first.answer} />}
    </AskContext.Provider>
  );
}
