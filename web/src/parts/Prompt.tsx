/* A dialog on react-aria's: focus stays in it, Escape cancels, and what opened it is inert. */
import { type ReactNode, type RefObject, useEffect, useRef } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { focusHome } from '../layout/focus-home.ts';

interface Props {
  title: string;
  onCancel: () => void;
  children: ReactNode;
  /** Buttons; the safe one has `autoFocus` where the dialog has no field that has it. */
  actions: ReactNode;
  kind?: 'information' | 'warning' | 'error' | undefined;
  wide?: boolean;
}

/** Keys that arrive this soon belong to the scan that opened the dialog. */
const DEAF_MS = 250;

export function Prompt({ title, onCancel, children, actions, kind, wide = false }: Props) {
  useDeafAtFirst();
  const content = useRef<HTMLElement>(null);
  useSafeFocus(content);
  useEffect(() => focusHome, []);
  return (
    <ModalOverlay isOpen onOpenChange={(open) => !open && onCancel()} className="overlay" data-prompt="">
      <Modal className={`modal${wide ? ' wide' : ''}`}>
        <Dialog ref={content} className={`dialog ${kind ?? ''}`} role="dialog">
          <Heading slot="title" level={2}>
            {title}
          </Heading>
          <div className="dialog-content">{children}</div>
          <div className="dialog-actions">{actions}</div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** The keys of the scan that opened the dialog must not answer it. */
function useDeafAtFirst(): void {
  const opened = useRef(performance.now());
  useEffect(() => {
    function pressed(event: KeyboardEvent) {
      const answers = event.key === 'Enter' || event.key === ' ';
      if (!answers || (!event.repeat && performance.now() - opened.current >= DEAF_MS)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    }
    document.addEventListener('keydown', pressed, true);
    return () => document.removeEventListener('keydown', pressed, true);
  }, []);
}

/**
 * Puts the focus on the safe default while the dialog opens: a dialog that closed just before gives the focus back one
 * or two frames late, and what then takes it into this one chooses the first element.
 */
function useSafeFocus(content: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    let touched = false;
    const touch = () => (touched = true);
    /** Where the focus is put by what opens the dialog; elsewhere somebody has put it. */
    const focused = ({ target }: FocusEvent) => {
      const dialog = content.current;
      const first = dialog?.querySelector('a, button, input, select, textarea, [tabindex="0"]');
      if (target instanceof HTMLElement && dialog?.contains(target) && target !== dialog && target !== first && target !== safeIn(dialog)) touch();
    };
    function keep() {
      const dialog = content.current;
      if (!dialog || touched) return;
      const safe = safeIn(dialog);
      if (safe && document.activeElement !== safe) safe.focus();
    }
    keep();
    const timers = [20, 60, 120, 200, DEAF_MS].map((delay) => setTimeout(keep, delay));
    for (const event of TOUCHES) document.addEventListener(event, touch);
    document.addEventListener('focusin', focused);
    return () => {
      timers.forEach(clearTimeout);
      for (const event of TOUCHES) document.removeEventListener(event, touch);
      document.removeEventListener('focusin', focused);
    };
  }, [content]);
}

const TOUCHES = ['keydown', 'pointerdown', 'input'] as const;

const safeIn = (dialog: HTMLElement) => dialog.querySelector<HTMLElement>('[data-safe]') ?? dialog.querySelector<HTMLElement>('.dialog-actions button');
