/* A dialog based on react-aria: focus stays in it, Escape cancels, and the rest of the page is inert. */
import { type ReactNode, type RefObject, useEffect, useRef } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { focusHome } from '../layout/focus-home.ts';

interface Props {
  title: string;
  onCancel: () => void;
  children: ReactNode;
  /** Buttons; the safe one has `autoFocus`, unless a field of the dialog has it. */
  actions: ReactNode;
  kind?: 'information' | 'warning' | 'error' | undefined;
  wide?: boolean;
}

/** Keys within this time, in milliseconds, belong to the scan that opened the dialog. */
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
 * Sets the focus to the safe default while the dialog opens: a dialog that closed just before restores its focus one or
 * two frames late, and the focus trap then selects the first element.
 */
function useSafeFocus(content: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    let touched = false;
    const touch = () => (touched = true);
    /** An opening popup sets the focus here; other focus changes come from the user. */
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
