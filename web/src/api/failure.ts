/** One error of a 422 response. */
export interface Refusal {
  message: string;
  code?: string;
  parameters: { key: string; value: string | null }[];
  overridableBlock?: { name: string; missingPermissions?: string[] };
}

/** The server responded with an error status. */
export class Failure extends Error {
  readonly status: number;
  readonly refusals: Refusal[];
  /** Identifies the call in the server's log. */
  readonly requestId: string;
  /** The body, where it is JSON. */
  readonly document: unknown;

  constructor(status: number, message: string, refusals: Refusal[], requestId: string, document?: unknown) {
    super(message);
    this.status = status;
    this.refusals = refusals;
    this.requestId = requestId;
    this.document = document;
  }

  get isRefusal(): boolean {
    return this.refusals.length > 0;
  }

  hasCode(code: string): boolean {
    return this.refusals.some((refusal) => refusal.code === code);
  }
}

/** No response: the server or the network is down. */
export class Unreachable extends Error {}

/** The messages of a failure, one per line. */
export function linesOf(error: unknown): string[] {
  if (error instanceof Failure && error.isRefusal) return error.refusals.map((refusal) => refusal.message);
  if (error instanceof Failure && isRefusedQuery(error.document)) return error.document.parameters.map(({ key, value }) => `${key}: ${value}`);
  return [error instanceof Error ? error.message : String(error)];
}

interface RefusedQuery {
  code: string;
  parameters: { key: string; value: string }[];
}

/** The parameters of a refused query name the field and the error. */
function isRefusedQuery(document: unknown): document is RefusedQuery {
  const { code, parameters } = (document ?? {}) as Partial<RefusedQuery>;
  return typeof code === 'string' && code.endsWith('query.invalid') && Array.isArray(parameters) && parameters.length > 0;
}
