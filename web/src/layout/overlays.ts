/*
 * Whether a dialog or menu is open. They are children of the body, next to the page: a query over the many rows of a
 * list would take too long for each key.
 */

function isOpen(selector: string): boolean {
  for (const child of document.body.children) {
    if (child.id !== 'root' && (child.matches(selector) || child.querySelector(selector))) return true;
  }
  return false;
}

/** Whether a dialog is open. */
export const isPromptOpen = () => isOpen('[data-prompt]');

/** Whether a dialog or a menu is open. */
export const isOverlayOpen = () => isOpen('[data-prompt], .popover');
