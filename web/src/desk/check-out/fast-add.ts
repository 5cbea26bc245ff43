/* Adds brief records for an item that is not in the catalog: instance, holdings record, item. */
import { get, post, remove, withQuery } from '../../api/client.ts';

interface Ids {
  id: string;
}

const first = async (path: string, list: string, query: string): Promise<string> => {
  const found = await get<Record<string, Ids[]>>(withQuery(path, { query, limit: 1 }));
  const id = found[list]?.[0]?.id;
  if (id === undefined) throw new Error(`${path}: ${query}`);
  return id;
};

/** The fields of a fast add. */
export interface BriefItem {
  title: string;
  contributor: string;
  isbn: string;
  callNumber: string;
  locationId: string;
  materialTypeId: string;
  loanTypeId: string;
}

/** Adds the three records. If one fails, the records added before it are deleted. */
export async function addBriefItem(barcode: string, brief: BriefItem): Promise<void> {
  const any = 'cql.allRecords=1';
  const [instanceTypeId, sourceId, contributorNameTypeId, identifierTypeId] = await Promise.all([
    first('/instance-types', 'instanceTypes', 'code==zzz').catch(() => first('/instance-types', 'instanceTypes', any)),
    first('/holdings-sources', 'holdingsRecordsSources', 'name==FOLIO').catch(() => undefined),
    brief.contributor.trim() === '' ? undefined : first('/contributor-name-types', 'contributorNameTypes', 'name=="Personal name"').catch(() => undefined),
    brief.isbn.trim() === '' ? undefined : first('/identifier-types', 'identifierTypes', 'name==ISBN').catch(() => undefined),
  ]);
  const added: string[] = [];
  const add = async (path: string, id: string, record: object) => {
    await post(path, { id, ...record });
    added.unshift(`${path}/${id}`);
    return id;
  };
  try {
    const instanceId = await add('/inventory/instances', crypto.randomUUID(), {
      title: brief.title,
      source: 'FOLIO',
      instanceTypeId,
      staffSuppress: false,
      discoverySuppress: true,
      ...(contributorNameTypeId ? { contributors: [{ name: brief.contributor.trim(), contributorNameTypeId, primary: true }] } : {}),
      ...(identifierTypeId ? { identifiers: [{ value: brief.isbn.trim(), identifierTypeId }] } : {}),
    });
    const holdingsRecordId = await add('/holdings-storage/holdings', crypto.randomUUID(), {
      instanceId,
      permanentLocationId: brief.locationId,
      ...(brief.callNumber.trim() === '' ? {} : { callNumber: brief.callNumber.trim() }),
      ...(sourceId ? { sourceId } : {}),
    });
    await add('/inventory/items', crypto.randomUUID(), {
      barcode,
      holdingsRecordId,
      status: { name: 'Available' },
      materialType: { id: brief.materialTypeId },
      permanentLoanType: { id: brief.loanTypeId },
    });
  } catch (error) {
    for (const path of added) await remove(path).catch(() => {});
    throw error;
  }
}
