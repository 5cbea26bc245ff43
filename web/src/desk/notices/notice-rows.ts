/* The server's explanation of the notices of a loan, one row a notice. */

interface Planned {
  triggeringEvent: string;
  nextRunTime?: string;
  waitsFor?: string;
  noticeConfig?: { timing?: string; templateId?: string; format?: string };
}

interface Became {
  triggeringEvent: string;
  date: string;
  format?: string;
  templateId?: string;
  outcome: 'sent' | 'failed' | 'skipped';
  reason?: string;
  email?: { status?: string; message?: string };
}

export interface Explanation {
  noticePolicyId?: string | null;
  planned: Planned[];
  notices: Became[];
}

export interface NoticeRow {
  date: string | undefined;
  event: string;
  templateId: string | undefined;
  format: string | undefined;
  outcome: 'planned' | Became['outcome'];
  reason: string;
}

/** All notices of an explanation, those to come first, each group in the order of time. */
export function rowsOf({ planned, notices }: Explanation): NoticeRow[] {
  return [
    ...planned.map((one): NoticeRow => ({
      date: one.nextRunTime,
      event: [one.triggeringEvent, one.noticeConfig?.timing].filter(Boolean).join(', '),
      templateId: one.noticeConfig?.templateId,
      format: one.noticeConfig?.format,
      outcome: 'planned',
      reason: one.waitsFor ?? '',
    })),
    ...notices.map((one): NoticeRow => ({
      date: one.date,
      event: one.triggeringEvent,
      templateId: one.templateId,
      format: one.format,
      outcome: one.outcome,
      reason: [one.reason, one.email?.status, one.email?.message].filter(Boolean).join('; '),
    })),
  ];
}
