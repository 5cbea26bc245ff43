/* Notes are stored as HTML; at the desk they are read and written as plain text. */

/** The text of a note, with one line per paragraph. */
export function textOfNote(html: string | undefined): string {
  const document = new DOMParser().parseFromString((html ?? '').replace(/<br\s*\/?>/gi, '\n').replace(/<\/(p|div|li)>/gi, '$&\n'), 'text/html');
  return (document.body.textContent ?? '').trim();
}

export function noteOfText(text: string): string {
  const escaped = text.trim().replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  return escaped === '' ? '' : `<p>${escaped.split('\n').join('</p><p>')}</p>`;
}
